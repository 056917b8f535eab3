import InflightConcurrency

/// Runs the turns in which fetches decode or spill a body behind its transfer: one at a time, in the order in which they
/// were asked for, on the engine's threads. A turn is bounded, so that each body has its own before long.
final class BodyTurns: Sendable {
    struct Turn {
        let job: FetchJob
        let exchange: Int
        let spills: Bool
    }

    private struct State {
        var waiting: [Turn] = []
        /// A turn is in the executor's hands.
        var isHanded = false
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
            defer { state.isHanded = true }
            return !state.isHanded
        }
        if isFirst { handOver() }
    }

    /// Waits until no turn is in the executor's hands, the useless ones of fetches that have ended among them.
    func wait() async {
        let bridge = Bridge()
        let isHanded = state.withLock { state in
            if state.isHanded { state.waiters.append(bridge) }
            return state.isHanded
        }
        if isHanded { await bridge.wait() }
    }

    private func handOver() {
        executor.run { [self] in
            let turn = state.withLock { $0.waiting.removeFirst() }
            turn.job.take(turn)
            let (hasMore, waiters) = state.withLock { state in
                state.isHanded = !state.waiting.isEmpty
                guard !state.isHanded else { return (true, [Bridge]()) }
                defer { state.waiters = [] }
                return (false, state.waiters)
            }
            for waiter in waiters { waiter.open() }
            if hasMore { handOver() }
        }
    }
}
