import Dispatch
import InflightConcurrency
import Testing

/// Whatever happens, in the order in which it happens.
final class Log: Sendable {
    private let lines = Guarded([String]())

    var all: [String] { lines.withLock { $0 } }

    func note(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

extension DispatchQueue {
    /// Returns when what was submitted before has run.
    func settle() async {
        await Bridge.wait { done in async { done.open() } }
    }

    /// What `body` says on this queue.
    func ask<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
        await ValueBridge.value { done in async { done.open(with: body()) } }
    }
}

extension ValueBridge {
    /// Opens it for an ending, and sees that there was none before.
    func openOnce(with value: Value) {
        if !open(with: value) { Issue.record("it ended twice: \(value)") }
    }
}
