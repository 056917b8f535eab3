import InflightConcurrency

// The limits of decodes: memory that all of them share, and time for each.

extension Engine {
    func takeMemory(
        _ bytes: Int, for job: DecodeJob, priority: LoadPriority
    ) -> MemoryBudget<DecodeJob>.Answer {
        decodeMemory.withLock { $0.take(bytes, for: job, priority: priority) }
    }

    func moveInMemoryQueue(_ job: DecodeJob, to priority: LoadPriority) {
        runWithMemory(decodeMemory.withLock { $0.move(to: priority) { $0 === job } })
    }

    /// Takes memory for optional work, only if it is available at once.
    func takeMemoryNow(_ bytes: Int) -> Bool {
        decodeMemory.withLock { $0.takeNow(bytes) }
    }

    func giveBackMemory(_ bytes: Int) {
        guard bytes > 0 else { return }
        runWithMemory(decodeMemory.withLock { $0.given(back: bytes) })
    }

    /// - Returns: whether the job was waiting for memory. If so, it waits no longer, and is not run.
    func giveUpMemory(for job: DecodeJob) -> Bool {
        let (waiter, next) = decodeMemory.withLock { $0.gaveUp { $0 === job } }
        runWithMemory(next)
        return waiter != nil
    }

    private func runWithMemory(_ jobs: [DecodeJob]) {
        for job in jobs { workers.run { job.runWithMemory() } }
    }

    var maximumDecodeMemory: Int { decodeMemory.withLock { $0.limit } }

    /// Runs `body`, and cancels the decode when its time limit has passed.
    func withinDecodeTime<Value>(
        _ cancellation: CancellationFlag, _ body: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        guard let maximum = maximumDecodeTime else { return try body() }
        let isLate = CancellationFlag()
        let timer = clock.schedule(at: clock.now() + maximum) {
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
                message: "Decoding timed out after \(maximum). The image may be malicious. Raise maximumDecodeTime "
                    + "if you trust the source.")
        }
    }
}
