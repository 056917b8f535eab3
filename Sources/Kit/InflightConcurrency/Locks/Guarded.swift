/// A value that is accessible only with its lock held.
///
/// Cost: that of ``Lock``, 7 ns without contention, and one allocation for the value. `body` must not call foreign
/// code, and must not enter the same value again.
public final class Guarded<Value>: @unchecked Sendable {
    // Unchecked: `value` is accessed only between `lock()` and `unlock()`.

    @usableFromInline let mutex = Lock()
    @usableFromInline var value: Value

    /// Creates a guarded value with a lock of its own.
    @inlinable
    public init(_ value: sending Value) {
        self.value = value
    }

    /// Runs `body` with exclusive access to the value, on the calling thread. Returns its result, or rethrows its
    /// error.
    @inlinable @inline(__always)
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try body(&value)
    }
}
