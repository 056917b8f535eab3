internal import CInflightConcurrency
import Glibc

/// A fixed number of threads for work that blocks or computes, which would otherwise occupy the global concurrency pool
/// or a global queue. First in, first out.
///
/// Threads start when they are first needed. They end when the object has been released and the enqueued work is done.
/// May be used from any thread.
public final class WorkerThreads: Sendable {
    private let shared: Shared

    /// Creates the object without starting a thread.
    ///
    /// - Parameters:
    ///   - count: The maximum number of threads, at least 1.
    ///   - name: The thread name in debuggers and `ps -T`; 15 bytes of it are kept.
    public init(count: Int, name: String) {
        shared = Shared(limit: max(1, count), name: String(name.prefix(15)))
    }

    deinit {
        shared.close()
    }

    /// Runs `work` on one of the threads, after the work enqueued before it. Returns at once.
    public func run(_ work: @escaping @Sendable () -> Void) {
        shared.add(work)
    }

    /// The state that the threads retain instead of their owner, so that the owner can be released.
    // Unchecked: mutable state is accessed only with `mutex` held. Safe: the condition never escapes.
    @safe private final class Shared: @unchecked Sendable {
        private let limit: Int
        private let name: String
        private let mutex = Lock()
        // The condition never moves, and is destroyed when no thread waits on it any more.
        nonisolated(unsafe) private let condition: UnsafeMutablePointer<pthread_cond_t>
        private var queue: [(@Sendable () -> Void)?] = []
        private var first = 0
        private var threads = 0
        private var idle = 0
        private var isClosed = false

        init(limit: Int, name: String) {
            self.limit = limit
            self.name = name
            unsafe condition = .allocate(capacity: 1)
            unsafe condition.initialize(to: pthread_cond_t())
            unsafe pthread_cond_init(condition, nil)
        }

        deinit {
            unsafe pthread_cond_destroy(condition)
            unsafe condition.deallocate()
        }

        func add(_ work: @escaping @Sendable () -> Void) {
            mutex.lock()
            queue.append(work)
            // A signalled thread counts as idle until it runs. Each idle thread can take one piece of queued work.
            let needsThread = queue.count - first > idle && threads < limit
            if needsThread { threads += 1 }
            mutex.unlock()
            if needsThread {
                startThread()
            } else {
                unsafe pthread_cond_signal(condition)
            }
        }

        func close() {
            mutex.withLock { isClosed = true }
            unsafe pthread_cond_broadcast(condition)
        }

        private func startThread() {
            let context = unsafe Unmanaged.passRetained(self).toOpaque()
            let status = unsafe inflight_start_thread(
                { context in
                    guard let context = unsafe context else { return }
                    unsafe Unmanaged<Shared>.fromOpaque(context).takeRetainedValue().loop()
                }, context)
            guard status != 0 else { return }
            let hasOthers = mutex.withLock {
                threads -= 1
                return threads > 0
            }
            // The other threads will run the work.
            if hasOthers { return unsafe Unmanaged<Shared>.fromOpaque(context).release() }
            // Not a precondition, because release builds would omit its message.
            fatalError(
                "Cannot create the thread \(name) (error \(status)). Raise the limits on threads (ulimit -u) and "
                    + "memory (ulimit -v).")
        }

        private func loop() {
            unsafe inflight_name_thread(name)
            while let work = next() { work() }
        }

        private func next() -> (@Sendable () -> Void)? {
            mutex.lock()
            defer { mutex.unlock() }
            while first == queue.count {
                if isClosed {
                    threads -= 1
                    return nil
                }
                idle += 1
                unsafe mutex.wait(on: condition)
                idle -= 1
            }
            let work = queue[first]
            queue[first] = nil
            first += 1
            if first == queue.count {
                queue.removeAll(keepingCapacity: queue.capacity <= 1024)
                first = 0
            } else if first > 1024, first * 2 > queue.count {
                queue.removeFirst(first)
                first = 0
            }
            return work
        }
    }
}
