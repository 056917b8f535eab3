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

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        if let targetOption, !hasAction || action != .clear {
            throw UsageError("\(targetOption) can only be used with clear.")
        }
        if !hasAction { throw UsageError("No action given. Specify stat, list, verify or clear.") }
    }

    private mutating func clear(_ value: OptionValue, _ target: Target) throws(UsageError) {
        if let targetOption, targetOption != value.name {
            throw UsageError("\(targetOption) and \(value.name) cannot be combined.")
        }
        targetOption = value.name
        self.target = target
    }

    static let name = "cache"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Actions",
                [
                    .argument("stat", "print the number and size of entries"),
                    .argument("list", "print each entry: age, bytes (+ if incomplete), URL"),
                    .argument("verify", "read all entries, and print damaged ones"),
                    .argument("clear", "remove all entries, or those selected by an option"),
                ]),
            OptionGroup("Options", options),
        ]
    }

    private static var options: [Option<Self>] {
        [
            Option(
                "--cache DIR", "use this cache folder (default $XDG_CACHE_HOME/inflight or ~/.cache/inflight)", .folder
            ) { $0.folder = try $1.path("a folder") },
            Option("--json", "print one line of JSON, or with list one for each entry", \.json),
            Option("--url URL", "clear: remove only responses of this URL") { options, value in
                guard let url = try? ResourceURL(value.text) else {
                    throw value.invalid("a complete URL, such as https://example.org/cat.jpg")
                }
                try options.clear(value, .url(url.string))
            },
            Option("--host HOST", "clear: remove only responses of this host, on any port") {
                options, value in
                guard let host = HostPattern(value.text), host.port == nil else {
                    throw value.invalid("a host without a port, such as example.org")
                }
                try options.clear(value, .host(host.host))
            },
            Option(
                "--older-than AGE", "clear: remove only responses stored longer ago, such as 90s, 5m, 12h, 7d or 2w"
            ) { try $0.clear($1, .olderThan(seconds: try age($1))) },
        ]
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// Returns an age, such as `90s` or `2w`, in seconds.
    private static func age(_ value: OptionValue) throws(UsageError) -> Int64 {
        let digits = value.text.dropLast()
        guard let unit = value.text.last.flatMap({ units[$0] }), digits.utf8.count <= 9,
            let number = OptionValue.digits(String(digits))
        else {
            throw value.invalid("a whole number with the unit s, m, h, d or w, such as 7d")
        }
        // Nine digits times the seconds of a week cannot overflow.
        return Int64(number) * unit
    }

    private static func unknown(_ text: String) -> UsageError {
        let nearest = ArgumentReader.nearest(to: text, among: Action.allCases.map(\.rawValue), tolerance: 2)
        let hint = nearest.map { "Did you mean \($0)?" } ?? "Actions: stat, list, verify and clear."
        return UsageError("Unknown action \(text.quoted). \(hint)")
    }

    private func surplus(_ text: String) -> UsageError {
        if action == .clear, text.contains("://") {
            return UsageError("clear takes no URL as an argument. Use --url \(text.quoted).")
        }
        return UsageError(
            "Unexpected argument \(text.quoted) after \(action). Specify the cache folder with --cache DIR.")
    }

    static let manual = CommandManual(
        summary: "inspect, verify or clear the disk cache",
        arguments: "ACTION",
        suggestion: .words(Action.allCases.map(\.rawValue)),
        usage: [Action.allCases.map(\.rawValue).joined(separator: "|") + " [options]"],
        introduction: "Inspects, verifies or clears the disk cache of inflight get. Never creates one.",
        notes: """
            Damaged entries are never used. A damaged index is discarded with all entries.
            Files left by a killed run are not damage.
            """,
        failure: "verify found damage, or an entry could not be read or removed",
        noInput: "the cache cannot be opened: the folder is not a cache, is not writable, or is of a newer version",
        environment: [CommandManual.cacheVariable],
        files: [CommandManual.cacheFolder],
        examples: [
            "inflight cache stat",
            "inflight cache verify --cache thumbnails.cache",
            "inflight cache clear --host example.org",
            "inflight cache clear --older-than 7d --json",
        ])
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
