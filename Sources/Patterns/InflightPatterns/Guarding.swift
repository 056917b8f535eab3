/// A value with synchronized access: through a lock (``Guarded``), or through a concurrent queue with exclusive writers
/// (``QueueGuarded``).
///
/// `body` must not call foreign code, and must not enter the same value again.
///
/// - Thread: any. `body` runs inside the call, before it returns.
/// - Order: writers exclude all other access. Readers exclude writers, and possibly each other.
/// - Errors: an error that `body` throws is rethrown, with its type.
public protocol Guarding<Value>: Sendable {
    /// The type of the guarded value.
    associatedtype Value

    /// Runs `body` with read access to the value, and returns its result.
    func read<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result

    /// Runs `body` with write access to the value, and returns its result. Changes made before an error remain.
    func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result
}

extension Guarded: Guarding {
    @inlinable
    public func read<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try withLock { value throws(Failure) in try body(value) }
    }

    @inlinable
    public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try withLock(body)
    }
}
