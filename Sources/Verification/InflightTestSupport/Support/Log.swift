package import Dispatch
internal import InflightConcurrency

/// A log of events, in order, from any thread.
package final class Log: Sendable {
    private let lines = Guarded([String]())

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package func note(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

extension DispatchQueue {
    /// Returns when everything submitted before has run.
    package func settle() async {
        await Bridge.wait { done in async { done.open() } }
    }

    /// Returns the result of `body` on this queue.
    package func ask<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
        await ValueBridge.value { done in async { done.open(with: body()) } }
    }
}
