import Dispatch
package import InflightConcurrency

/// The limits that all decodes of a pipeline share: their memory together, and the time of each.
///
/// Requests for memory that do not fit are queued by priority, and within a priority in the order in which they reached
/// it. Only a more urgent request overtakes the first in the queue, so that small requests do not starve a large one.
final class DecodeLimits: Sendable {
    private struct Memory {
        var taken = 0
        var waiting: [(waiter: any MemoryWaiter, bytes: Int, priority: ImageRequest.Priority)] = []

        /// Returns the position in the queue for a request of that priority.
        func position(_ priority: ImageRequest.Priority) -> Int {
            waiting.firstIndex { $0.priority < priority } ?? waiting.count
        }
    }

    /// The maximum memory of all decodes together, in bytes.
    private let limit: Int
    private let memory = Guarded(Memory())
    private let maximumTime: Duration?
    private let clock: any EngineClock

    /// - Parameters:
    ///   - memory: the maximum memory of all decodes together, in bytes.
    ///   - time: the maximum time of one decode; nil for no limit.
    init(memory: Int, time: Duration?, clock: any EngineClock) {
        limit = max(0, memory)
        maximumTime = time
        self.clock = clock
    }

    // MARK: Memory

    /// Takes memory for a waiter, or queues it until others release enough.
    ///
    /// - Parameter bytes: 0 or more.
    /// - Returns: whether the memory is taken now.
    /// - Throws: ``LoadError/Code/tooMuchMemory`` if it never fits.
    func take(_ bytes: Int, for waiter: any MemoryWaiter, priority: ImageRequest.Priority) throws(LoadError) -> Bool {
        if bytes > limit { throw CodecError.tooMuchMemory(bytes, allowed: limit) }
        return memory.withLock { memory in
            let position = memory.position(priority)
            guard position == 0, bytes <= limit - memory.taken else {
                memory.waiting.insert((waiter, bytes, priority), at: position)
                return false
            }
            memory.taken += bytes
            return true
        }
    }

    /// Takes memory on the caller's thread, and blocks it until there is enough.
    func takeBlocking(_ bytes: Int) throws(LoadError) {
        let thread = WaitingThread()
        if try !take(bytes, for: thread, priority: .normal) { thread.wait() }
    }

    /// Takes the memory only if it is available now.
    func takeNow(_ bytes: Int) -> Bool {
        memory.withLock { memory in
            guard memory.waiting.isEmpty, bytes <= limit - memory.taken else { return false }
            memory.taken += bytes
            return true
        }
    }

    func release(_ bytes: Int) {
        guard bytes > 0 else { return }
        change { memory in
            memory.taken -= bytes
            precondition(memory.taken >= 0, "more memory was released than reserved")
        }
    }

    /// Withdraws the request of a waiter.
    ///
    /// - Returns: whether it was queued.
    func withdraw(_ waiter: any MemoryWaiter) -> Bool {
        change { memory in
            guard let index = memory.waiting.firstIndex(where: { $0.waiter === waiter }) else { return false }
            memory.waiting.remove(at: index)
            return true
        }
    }

    /// Changes the priority of a waiter, if it is queued.
    func reprioritize(_ waiter: any MemoryWaiter, to priority: ImageRequest.Priority) {
        change { memory in
            guard let index = memory.waiting.firstIndex(where: { $0.waiter === waiter }),
                memory.waiting[index].priority != priority
            else { return }
            var entry = memory.waiting.remove(at: index)
            entry.priority = priority
            memory.waiting.insert(entry, at: memory.position(priority))
        }
    }

    /// Changes the queue or the memory taken, then grants the requests that fit now, in order and with no lock held.
    private func change<Value: Sendable>(_ body: (inout Memory) -> Value) -> Value {
        let (value, granted) = memory.withLock { memory in
            let value = body(&memory)
            var granted: [any MemoryWaiter] = []
            while let first = memory.waiting.first, first.bytes <= limit - memory.taken {
                memory.taken += first.bytes
                granted.append(first.waiter)
                memory.waiting.removeFirst()
            }
            return (value, granted)
        }
        for waiter in granted { waiter.memoryWasGranted() }
        return value
    }

    /// The number of decodes that wait for memory.
    var waitingCount: Int { memory.withLock { $0.waiting.count } }

    // MARK: Time

    /// Runs `body`, and cancels the decode when its time limit has passed.
    func withinTime<Value>(
        _ cancellation: CancellationFlag, _ body: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        guard let maximumTime else { return try body() }
        let isLate = CancellationFlag()
        let timer = clock.schedule(at: clock.now() + maximumTime) {
            isLate.cancel()
            cancellation.cancel()
        }
        defer { timer.cancel() }
        do throws(LoadError) {
            return try body()
        } catch {
            guard error.code == .cancelled, isLate.isCancelled else { throw error }
            throw LoadError(
                .timedOut, stage: .decode,
                message: "Decoding timed out after \(maximumTime). The image may be malicious. Raise maximumDecodeTime "
                    + "if you trust the source.")
        }
    }
}

/// A waiter for memory from ``DecodeLimits``.
protocol MemoryWaiter: AnyObject, Sendable {
    /// The memory is taken. Called on the thread that released it.
    func memoryWasGranted()
}

/// A thread that is blocked until its memory is granted.
private final class WaitingThread: MemoryWaiter {
    private let semaphore = DispatchSemaphore(value: 0)

    func memoryWasGranted() { semaphore.signal() }

    func wait() { semaphore.wait() }
}

extension ImagePipeline {
    /// Runs a decode of bytes that the caller has in memory, within ``Configuration/maximumDecodeMemory`` and
    /// ``Configuration/maximumDecodeTime``, which it shares with the pipeline's own decodes.
    ///
    /// Blocks the caller's thread until there is enough memory, in the order of other decodes at normal priority, and
    /// then runs `body` on it.
    ///
    /// - Parameters:
    ///   - memory: What the decode takes, in bytes: `CodecRegistry.memoryNeeded`. It counts until `body` returns, so
    ///     that `body` may also hold the image.
    ///   - cancellation: Ends the decode early. A decode that waits for memory ends when others release it.
    ///   - body: Decodes, and observes the passed flag, which is set by `cancellation` and by the time limit.
    /// - Throws: The errors of `body`; ``LoadError/Code/tooMuchMemory`` if the decode can never fit, and
    ///   ``LoadError/Code/timedOut`` if the time limit has cancelled `body`.
    package func withinDecodeLimits<Value>(
        memory: Int, cancellation: CancellationToken, _ body: (CancellationFlag) throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        let flag = CancellationFlag()
        let registration = cancellation.onCancel { flag.cancel() }
        defer { registration.remove() }
        try engine.decodeLimits.takeBlocking(memory)
        defer { engine.decodeLimits.release(memory) }
        return try engine.decodeLimits.withinTime(flag) { () throws(LoadError) in
            if cancellation.isCancelled { throw .cancelled(url: nil, stage: .decode) }
            return try body(flag)
        }
    }
}
