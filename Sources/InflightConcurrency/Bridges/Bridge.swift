/// A door that opens once, and a caller that waits for it: the way from callbacks to `async`.
///
/// The thread sanitizer on Linux does not see that what was done before a continuation is resumed happens before what
/// comes after it. Here a lock that it understands is taken on both sides, so that it does.
public final class Bridge: Sendable {
    // Safe: a continuation gets in by `wait` and is taken out once, by whoever opens.
    @safe private struct State {
        var isOpen = false
        var waiting: UnsafeContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    public init() {}

    /// Lets the one who waits go on. Idempotent; any thread.
    public func open() {
        let waiting = unsafe state.withLock { state in
            state.isOpen = true
            defer { unsafe state.waiting = nil }
            return unsafe state.waiting
        }
        if let waiting = unsafe waiting { unsafe waiting.resume() }
    }

    /// Returns when the door is open. One caller may wait, once.
    public func wait() async {
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isOpen = state.withLock { state in
                if !state.isOpen { unsafe state.waiting = continuation }
                return state.isOpen
            }
            if isOpen { unsafe continuation.resume() }
        }
        state.withLock { _ in }
    }
}
