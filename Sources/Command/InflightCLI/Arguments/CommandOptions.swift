/// What a command was asked to do: a value that the rows of its table fill.
protocol CommandOptions: Equatable, Sendable {
    /// How the command is called.
    static var name: String { get }
    static var table: [OptionGroup<Self>] { get }
    /// What the help says above the options.
    static var introduction: String { get }
    /// What the help says below the options.
    static var notes: String { get }

    var command: Command { get }

    init()

    /// Takes what is no option.
    mutating func take(argument: String) throws(UsageError)

    /// Draws conclusions from all options together, and refuses what contradicts.
    mutating func settle(standardOutputIsTerminal: Bool) throws(UsageError)
}

extension CommandOptions {
    /// Reads the arguments behind the command's name.
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
            try options.settle(standardOutputIsTerminal: standardOutputIsTerminal)
            return options.command
        } catch let error as UsageError {
            throw UsageError(error.message, command: name)
        } catch {
            preconditionFailure("An option threw \(error).")
        }
    }

    /// The options that the help lists.
    static var optionNames: [String] {
        table.flatMap(\.options).filter { $0.help != nil && $0.name.hasPrefix("-") }.map(\.name)
            + ["--help", "--version"]
    }

    /// The text of `--help`, at most 80 columns wide.
    static var help: String {
        let groups = table.map { group in
            "\(group.title):\n" + group.options.flatMap(\.helpLines).joined(separator: "\n")
        }
        return introduction + "\n\n" + groups.joined(separator: "\n\n") + "\n  --help, --version\n\n" + notes + "\n"
    }
}
