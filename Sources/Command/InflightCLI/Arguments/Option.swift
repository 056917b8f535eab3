/// One option of a command: how it is written, what `--help` says of it, and what it sets.
///
/// These rows are all that is known of options. Parsing, the help, "did you mean" and the tests of the README use them.
struct Option<Options> {
    // Untyped: the compiler does not infer the type of error of closures as short as the rows'.
    /// Throws only ``UsageError``.
    typealias Setter = (inout Options, OptionValue) throws -> Void

    /// As the help writes it: the name, and behind it a placeholder for each value, as in `--size WxH`.
    let usage: String
    /// What the help says; `nil`: it does not list the option.
    let help: String?
    let valueCount: Int
    let set: Setter

    var name: String { String(usage.prefix { $0 != " " }) }

    /// An option with values.
    init(_ usage: String, _ help: String?, values: Int = 1, set: @escaping Setter) {
        self.usage = usage
        self.help = help
        self.set = set
        valueCount = values
    }

    /// An option without a value.
    init(_ usage: String, _ help: String, _ flag: WritableKeyPath<Options, Bool>) {
        self.init(usage, help, values: 0) { options, _ in options[keyPath: flag] = true }
    }

    /// What is no option, but explained among them.
    static func argument(_ usage: String, _ help: String) -> Option {
        Option(usage, help, values: 0) { _, _ in }
    }

    /// The same option of a command whose options hold these.
    func of<Whole>(_ part: WritableKeyPath<Whole, Options>) -> Option<Whole> {
        Option<Whole>(usage, help, values: valueCount) { options, value in
            try set(&options[keyPath: part], value)
        }
    }

    /// The lines of the help: the text stands beside the usage, or below one that is long.
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

/// Options that the help lists under one heading.
struct OptionGroup<Options> {
    let title: String
    let options: [Option<Options>]

    init(_ title: String, _ options: [Option<Options>]) {
        self.title = title
        self.options = options
    }
}
