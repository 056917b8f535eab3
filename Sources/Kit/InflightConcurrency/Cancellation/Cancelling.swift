/// Work that can be cancelled.
///
/// `cancel()` may be called from any thread, with no lock held, any number of times. Later calls have no effect. It
/// does not wait for the work to stop.
public protocol Cancelling: Sendable {
    /// Cancels the work without waiting for it to stop. Idempotent; any thread.
    func cancel()
}
