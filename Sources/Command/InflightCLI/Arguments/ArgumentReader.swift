/// Iterates over the arguments: `--name`, `--name=value`, `-n`, `-nVALUE` and positional ones. `--` ends the options.
struct ArgumentReader {
    enum Item: Equatable {
        /// An option. `name` includes its dashes; `attached` is the value given in the same argument.
        case option(name: String, attached: String?)
        case positional(String)
    }

    private var arguments: ArraySlice<String>
    private var optionsAreOver = false

    init(_ arguments: some Sequence<String>) {
        self.arguments = Array(arguments)[...]
    }

    mutating func next() -> Item? {
        guard let argument = arguments.popFirst() else { return nil }
        if optionsAreOver || argument == "-" || !argument.hasPrefix("-") { return .positional(argument) }
        if argument == "--" {
            optionsAreOver = true
            return next()
        }
        if argument.hasPrefix("--") {
            guard let equals = argument.firstIndex(of: "=") else { return .option(name: argument, attached: nil) }
            return .option(
                name: String(argument[..<equals]), attached: String(argument[argument.index(after: equals)...]))
        }
        let rest = argument.dropFirst(2)
        return .option(name: String(argument.prefix(2)), attached: rest.isEmpty ? nil : String(rest))
    }

    /// Returns the values of an option: the attached one, then the next arguments, even if they look like options.
    mutating func value<Options>(
        of option: Option<Options>, attached: String?
    ) throws(UsageError) -> OptionValue {
        var values: [String] = []
        if let attached {
            guard option.valueCount > 0 else {
                throw UsageError("\(option.name) takes no value, but \(attached.quoted) was given.")
            }
            values.append(attached)
        }
        while values.count < option.valueCount {
            guard let value = arguments.popFirst() else {
                throw UsageError("Missing value for \(option.name). Usage: \(option.usage).")
            }
            values.append(value)
        }
        return OptionValue(option.name, values)
    }

    /// Returns the usage error for an unknown option, with the nearest known one if there is any.
    static func unknown(_ name: String, known: [String]) -> UsageError {
        guard let nearest = nearest(to: name, among: known, tolerance: name.count / 4) else {
            return UsageError("Unknown option \(name.quoted).")
        }
        return UsageError("Unknown option \(name.quoted). Did you mean \(nearest)?")
    }

    /// Returns the most similar known name, or `nil` if none is near.
    ///
    /// - Parameter tolerance: The maximum number of wrong letters.
    static func nearest(to name: String, among known: [String], tolerance: Int) -> String? {
        let nearest = known.map { (name: $0, distance: distance(name, $0)) }.min { $0.distance < $1.distance }
        return nearest.flatMap { $0.distance <= tolerance ? $0.name : nil }
    }

    /// Returns the number of letters to change, add, remove or swap (optimal string alignment), for the first 40 bytes
    /// of each name.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(40)), Array(right.utf8.prefix(40)))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var least = min(rows[i][j] + (left[i] == right[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

extension String {
    /// The text in quotation marks, safe for a terminal, without user name and password, at most 60 characters long.
    var quoted: String {
        let shown = TerminalText.safe(RedactedText.withoutUser(self))
        return shown.count > 60 ? "\"\(shown.prefix(57))…\"" : "\"\(shown)\""
    }
}
