/// One option of a command: its usage, its help text and its setter.
///
/// These rows are the only definition of the options. Parsing, help, suggestions and the README tests use them.
struct Option<Options> {
    // Untyped: the compiler does not infer a typed error for closures as short as those in the rows.
    /// Throws only ``UsageError``.
    typealias Setter = (inout Options, OptionValue) throws -> Void

    /// The usage as shown in the help: the name, followed by a placeholder for each value, as in `--size WxH`.
    let usage: String
    /// The help text; if `nil`, the help does not list the option.
    let help: String?
    let valueCount: Int
    let set: Setter

    var name: String { String(usage.prefix { $0 != " " }) }

    /// Creates an option with values.
    init(_ usage: String, _ help: String?, values: Int = 1, set: @escaping Setter) {
        self.usage = usage
        self.help = help
        self.set = set
        valueCount = values
    }

    /// Creates an option without a value, which sets a flag.
    init(_ usage: String, _ help: String, _ flag: WritableKeyPath<Options, Bool>) {
        self.init(usage, help, values: 0) { options, _ in options[keyPath: flag] = true }
    }

    /// Creates a help entry for positional arguments, listed among the options.
    static func argument(_ usage: String, _ help: String) -> Option {
        Option(usage, help, values: 0) { _, _ in }
    }

    /// Returns the same option for a command whose options contain these.
    func of<Whole>(_ part: WritableKeyPath<Whole, Options>) -> Option<Whole> {
        Option<Whole>(usage, help, values: valueCount) { options, value in
            try set(&options[keyPath: part], value)
        }
    }

    /// The lines of the help. The text starts beside the usage, or below it if the usage is long.
    var helpLines: [String] {
        guard let help else { return [] }
        var lines = TerminalText.wrapped(help, columns: 80 - Self.textColumn)
        var first = "  " + usage
        if first.count < Self.textColumn {
            first += String(repeating: " ", count: Self.textColumn - first.count) + lines.removeFirst()
        }
        return [first] + lines.map { String(repeating: " ", count: Self.textColumn) + $0 }
    }

    private static var textColumn: Int { 24 }
}

/// Options listed under one heading of the help.
struct OptionGroup<Options> {
    let title: String
    let options: [Option<Options>]

    init(_ title: String, _ options: [Option<Options>]) {
        self.title = title
        self.options = options
    }
}
