import Inflight
import InflightCore
import InflightDisk

/// What `inflight cache` was asked to do.
struct CacheCommandOptions: Equatable, Sendable {
    static let names = ["--cache", "--json", "--help", "--version"] + clearNames
    private static let clearNames = ["--url", "--host", "--older-than"]

    enum Action: Equatable, Sendable {
        case stat
        case list
        case verify
        case clear(Target)
    }

    /// Which entries are removed.
    enum Target: Equatable, Sendable {
        case all
        case url(String)
        case host(String)
        case olderThan(seconds: Int64)
    }

    private static let actions = ["stat", "list", "verify", "clear"]
    /// In the order in which they are told.
    private static let units: [(letter: Character, seconds: Int64)] = [
        ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
    ]

    var action: Action
    /// `nil`: the user's own cache folder.
    var folder: String?
    var json = false

    static func parse(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var (word, folder, json): (String?, String?, Bool) = (nil, nil, false)
        var chosen: (option: String, target: Target)?
        while let item = reader.next() {
            switch item {
            case .positional(let text):
                if let word { throw surplus(text, behind: word) }
                guard actions.contains(text) else { throw unknown(text) }
                word = text
            case .option("--help", _), .option("-h", _): return .help(.cache)
            case .option("--version", _): return .version
            case .option("--json", let attached):
                try reader.expectNoValue(of: "--json", attached: attached)
                json = true
            case .option("--cache", let attached):
                folder = try CacheOptions.folder(attached: attached, from: &reader)
            case .option(let name, let attached):
                guard let target = try target(name, attached: attached, from: &reader) else {
                    throw ArgumentReader.unknown(name, known: names)
                }
                if let chosen { throw UsageError("Give one of \(chosen.option) and \(name), and once.") }
                chosen = (name, target)
            }
        }
        if let chosen, word != "clear" {
            throw UsageError("\(chosen.option) says what is removed: it goes with clear alone.")
        }
        let action: Action
        switch word {
        case "stat": action = .stat
        case "list": action = .list
        case "verify": action = .verify
        case "clear": action = .clear(chosen?.target ?? .all)
        default: throw UsageError("Say what to do with the cache: stat, list, verify or clear.")
        }
        return .cache(CacheCommandOptions(action: action, folder: folder, json: json))
    }

    private static func target(
        _ name: String, attached: String?, from reader: inout ArgumentReader
    ) throws(UsageError) -> Target? {
        switch name {
        case "--url":
            let text = try reader.value(of: name, attached: attached, "a URL")
            do throws(LoadError) {
                return .url(try ResourceURL(text).string)
            } catch {
                throw UsageError("--url takes a whole URL such as https://example.org/cat.jpg, not \(text.quoted).")
            }
        case "--host":
            let text = try reader.value(of: name, attached: attached, "a host such as example.org")
            guard let host = HostPattern(text), host.port == nil else {
                throw UsageError("--host takes a host without a port, such as example.org, not \(text.quoted).")
            }
            return .host(host.host)
        case "--older-than":
            let text = try reader.value(of: name, attached: attached, "an age such as 7d")
            return .olderThan(seconds: try age(text, of: name))
        default:
            return nil
        }
    }

    /// Such as `90s` or `2w`.
    private static func age(_ text: String, of name: String) throws(UsageError) -> Int64 {
        let digits = text.dropLast()
        guard let unit = units.first(where: { $0.letter == text.last }), (1...9).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int64(digits)
        else {
            throw UsageError(
                "\(name) takes a whole number with s, m, h, d or w for seconds to weeks, such as 7d, not "
                    + "\(text.quoted).")
        }
        // Nine digits times a week's seconds.
        return number * unit.seconds
    }

    private static func unknown(_ text: String) -> UsageError {
        let nearest = ArgumentReader.nearest(to: text, among: actions, tolerance: 2)
        let hint = nearest.map { "did you mean \($0)?" } ?? "there are stat, list, verify and clear."
        return UsageError("A cache cannot be told to \(text.quoted); \(hint)")
    }

    private static func surplus(_ text: String, behind word: String) -> UsageError {
        if word == "clear", text.contains("://") {
            return UsageError("What is removed is named by an option: --url \(text.quoted).")
        }
        return UsageError("\(word) takes no \(text.quoted); a directory is named by --cache.")
    }
}

extension CacheCommandOptions.Target {
    /// As the store is told.
    func clearing(now: WallTime) -> DiskStore.Clearing {
        switch self {
        case .all: .all
        case .url(let url): .url(url)
        case .host(let host): .host(host)
        case .olderThan(let seconds): .storedBefore(now.adding(milliseconds: -seconds * 1000))
        }
    }
}
