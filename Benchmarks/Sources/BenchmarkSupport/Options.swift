internal import Glibc

/// The command line of a benchmark: positional arguments, and options of the form `--name value`.
public struct Options {
    private let usage: String
    private var values: [String] = []
    private var named: [String: String] = [:]

    /// - Parameter usage: the text to print after a usage error.
    public init(usage: String) {
        self.usage = usage
        var rest = CommandLine.arguments.dropFirst()
        while let argument = rest.popFirst() {
            if argument.hasPrefix("--") {
                guard let value = rest.popFirst() else { fail("\(argument) needs a value") }
                named[argument] = value
            } else {
                values.append(argument)
            }
        }
    }

    public func value(_ position: Int) -> String {
        guard values.indices.contains(position) else { fail("an argument is missing") }
        return values[position]
    }

    public func number(_ position: Int) -> Int {
        guard let number = Int(value(position)), number > 0 else { fail("expected a count, not \(value(position))") }
        return number
    }

    public func named(_ name: String) -> String? { named[name] }

    public func number(_ name: String, default number: Int) -> Int {
        guard let text = named[name] else { return number }
        guard let number = Int(text), number > 0 else { fail("\(name) needs a count, not \(text)") }
        return number
    }

    private func fail(_ reason: String) -> Never {
        print("\(reason)\nusage: \(usage)")
        exit(64)
    }
}
