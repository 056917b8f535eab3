internal import CInflightConcurrency
public import Glibc

/// A mutual exclusion lock that the thread sanitizer understands.
///
/// It wraps `pthread_mutex_t`. `Synchronization.Mutex` is faster by a few nanoseconds, but on Linux the thread
/// sanitizer does not support it and reports false races. The lock is neither recursive nor fair. Never call foreign
/// code with the lock held.
///
/// Cost: about 7 ns for lock and unlock without contention; one allocation on creation.
@safe public struct Lock: ~Copyable, Sendable {
    // Safe: the pointer never escapes, and lives exactly as long as the lock.

    // The pointee never moves, and pthread's functions may be called from several threads.
    @usableFromInline nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Creates a lock that is not held. Traps if the system cannot create it.
    public init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let status = unsafe pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with status \(status)")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Acquires the lock, and blocks the thread until it is free. A thread that already holds it deadlocks.
    @inlinable @inline(__always)
    public func lock() {
        unsafe pthread_mutex_lock(mutex)
    }

    /// Releases the lock, which the calling thread must hold.
    @inlinable @inline(__always)
    public func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Releases the lock, waits for `condition` to be signalled, and reacquires the lock, as `pthread_cond_wait` does.
    package func wait(on condition: UnsafeMutablePointer<pthread_cond_t>) {
        unsafe pthread_cond_wait(condition, mutex)
    }

    /// Waits as ``wait(on:)`` does, for at most `nanoseconds`.
    package func wait(on condition: UnsafeMutablePointer<pthread_cond_t>, nanoseconds: Int64) {
        unsafe inflight_condition_wait(condition, mutex, nanoseconds)
    }

    /// Runs `body` with the lock held, and unlocks when `body` returns or throws.
    @inlinable
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
