internal import CInflightConcurrency

#if canImport(Darwin)
    public import Darwin
#elseif canImport(Glibc)
    public import Glibc
#elseif canImport(Musl)
    public import Musl
#endif

/// A mutual exclusion lock that the thread sanitizer understands.
///
/// It wraps `pthread_mutex_t`: `Synchronization.Mutex` is quicker by a few nanoseconds, but on Linux the thread
/// sanitizer cannot see it and reports races that are none. It is not recursive and not fair. Never call code that
/// you do not know while you hold it.
///
/// Cost: about 20 ns for lock and unlock when nobody else wants it; one allocation when it is made.
// Safe: the pointer never leaves, and lives exactly as long as the lock.
@safe public struct Lock: ~Copyable, Sendable {
    // The pointee never moves, and pthread's functions are made for use from several threads.
    @usableFromInline nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>

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

    @inlinable @inline(__always)
    public func lock() {
        unsafe pthread_mutex_lock(mutex)
    }

    @inlinable @inline(__always)
    public func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Gives the lock up, waits for `condition` to be signalled, and takes it again, as `pthread_cond_wait` does.
    package func wait(on condition: UnsafeMutablePointer<pthread_cond_t>) {
        unsafe pthread_cond_wait(condition, mutex)
    }

    /// ``wait(on:)``, for that long at most.
    package func wait(on condition: UnsafeMutablePointer<pthread_cond_t>, nanoseconds: Int64) {
        unsafe inflight_condition_wait(condition, mutex, nanoseconds)
    }

    /// Runs `body` with the lock held, and releases it however `body` ends.
    @inlinable
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
