/// A parsed command line.
enum Command: Equatable {
    case get(GetOptions)
    case info(InfoOptions)
    case show(ShowOptions)
    case cache(CacheCommandOptions)
    case lab(LabOptions)
    /// A part of an experiment that runs in a process of its own.
    case labChild(String, [String])
    case help(String)
    case version

    /// The option types of all commands.
    static let all: [any CommandOptions.Type] = [
        GetOptions.self, InfoOptions.self, ShowOptions.self, CacheCommandOptions.self, LabOptions.self,
    ]

    /// - Parameter arguments: The arguments without the program's name.
    static func parse(_ arguments: [String], standardOutputIsTerminal: Bool) throws(UsageError) -> Command {
        let names = all.map { $0.name }
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

    private static func named(_ name: String) -> (any CommandOptions.Type)? { all.first { $0.name == name } }

    /// The text of `inflight --help`.
    static let help = """
        Loads images, with at most one fetch in flight for each URL.

        Usage:
          inflight get URL… -o DIR     fetch, check, resize and store images
          inflight info URL-or-FILE…   print format and dimensions, without decoding
          inflight show URL-or-FILE…   show images in the terminal
          inflight cache ACTION        inspect, verify or clear the disk cache
          inflight lab [NAME…]         run experiments with queues, drawn as timelines
          inflight --version           print the version

        Examples:
          inflight get https://example.org/cat.jpg -o images
          inflight get -i urls.txt -o thumbnails --size 320x240 --format webp
          inflight info cat.jpg
          inflight show cat.jpg
          inflight cache verify
          inflight lab deadlock

        To list the options of a command: inflight COMMAND --help

        """
}

extension [String] {
    /// Returns the elements as a list in a sentence: `a, b or c`.
    func joined(last word: String) -> String {
        dropLast().joined(separator: ", ") + (count > 1 ? word : "") + (last ?? "")
    }
}
