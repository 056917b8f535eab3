/// Set once, never taken back, seen at once by every thread that looks: for work that looks at it between its steps.
///
/// The small form of ``CancellationToken``: no handlers and no children, one allocation of 17 bytes, no lock of its own.
// Unchecked: `isSet` is touched only while the stripe is held.
public final class CancellationFlag: Cancelling, @unchecked Sendable {
    private var isSet = false

    public init() {}

    /// Idempotent; any thread.
    public func cancel() {
        LockStripes.stripe(for: self).lock.withLock { isSet = true }
    }

    /// Some 40 ns: look at it every few dozen microseconds of work, not in every turn of an inner loop.
    public var isCancelled: Bool {
        LockStripes.stripe(for: self).lock.withLock { isSet }
    }
}
