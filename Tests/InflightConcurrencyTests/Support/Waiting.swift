import Dispatch
import InflightConcurrency
import Testing

/// A log of events, in order.
final class Log: Sendable {
    private let lines = Guarded([String]())

    var all: [String] { lines.withLock { $0 } }

    func note(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

extension DispatchQueue {
    /// Returns when everything submitted before has run.
    func settle() async {
        await Bridge.wait { done in async { done.open() } }
    }

    /// Returns the result of `body` on this queue.
    func ask<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
        await ValueBridge.value { done in async { done.open(with: body()) } }
    }
}

extension ValueBridge {
    /// Opens the bridge for an ending, and records an issue if it was open already.
    func openOnce(with value: Value) {
        if !open(with: value) { Issue.record("it ended twice: \(value)") }
    }
}
