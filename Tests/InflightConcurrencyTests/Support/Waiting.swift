import Dispatch
import InflightConcurrency

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
