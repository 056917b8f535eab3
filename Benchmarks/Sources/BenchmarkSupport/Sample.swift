internal import Glibc

/// One measurement, as a line that both people and the runner read: `name=value` with spaces between.
public struct Sample {
    private var parts: [String] = []

    public init() {}

    public mutating func add(_ name: String, _ value: Int) {
        parts.append("\(name)=\(value)")
    }

    public mutating func add(_ name: String, _ value: Double) {
        parts.append("\(name)=\((value * 1e6).rounded() / 1e6)")
    }

    /// Prints the line and ends the process at once: taking everything down again is not measured, nor waited for.
    public func printAndExit(failed: Bool = false) -> Never {
        print(parts.joined(separator: " "))
        exit(failed ? 1 : 0)
    }
}
