// From callbacks to `async`: cancelling the task cancels the work, and a callback that is let go of ends the waiting.

import Dispatch
import InflightConcurrency

/// Somebody's API with a callback, and a handle that cancels.
func measure(_ text: String, completion: @escaping @Sendable (Int) -> Void) -> CancellationToken {
    let token = CancellationToken()
    DispatchQueue.global().async { if !token.isCancelled { completion(text.count) } }
    return token
}

func length(of text: String) async throws(CallbackFailure) -> Int {
    try await Bridge.callback { answer in measure(text) { answer($0) } }
}

print("length:", try await length(of: "inflight"))

// Nobody calls back: the cancel ends the waiting.
let task = Task {
    try await Bridge.callback { (answer: CallbackAnswer<Int>) in
        let token = CancellationToken()
        token.onCancel { withExtendedLifetime(answer) {} }
        return token
    }
}
task.cancel()
do { _ = try await task.value } catch { print("failed:", error) }

// Nobody can call back any more.
do {
    _ = try await Bridge.callback { (_: CallbackAnswer<Int>) in nil }
} catch { print("failed:", error) }

// Prints:
// length: 8
// failed: cancelled
// failed: dropped
