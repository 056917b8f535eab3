/// Set once, never taken back, seen at once by every thread that looks: for work that looks at it between its steps.
public final class CancellationFlag: Sendable {
    private let state = Guarded(false)

    public init() {}

    /// Idempotent; any thread.
    public func cancel() {
        state.withLock { $0 = true }
    }

    /// About 20 ns: look at it every few dozen microseconds of work, not in every turn of an inner loop.
    public var isCancelled: Bool {
        state.withLock { $0 }
    }
}
