import InflightPatterns
import Testing

extension ValueBridge {
    /// Opens the bridge for an ending, and records an issue if it was open already.
    func openOnce(with value: Value) {
        if !open(with: value) { Issue.record("it ended twice: \(value)") }
    }
}
