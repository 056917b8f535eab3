/// The options of one command, which the setters of its option table set.
protocol CommandOptions: Equatable, Sendable {
    /// The name of the command on the command line.
    static var name: String { get }
    static var table: [OptionGroup<Self>] { get }
    static var manual: CommandManual { get }

    var command: Command { get }

    init()

    /// Stores a positional argument.
    mutating func take(argument: String) throws(UsageError)

    /// Derives values from all options together, and rejects contradictions.
    mutating func validate(standardOutputIsTerminal: Bool) throws(UsageError)
}

extension CommandOptions {
    /// Parses the arguments after the command's name.
    static func parse(
        _ reader: inout ArgumentReader, standardOutputIsTerminal: Bool
    ) throws(UsageError) -> Command {
        do {
            var options = Self()
            let table = Self.table.flatMap(\.options)
            while let item = reader.next() {
                switch item {
                case .positional(let text):
                    try options.take(argument: text)
                case .option("--help", _), .option("-h", _):
                    return .help(help)
                case .option("--version", _):
                    return .version
                case .option(let name, let attached):
                    guard let option = table.first(where: { $0.name == name }) else {
                        throw ArgumentReader.unknown(name, known: optionNames)
                    }
                    try option.set(&options, try reader.value(of: option, attached: attached))
                }
            }
            try options.validate(standardOutputIsTerminal: standardOutputIsTerminal)
            return options.command
        } catch let error as UsageError {
            throw UsageError(error.message, command: name)
        } catch {
            preconditionFailure("An option threw \(error).")
        }
    }

    /// The options that the help lists, except `--help` and `--version`.
    static var listedOptions: [Option<Self>] {
        table.flatMap(\.options).filter { $0.help != nil && $0.name.hasPrefix("-") }
    }

    /// The names of the options that the help lists.
    static var optionNames: [String] { listedOptions.map(\.name) + ["--help", "--version"] }

    /// The text of `--help`, at most 80 columns wide.
    static var help: String {
        let groups = table.map { group in
            "\(group.title):\n" + group.options.flatMap(\.helpLines).joined(separator: "\n")
        }
        let last = "\n  --help, --version     print this help, or the version\n\n"
        let head = [manual.introduction, manual.usageText(of: "inflight \(name)")] + groups
        return head.joined(separator: "\n\n") + last + manual.closingText
    }
}
