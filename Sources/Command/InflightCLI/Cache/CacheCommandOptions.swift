import Inflight
import InflightCore
import InflightDisk

/// The options of `inflight cache`.
struct CacheCommandOptions: CommandOptions {
    enum Action: String, CaseIterable, Sendable {
        case stat, list, verify, clear
    }

    /// The entries that `clear` removes.
    enum Target: Equatable, Sendable {
        case all
        case url(String)
        case host(String)
        case olderThan(seconds: Int64)
    }

    var action = Action.stat
    private var hasAction = false
    private(set) var target = Target.all
    /// The option that set the target.
    private var targetOption: String?
    /// The cache folder; if `nil`, the user's own.
    var folder: String?
    var json = false

    var command: Command { .cache(self) }

    mutating func take(argument: String) throws(UsageError) {
        if hasAction { throw surplus(argument) }
        guard let action = Action(rawValue: argument) else { throw Self.unknown(argument) }
        self.action = action
        hasAction = true
    }

    func settle(standardOutputIsTerminal: Bool) throws(UsageError) {
        if let targetOption, !hasAction || action != .clear {
            throw UsageError("\(targetOption) says what is removed: it goes with clear alone.")
        }
        if !hasAction { throw UsageError("Say what to do with the cache: stat, list, verify or clear.") }
    }

    private mutating func clear(_ value: OptionValue, _ target: Target) throws(UsageError) {
        if let targetOption { throw UsageError("Give one of \(targetOption) and \(value.name), and once.") }
        targetOption = value.name
        self.target = target
    }

    static let name = "cache"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Actions",
                [
                    .argument("stat", "how many entries there are, and what they take"),
                    .argument("list", "each entry: age, bytes (+ where some are missing), URL"),
                    .argument("verify", "read everything, and name what is damaged"),
                    .argument("clear", "remove all entries, or those that an option names"),
                ]),
            OptionGroup("Options", options),
        ]
    }

    private static var options: [Option<Self>] {
        [
            Option("--cache DIR", "of that directory (inflight in the user's cache folder)") {
                $0.folder = try $1.path("a directory")
            },
            Option("--json", "JSON on standard output: a line, or one for each entry", \.json),
            Option("--url URL", "clear: the responses of that URL") { options, value in
                guard let url = try? ResourceURL(value.text) else {
                    throw UsageError(
                        "--url takes a whole URL such as https://example.org/cat.jpg, not \(value.text.quoted).")
                }
                try options.clear(value, .url(url.string))
            },
            Option("--host HOST", "clear: the responses of that host, on any port") {
                options, value in
                guard let host = HostPattern(value.text), host.port == nil else {
                    throw UsageError(
                        "--host takes a host without a port, such as example.org, not \(value.text.quoted).")
                }
                try options.clear(value, .host(host.host))
            },
            Option("--older-than AGE", "clear: what was stored longer ago: 90s, 5m, 12h, 7d, 2w") {
                try $0.clear($1, .olderThan(seconds: try age($1)))
            },
        ]
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// Returns an age, such as `90s` or `2w`, in seconds.
    private static func age(_ value: OptionValue) throws(UsageError) -> Int64 {
        let digits = value.text.dropLast()
        guard let unit = value.text.last.flatMap({ units[$0] }), digits.utf8.count <= 9,
            let number = OptionValue.digits(String(digits))
        else {
            throw UsageError(
                "\(value.name) takes a whole number with s, m, h, d or w for seconds to weeks, such as 7d, not "
                    + "\(value.text.quoted).")
        }
        // Nine digits times the seconds of a week cannot overflow.
        return Int64(number) * unit
    }

    private static func unknown(_ text: String) -> UsageError {
        let nearest = ArgumentReader.nearest(to: text, among: Action.allCases.map(\.rawValue), tolerance: 2)
        let hint = nearest.map { "did you mean \($0)?" } ?? "there are stat, list, verify and clear."
        return UsageError("A cache cannot be told to \(text.quoted); \(hint)")
    }

    private func surplus(_ text: String) -> UsageError {
        if action == .clear, text.contains("://") {
            return UsageError("What is removed is named by an option: --url \(text.quoted).")
        }
        return UsageError("\(action) takes no \(text.quoted); a directory is named by --cache.")
    }

    static let introduction = """
        Looks after what inflight get has stored. Where there is no cache none is made.

        Usage: inflight cache stat|list|verify|clear [options]
        """

    static let notes = """
        Damaged entries are never used; files that a killed run has left are no damage.

        Exit status: 0 all well, 1 verify found damage, or something could not be read
        or removed, 64 usage error, 66 the cache cannot be opened: it is a newer
        program's, no cache, or may not be written. 130 after Ctrl-C, 143 after SIGTERM.

        Examples:
          inflight cache stat
          inflight cache verify --cache thumbnails.cache
          inflight cache clear --host example.org
          inflight cache clear --older-than 7d --json
        """
}

extension CacheCommandOptions.Target {
    /// Returns the target as an argument for the disk store.
    func clearing(now: WallTime) -> DiskStore.Clearing {
        switch self {
        case .all: .all
        case .url(let url): .url(url)
        case .host(let host): .host(host)
        case .olderThan(let seconds): .storedBefore(now.adding(milliseconds: -seconds * 1000))
        }
    }
}
