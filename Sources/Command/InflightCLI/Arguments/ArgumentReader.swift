/// Walks over the arguments: `--name`, `--name=value`, `-n`, `-nVALUE`, and everything else; `--` ends the options.
struct ArgumentReader {
    enum Item: Equatable {
        /// With both dashes, or one. `attached` is what stood in the same argument.
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

    /// The values of an option: what is attached to it, and the next arguments, whatever those look like.
    mutating func value<Options>(
        of option: Option<Options>, attached: String?
    ) throws(UsageError) -> OptionValue {
        var values: [String] = []
        if let attached {
            guard option.valueCount > 0 else {
                throw UsageError("\(option.name) takes no value, but was given \(attached.quoted).")
            }
            values.append(attached)
        }
        while values.count < option.valueCount {
            guard let value = arguments.popFirst() else {
                throw UsageError("\(option.name) needs a value, as in \(option.usage).")
            }
            values.append(value)
        }
        return OptionValue(option.name, values)
    }

    /// The complaint about an option that is not known, with the nearest one that is.
    static func unknown(_ name: String, known: [String]) -> UsageError {
        guard let nearest = nearest(to: name, among: known, tolerance: max(1, name.count / 4)) else {
            return UsageError("There is no option \(name.quoted).")
        }
        return UsageError("There is no option \(name.quoted); did you mean \(nearest)?")
    }

    /// What was probably meant; `nil` where nothing is near.
    ///
    /// - Parameter tolerance: how many letters may be wrong.
    static func nearest(to name: String, among known: [String], tolerance: Int) -> String? {
        let nearest = known.map { (name: $0, distance: distance(name, $0)) }.min { $0.distance < $1.distance }
        return nearest.flatMap { $0.distance <= tolerance ? $0.name : nil }
    }

    /// How many letters have to be changed, added or taken away (Levenshtein).
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(40)), Array(right.utf8.prefix(40)))
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let substituted = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}

extension String {
    /// In quotation marks, fit for a terminal, and not endless.
    var quoted: String {
        let shown = TerminalText.safe(ShownCommand.withoutUser(self))
        return shown.count > 60 ? "\"\(shown.prefix(57))…\"" : "\"\(shown)\""
    }
}
