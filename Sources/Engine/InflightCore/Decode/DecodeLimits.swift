import Dispatch
package import InflightConcurrency

/// The limits that all decodes of a pipeline share: their memory together, and the time of each.
final class DecodeLimits: Sendable {
    private let memory: Guarded<MemoryBudget<any MemoryWaiter>>
    private let maximumTime: Duration?
    private let clock: any EngineClock

    init(_ configuration: ImagePipeline.Configuration) {
        memory = Guarded(MemoryBudget(limit: configuration.maximumDecodeMemory))
        maximumTime = configuration.maximumDecodeTime
        clock = configuration.clock
    }

    // MARK: Memory

    /// Takes memory for a waiter, or queues it until others release enough.
    ///
    /// - Returns: whether the memory is taken now.
    /// - Throws: ``LoadError/Code/tooMuchMemory`` if it never fits.
    func take(
        _ bytes: Int, for waiter: any MemoryWaiter, priority: ImageRequest.Priority = .normal
    ) throws(LoadError) -> Bool {
        switch memory.withLock({ $0.take(bytes, for: waiter, priority: priority) }) {
        case .taken: return true
        case .waits: return false
        case .refused: throw CodecError.tooMuchMemory(bytes, allowed: memory.withLock { $0.limit })
        }
    }

    /// Takes memory on the caller's thread, and blocks it until there is enough.
    func takeBlocking(_ bytes: Int) throws(LoadError) {
        let thread = WaitingThread()
        if try !take(bytes, for: thread) { thread.wait() }
    }

    /// Takes the memory only if it is available now.
    func takeNow(_ bytes: Int) -> Bool { memory.withLock { $0.takeNow(bytes) } }

    func release(_ bytes: Int) {
        guard bytes > 0 else { return }
        grant(memory.withLock { $0.release(bytes) })
    }

    /// Withdraws the request of a waiter.
    ///
    /// - Returns: whether it was queued.
    func withdraw(_ waiter: any MemoryWaiter) -> Bool {
        let (found, next) = memory.withLock { $0.cancelled { $0 === waiter } }
        grant(next)
        return found != nil
    }

    /// Changes the priority of a waiter, if it is queued.
    func reprioritize(_ waiter: any MemoryWaiter, to priority: ImageRequest.Priority) {
        grant(memory.withLock { $0.move(to: priority) { $0 === waiter } })
    }

    private func grant(_ waiters: [any MemoryWaiter]) {
        for waiter in waiters { waiter.memoryWasGranted() }
    }

    /// The number of decodes that wait for memory.
    var waitingCount: Int { memory.withLock { $0.waitingCount } }

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
