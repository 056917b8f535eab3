import InflightConcurrency

/// Runs the turns in which fetches decode or spill a body outside the transport's thread: one at a time, first in first
/// out, on the decoding threads. The work of a turn is bounded, so that no body waits long for its turn.
final class BodyProcessingQueue: Sendable {
    struct Turn {
        let job: FetchJob
        let exchange: Int
        let spills: Bool
    }

    private struct State {
        var waiting: [Turn] = []
        /// Whether a turn was passed to the executor and has not finished.
        var isScheduled = false
        var waiters: [Bridge] = []
    }

    private let executor: any WorkExecutor
    private let state = Guarded(State())

    init(executor: any WorkExecutor) {
        self.executor = executor
    }

    func add(_ turn: Turn) {
        let isFirst = state.withLock { state in
            state.waiting.append(turn)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { runNext() }
    }

    /// Waits until no turn is queued or running. This includes turns of fetches that have already ended.
    func wait() async {
        let bridge = Bridge()
        let isScheduled = state.withLock { state in
            if state.isScheduled { state.waiters.append(bridge) }
            return state.isScheduled
        }
        if isScheduled { await bridge.wait() }
    }

    private func runNext() {
        executor.run { [self] in
            let turn = state.withLock { $0.waiting.removeFirst() }
            turn.job.take(turn)
            let (hasMore, waiters) = state.withLock { state in
                state.isScheduled = !state.waiting.isEmpty
                guard !state.isScheduled else { return (true, [Bridge]()) }
                defer { state.waiters = [] }
                return (false, state.waiters)
            }
            for waiter in waiters { waiter.open() }
            if hasMore { runNext() }
        }
    }
}
