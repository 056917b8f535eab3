/// A value that is reached only by those whose turn it is: by a lock (``Guarded``), or by a concurrent queue whose writers
/// have it for themselves (``QueueGuarded``).
///
/// `body` must not call code that it does not know, and must not enter the same value again.
///
/// - Thread: any. `body` runs inside the call, before it returns.
/// - Order: writers exclude everybody; readers exclude writers, and perhaps each other.
/// - Errors: what `body` throws is thrown on, with its type.
public protocol Guarding<Value>: Sendable {
    associatedtype Value

    /// Looks at the value.
    func read<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result

    /// Changes the value.
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
