internal import CInflightConcurrency
internal import Dispatch

/// A value guarded by a concurrent queue: concurrent readers, and exclusive writers by barrier.
///
/// For values with many and long reads. For accesses shorter than some microseconds ``Guarded`` is faster, even if all
/// of them only read.
///
/// - Cost: about 570 ns to read, 530 ns to write, 490 ns to write later. ``Guarded`` takes 7 ns to read or write, and
///   20 ns when two threads always contend.
/// - Thread, errors: as ``Guarding``. Only ``writeLater(_:)`` does not wait.
/// - Order: an access after a write, from the same thread, sees that write; so too after ``writeLater(_:)``.
/// - Entering the same value from `body` would deadlock, so it traps, in release builds too.
/// - The thread sanitizer on Linux does not see that a barrier orders accesses, so they are annotated here.
public final class QueueGuarded<Value>: Guarding, @unchecked Sendable {
    // Unchecked: `value` is accessed only inside the queue, and changed only behind a barrier.

    private let queue = DispatchQueue(label: "inflight.guarded", attributes: .concurrent)
    /// Finds that the calling thread is inside the queue, which no other code can reach.
    private let mark = DispatchSpecificKey<Bool>()
    private var value: Value
    private let written = Tag()
    private let wasRead = Tag()

    /// An object whose address the sanitizer annotations use.
    private final class Tag: Sendable {
        func release() { unsafe inflight_tsan_release(Unmanaged.passUnretained(self).toOpaque()) }
        func acquire() { unsafe inflight_tsan_acquire(Unmanaged.passUnretained(self).toOpaque()) }
    }

    /// Creates a guarded value with a concurrent queue of its own.
    public init(_ value: sending Value) {
        self.value = value
        queue.setSpecific(key: mark, value: true)
    }

    public func read<Result, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        checkOutside()
        return try queue.outcome { () throws(Failure) in
            written.acquire()
            defer { wasRead.release() }
            return try body(value)
        }.get()
    }

    public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        checkOutside()
        return try queue.outcome(flags: .barrier) { () throws(Failure) in
            beginWriting()
            defer { written.release() }
            return try body(&value)
        }.get()
    }

    /// Enqueues a change to the value and returns at once. `body` runs on a thread of the queue, with exclusive access,
    /// after the accesses that were enqueued before.
    public func writeLater(_ body: @escaping @Sendable (inout Value) -> Void) {
        queue.async(flags: .barrier) {
            self.beginWriting()
            body(&self.value)
            self.written.release()
        }
    }

    private func beginWriting() {
        written.acquire()
        wasRead.acquire()
    }

    private func checkOutside() {
        if DispatchQueue.getSpecific(key: mark) != nil {
            fatalError("a guarded value was accessed recursively, which would deadlock")
        }
    }
}
