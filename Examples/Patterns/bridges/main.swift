// From callbacks to `async`. Cancelling the task cancels the work, and releasing the callback ends the wait.

import Dispatch
import InflightPatterns

/// An external API with a callback, and a handle that cancels.
func measure(_ text: String, completion: @escaping @Sendable (Int) -> Void) -> CancellationToken {
    let token = CancellationToken()
    DispatchQueue.global().async { if !token.isCancelled { completion(text.count) } }
    return token
}

func length(of text: String) async throws(CallbackFailure) -> Int {
    try await Bridge.callback { answer in measure(text) { answer($0) } }
}

print("length:", try await length(of: "inflight"))

// The callback is never called, so the cancel ends the wait.
let task = Task {
    try await Bridge.callback { (answer: CallbackAnswer<Int>) in
        let token = CancellationToken()
        token.onCancel { withExtendedLifetime(answer) {} }
        return token
    }
}
task.cancel()
do { _ = try await task.value } catch { print("failed:", error) }

// The callback is released, so it can no longer be called.
do {
    _ = try await Bridge.callback { (_: CallbackAnswer<Int>) in nil }
} catch { print("failed:", error) }

// Prints:
// length: 8
// failed: cancelled
// failed: dropped
