internal import CInflightConcurrency

/// A door that opens once, and a caller that waits for it: the way from callbacks to `async`.
///
/// It does what a continuation does, and tells the thread sanitizer on Linux what that does not: where a task is resumed
/// before it sleeps, what was done before happens before what the task does next. A plain continuation looks like a race
/// there now and then, on the task's own memory too.
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
        // Safe: it is an address to the sanitizer, and never looked into.
        var task: UnsafeMutableRawPointer?
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            unsafe task = unsafeBitCast(continuation, to: UnsafeMutableRawPointer.self)
            let isOpen = state.withLock { state in
                if !state.isOpen { unsafe state.waiting = continuation }
                return state.isOpen
            }
            if isOpen { unsafe continuation.resume() }
        }
        // The runtime releases the task's address when it is resumed, and acquires it only where it had gone to sleep.
        unsafe inflight_tsan_acquire(task)
    }

    /// Makes a bridge, has `start` pass it on, at once and where the caller is, and returns when it is opened.
    ///
    /// It does not look at the task's cancellation; see ``callback(isolation:_:)``, which does.
    public static func wait(isolation: isolated (any Actor)? = #isolation, _ start: (Bridge) -> Void) async {
        let bridge = Bridge()
        start(bridge)
        await bridge.wait()
    }
}
