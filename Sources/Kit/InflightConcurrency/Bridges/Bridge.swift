internal import CInflightConcurrency

/// A one-shot event that one caller awaits, to adapt callbacks to `async`.
///
/// It works like a continuation, and adds an ordering that the thread sanitizer on Linux misses there: if a task is
/// resumed before it suspends, everything before the resume happens before the task's next step. With a plain
/// continuation the sanitizer sometimes reports a race, even on the task's own memory.
public final class Bridge: Sendable {
    // Safe: `wait` stores the continuation, and the call that opens the bridge takes it out, once.
    @safe private struct State {
        var isOpen = false
        var waiting: UnsafeContinuation<Void, Never>?
    }

    private let state = Guarded(State())

    /// Creates a closed bridge.
    public init() {}

    /// Opens the bridge and resumes the waiting caller. Idempotent; any thread.
    public func open() {
        let waiting = unsafe state.withLock { state in
            state.isOpen = true
            defer { unsafe state.waiting = nil }
            return unsafe state.waiting
        }
        if let waiting = unsafe waiting { unsafe waiting.resume() }
    }

    /// Returns when the bridge is open. Only one caller may wait, once.
    public func wait() async {
        // Safe: used only as an address for the sanitizer, never dereferenced.
        var task: UnsafeMutableRawPointer?
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            unsafe task = unsafeBitCast(continuation, to: UnsafeMutableRawPointer.self)
            let isOpen = state.withLock { state in
                if !state.isOpen { unsafe state.waiting = continuation }
                return state.isOpen
            }
            if isOpen { unsafe continuation.resume() }
        }
        // The runtime releases the task's address on resume, but acquires it only if the task had been suspended.
        unsafe inflight_tsan_acquire(task)
    }

    /// Calls `start` with a new bridge, at once in the caller's isolation, and returns when the bridge is open.
    ///
    /// It ignores the cancellation of the task. `Bridge.callback` of `InflightPatterns` observes it.
    public static func wait(isolation: isolated (any Actor)? = #isolation, _ start: (Bridge) -> Void) async {
        let bridge = Bridge()
        start(bridge)
        await bridge.wait()
    }
}
