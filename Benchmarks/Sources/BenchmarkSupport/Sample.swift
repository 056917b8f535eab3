internal import Glibc

/// One measurement, printed as a line of `name=value` pairs for people and for the runner.
public struct Sample {
    private var parts: [String] = []

    public init() {}

    public mutating func add(_ name: String, _ value: Int) {
        parts.append("\(name)=\(value)")
    }

    public mutating func add(_ name: String, _ value: Double) {
        parts.append("\(name)=\((value * 1e6).rounded() / 1e6)")
    }

    /// Prints the line and exits at once. Tear-down is not part of the measurement.
    public func printAndExit(failed: Bool = false) -> Never {
        print(parts.joined(separator: " "))
        exit(failed ? 1 : 0)
    }
}
