import Dispatch
package import InflightConcurrency

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
        try decoding.takeMemory(memory)
        defer { decoding.giveBackMemory(memory) }
        return try decoding.withinTimeLimit(flag) { () throws(LoadError) in
            if cancellation.isCancelled { throw .cancelled(url: nil, stage: .decode) }
            return try body(flag)
        }
    }
}

/// What waits until ``DecodeStage/budget`` grants it memory.
protocol MemoryWaiter: AnyObject, Sendable {
    /// The memory is taken. Called on the thread that released it.
    func memoryWasGranted()
}

/// A thread that is blocked until then.
final class WaitingThread: MemoryWaiter {
    private let semaphore = DispatchSemaphore(value: 0)

    func memoryWasGranted() { semaphore.signal() }

    func wait() { semaphore.wait() }
}
