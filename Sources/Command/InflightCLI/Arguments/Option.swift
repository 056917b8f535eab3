/// One option of a command: its usage, its help text and its setter.
///
/// These rows are the only definition of the options. Parsing, help, suggestions, man pages, completions and the README
/// tests use them.
struct Option<Options> {
    // Untyped: the compiler does not infer a typed error for closures as short as those in the rows.
    /// Throws only ``UsageError``.
    typealias Setter = (inout Options, OptionValue) throws -> Void

    /// The usage as shown in the help: the name, followed by a placeholder for each value, as in `--size WxH`.
    let usage: String
    /// The help text; if `nil`, the help does not list the option.
    let help: String?
    let valueCount: Int
    /// The completion that a shell offers for the first value.
    let suggestion: Suggestion
    /// Whether the option may occur several times, each occurrence adding its value.
    let isRepeatable: Bool
    let set: Setter

    var name: String { String(usage.prefix { $0 != " " }) }

    /// The usage without the name, such as `WxH`; empty if the option takes no value.
    var placeholder: String { String(usage.dropFirst(name.count + 1)) }

    /// Creates an option with values.
    init(
        _ usage: String, _ help: String?, values: Int = 1, _ suggestion: Suggestion = .none, isRepeatable: Bool = false,
        set: @escaping Setter
    ) {
        self.usage = usage
        self.help = help.map { isRepeatable ? "\($0); repeatable" : $0 }
        self.suggestion = suggestion
        self.isRepeatable = isRepeatable
        self.set = set
        valueCount = values
    }

    /// Creates an option that takes one of a fixed set of values.
    init<Value>(
        _ usage: String, _ help: String, _ choices: [(name: String, value: Value)],
        set: @escaping (inout Options, Value) -> Void
    ) {
        self.init(usage, help, .words(choices.map(\.name))) { set(&$0, try $1.choice(choices)) }
    }

    /// Creates an option without a value, which sets a flag.
    init(_ usage: String, _ help: String, _ flag: WritableKeyPath<Options, Bool>) {
        self.init(usage, help, values: 0) { options, _ in options[keyPath: flag] = true }
    }

    /// Creates a help entry for positional arguments, listed among the options.
    static func argument(_ usage: String, _ help: String) -> Option {
        Option(usage, help, values: 0) { _, _ in }
    }

    /// Returns the same option for a command that stores these options in `part`.
    func of<Whole>(_ part: WritableKeyPath<Whole, Options>) -> Option<Whole> {
        Option<Whole>(from: self) { options, value in try set(&options[keyPath: part], value) }
    }

    private init<Part>(from option: Option<Part>, set: @escaping Setter) {
        (usage, help, valueCount) = (option.usage, option.help, option.valueCount)
        (suggestion, isRepeatable) = (option.suggestion, option.isRepeatable)
        self.set = set
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

/// The completion that a shell offers for a value or an argument.
enum Suggestion: Equatable, Sendable {
    case none
    case file
    case folder
    case words([String])

    /// Returns the completion in a shell's syntax: one of these texts, or the result of `words` for the list of words,
    /// separated by spaces.
    func form(none: String = "", file: String, folder: String, words: (String) -> String) -> String {
        switch self {
        case .none: none
        case .file: file
        case .folder: folder
        case .words(let list): words(list.joined(separator: " "))
        }
    }
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
