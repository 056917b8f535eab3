/// A parsed command line.
enum Command: Equatable {
    case get(GetOptions)
    case batch(BatchOptions)
    case info(InfoOptions)
    case show(ShowOptions)
    case cache(CacheCommandOptions)
    case lab(LabInvocation)
    case man(ManOptions)
    case completions(CompletionsOptions)
    case help(String)
    case version

    /// The option types of all commands.
    static let all: [any CommandOptions.Type] = [
        GetOptions.self, BatchOptions.self, InfoOptions.self, ShowOptions.self, CacheCommandOptions.self,
        LabOptions.self,
        ManOptions.self, CompletionsOptions.self,
    ]

    /// The names of all commands.
    static var names: [String] { all.map { $0.name } }

    /// - Parameter arguments: The arguments without the program's name.
    static func parse(_ arguments: [String], standardOutputIsTerminal: Bool) throws(UsageError) -> Command {
        guard let first = arguments.first else {
            throw UsageError("No command given. Commands: \(names.joined(last: " and ")).")
        }
        var reader = ArgumentReader(arguments.dropFirst())
        if let command = named(first) {
            return try command.parse(&reader, standardOutputIsTerminal: standardOutputIsTerminal)
        }
        switch first {
        case "--help", "-h", "help":
            guard case .positional(let name) = reader.next() else { return .help(help) }
            return .help(named(name)?.help ?? help)
        case "--version":
            return .version
        default:
            if first.hasPrefix("-") { throw ArgumentReader.unknown(first, known: ["--help", "--version"]) }
            if first.contains("://") {
                throw UsageError("Missing command before the URL. Use inflight get \(first.quoted).")
            }
            let nearest = ArgumentReader.nearest(to: first, among: names, tolerance: first.count / 2)
            let hint = nearest.map { "Did you mean \($0)?" } ?? "Commands: \(names.joined(last: " and "))."
            throw UsageError("Unknown command \(first.quoted). \(hint)")
        }
    }

    static func named(_ name: String) -> (any CommandOptions.Type)? { all.first { $0.name == name } }

    /// The manual of the program itself. Its man page lists the commands.
    static let manual = CommandManual(
        summary: "load images, with at most one fetch in flight for each URL",
        arguments: "",
        usage: ["COMMAND [options]", "[COMMAND] --help", "--version"],
        introduction: """
            Fetches, checks, resizes, stores and shows images. A URL that is given more
            than once is fetched once.
            """,
        noInput: "an input, such as a list, certificates or a cache, cannot be read",
        examples: [
            "inflight get https://example.org/cat.jpg -o images",
            "inflight get -i urls.txt -o thumbnails --size 320x240 --format webp",
            "inflight batch urls.txt -o dataset --format jpeg --size 256x256",
            "inflight info cat.jpg",
            "inflight show cat.jpg",
            "inflight cache verify",
            "inflight lab deadlock",
        ])

    /// The text of `inflight --help`.
    static var help: String {
        let calls = all.map { ("\($0.name) \($0.manual.arguments)", $0.manual.summary) }
        let usage = (calls + [("--version", "print the version")]).map { call, summary in
            "  inflight \(call)" + String(repeating: " ", count: 20 - call.count) + summary
        }
        return """
            Loads images, with at most one fetch in flight for each URL.

            Usage:
            \(usage.joined(separator: "\n"))

            Examples:
            \(manual.examples.map { "  \($0)" }.joined(separator: "\n"))

            To list the options of a command: inflight COMMAND --help

            """
    }
}

extension [String] {
    /// Returns the elements as a list in a sentence: `a, b or c`.
    func joined(last word: String) -> String {
        dropLast().joined(separator: ", ") + (count > 1 ? word : "") + (last ?? "")
    }
}
