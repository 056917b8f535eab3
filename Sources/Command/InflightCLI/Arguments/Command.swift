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
        guard let first = arguments.first else {
            throw UsageError(
                "Say what to do: inflight get URL…, info URL-or-FILE…, show URL-or-FILE…, cache stat or lab.")
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
                throw UsageError("A URL needs a command in front of it: inflight get \(first.quoted).")
            }
            let names = all.map { $0.name }
            throw UsageError("There is no command \(first.quoted); there are \(names.joined(last: " and ")).")
        }
    }

    private static func named(_ name: String) -> (any CommandOptions.Type)? { all.first { $0.name == name } }

    /// The text of `inflight --help`.
    static let help = """
        Inflight loads images: every URL in flight once.

        Usage:
          inflight get URL… -o DIR     fetch, check, resize and store images
          inflight info URL-or-FILE…   print what an image is, without decoding it
          inflight show URL-or-FILE…   show the picture in the terminal
          inflight cache ACTION        look at the disk cache, check it, or clear it
          inflight lab [NAME…]         experiments with queues, drawn as timelines
          inflight --version

        Steps of --process (lengths in pixels, amounts with 1 for no change):
          resize:WxH[:FIT[:PART]]       crop:WxH[:PART]  crop:WxH+X+Y
          rotate:DEGREES                flip:horizontal  flip:vertical
          blur:RADIUS                   sharpen[:AMOUNT[:RADIUS]]
          grey                          brightness:N  contrast:N  saturation:N
          round:RADIUS[:BORDER:COLOUR]  circle[:BORDER:COLOUR]
          border:WIDTH:COLOUR           flatten[:COLOUR]

        Examples:
          inflight get https://example.org/cat.jpg -o pictures
          inflight get -i urls.txt -o thumbnails --size 320x240 --format webp
          inflight info cat.jpg
          inflight show cat.jpg
          inflight cache verify
          inflight lab deadlock

        More about a command: inflight get --help, inflight info --help,
        inflight show --help, inflight cache --help, inflight lab --help

        """
}

extension [String] {
    /// Returns the elements as a list in a sentence: `a, b or c`.
    func joined(last word: String) -> String {
        dropLast().joined(separator: ", ") + (count > 1 ? word : "") + (last ?? "")
    }
}
