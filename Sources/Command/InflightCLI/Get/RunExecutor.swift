import Dispatch
import InflightConcurrency

/// The serial queue of a run, as the executor of its tasks: the queue's blocks and the tasks run one at a time.
// Unchecked: `running` is accessed only on the queue.
final class RunExecutor: TaskExecutor, @unchecked Sendable {
    private struct State {
        /// The steps of tasks that are ready to run, in order.
        var ready: [UnownedJob] = []
        /// Whether the queue will run them, or is running them.
        var isScheduled = false
    }

    let queue = DispatchQueue(label: "inflight.get")
    private let state = Guarded(State())
    /// The steps that run now. Kept, so that its memory is used again.
    private var running: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustSchedule = state.withLock { state in
            state.ready.append(job)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.runReady() } }
    }

    /// Handles an event in a block of the queue, and runs the tasks that it resumes in the same block. A block of their
    /// own would cost more than the tasks' steps.
    func handle(_ event: () -> Void) {
        let wasScheduled = state.withLock { state in
            defer { state.isScheduled = true }
            return state.isScheduled
        }
        event()
        if !wasScheduled { runReady() }
    }

    /// Runs the steps that are ready now. Those that become ready meanwhile run in a later block, after the blocks that
    /// wait already.
    private func runReady() {
        state.withLock { swap(&$0.ready, &running) }
        for job in running { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        running.removeAll(keepingCapacity: true)
        let isMore = state.withLock { state in
            state.isScheduled = !state.ready.isEmpty
            return state.isScheduled
        }
        if isMore { queue.async { self.runReady() } }
    }

    // MARK: Pauses

    /// A pause of a task, which is ended once.
    // Safe: `end(with:)` is called once, because a pause is removed from its property before it is ended.
    @safe struct Pause<Value: Sendable> {
        fileprivate let continuation: UnsafeContinuation<Value, Never>

        func end(with value: Value) { unsafe continuation.resume(returning: value) }
    }

    /// Pauses the calling task, which runs on this executor, until its pause is ended, also on this executor.
    ///
    /// A `Bridge`, which another thread may open before the task is suspended, would take three allocations and two
    /// locks more.
    ///
    /// - Parameter begin: Called at once. It must not end the pause itself.
    nonisolated(nonsending) func pause<Value>(_ begin: (Pause<Value>) -> Void) async -> Value {
        unsafe await withUnsafeContinuation { unsafe begin(Pause(continuation: $0)) }
    }

    /// Lets the blocks and the tasks run that were enqueued before.
    nonisolated(nonsending) func yield() async {
        await pause { pause in
            queue.async { self.handle { pause.end() } }
        }
    }
}

extension RunExecutor.Pause<Void> {
    func end() { end(with: ()) }
}
