/// A latch that is set once and never reset, visible to every thread at once. Work checks it between steps.
///
/// The small form of ``CancellationToken``: no handlers, no children, one allocation of 17 bytes, no lock of its own.
public final class CancellationFlag: Cancelling, @unchecked Sendable {
    // Unchecked: `isSet` is accessed only with the lock stripe held.

    private var isSet = false

    /// Creates a latch that is not set.
    public init() {}

    /// Sets the latch. Idempotent; any thread.
    public func cancel() {
        LockStripes.stripe(for: self).lock.withLock { isSet = true }
    }

    /// Whether the latch is set. About 40 ns: check every few dozen microseconds of work, not in an inner loop.
    public var isCancelled: Bool {
        LockStripes.stripe(for: self).lock.withLock { isSet }
    }
}
