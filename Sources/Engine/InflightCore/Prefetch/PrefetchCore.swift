import InflightConcurrency

/// Owns the machine of a prefetcher behind a lock. It outlives its prefetcher until the loads in flight are cancelled.
final class PrefetchCore: Sendable {
    private struct State: Sendable {
        var machine: PrefetchMachine
        /// Ends the turn, if turns end by time.
        var timer: (any ScheduledWork)?
        /// Opened when the machine is idle.
        var waiters: [Bridge] = []

        /// Returns the waiters to open now.
        mutating func takeWaiters() -> [Bridge] {
            guard machine.isIdle, !waiters.isEmpty else { return [] }
            defer { waiters = [] }
            return waiters
        }
    }

    private let pipeline: ImagePipeline
    private let goal: RequestPlan.Goal
    private let keepsBytes: Bool
    private let priority: ImageRequest.Priority
    private let turn: Prefetcher.Turn
    /// The queue for the endings of loads, and for the ends of timed turns.
    private let queue: CallbackQueue
    /// Called on ``queue`` with no lock held.
    private let onEnd: (@Sendable (ImageRequest, Result<LoadSource, LoadError>) -> Void)?
    private let state: Guarded<State>

    init(
        pipeline: ImagePipeline, destination: Prefetcher.Destination, turn: Prefetcher.Turn, limit: Int,
        priority: ImageRequest.Priority, queue: CallbackQueue,
        onEnd: (@Sendable (ImageRequest, Result<LoadSource, LoadError>) -> Void)?
    ) {
        self.pipeline = pipeline
        self.priority = priority
        self.turn = turn
        self.queue = queue
        self.onEnd = onEnd
        switch destination.kind {
        case .memory:
            goal = .image
            keepsBytes = false
            state = Guarded(State(machine: PrefetchMachine(limit: limit)))
        case .bytes(let keptLimit):
            goal = .data
            keepsBytes = true
            state = Guarded(State(machine: PrefetchMachine(limit: limit, keptLimit: keptLimit)))
        case .store:
            goal = .data
            keepsBytes = false
            state = Guarded(State(machine: PrefetchMachine(limit: limit)))
        }
    }

    // MARK: Input

    func start(_ requests: some Sequence<ImageRequest>) {
        var wanted: [(key: RequestKey, request: ImageRequest)] = []
        var refused = 0
        // Make the keys before taking the lock, because that runs the caller's code.
        for request in requests {
            do throws(LoadError) {
                wanted.append((try makeKey(of: request), request))
            } catch {
                refused += 1
                if let onEnd { queue.submit { onEnd(request, .failure(error)) } }
            }
        }
        let beginsTurn = state.withLock { [wanted, refused] state in
            state.machine.refused(refused)
            return state.machine.started(wanted)
        }
        if beginsTurn { beginTurn() }
    }

    func stop(_ requests: some Sequence<ImageRequest>) {
        let keys = requests.compactMap { key(of: $0) }
        if state.withLock({ $0.machine.stopped(keys) }) { beginTurn() }
    }

    func stopAll() {
        if state.withLock({ $0.machine.allStopped() }) { beginTurn() }
    }

    func pause() {
        state.withLock { $0.machine.paused() }
    }

    func resume() {
        perform(state.withLock { $0.machine.resumed() })
    }

    func close() {
        let (actions, timer) = state.withLock { ($0.machine.closed(), $0.timer.take()) }
        timer?.cancel()
        perform(actions)
    }

    func waitUntilIdle() async {
        let bridge = Bridge()
        await withTaskCancellationHandler {
            let isIdle = state.withLock { state in
                if !state.machine.isIdle { state.waiters.append(bridge) }
                return state.machine.isIdle
            }
            if isIdle { return }
            await bridge.wait()
        } onCancel: {
            bridge.open()
        }
        // A cancelled wait is not served otherwise.
        if Task.isCancelled { state.withLock { $0.waiters.removeAll { $0 === bridge } } }
    }

    func take(_ request: ImageRequest) -> LoadedResponse? {
        guard let key = key(of: request) else { return nil }
        let harmless = pipeline.images.fieldsExcludedFromKey
        let taken = state.withLock { state in
            state.machine.taken(key) { prefetched, response in
                // A response that varies by a field outside the key serves only requests with the same value.
                harmless.isEmpty
                    || prefetched.agrees(with: request, in: response.head.namesVaried(among: harmless))
            }
        }
        // Release the rest of the entry with no lock held.
        return withExtendedLifetime(taken) { taken?.response }
    }

    var isPaused: Bool { state.withLock { $0.machine.isPaused } }

    var limit: Int {
        get { state.withLock { $0.machine.limit } }
        set { perform(state.withLock { $0.machine.limitSet(newValue) }) }
    }

    var statistics: Prefetcher.Statistics { state.withLock { $0.machine.statistics } }

    private func key(of request: ImageRequest) -> RequestKey? { try? makeKey(of: request) }

    private func makeKey(of request: ImageRequest) throws(LoadError) -> RequestKey {
        try pipeline.images.plan(request, goal: goal).finalKey
    }

    // MARK: Turns

    private func beginTurn() {
        switch turn.kind {
        case .queue(let queue):
            endTurn(on: queue)
        case .time(let duration):
            let clock = pipeline.engine.clock
            let timer = clock.schedule(at: clock.now() + duration) { [weak self] in
                // Leave the clock's thread, which must not be blocked: the end of a turn runs the caller's code.
                guard let self else { return }
                endTurn(on: queue)
            }
            let isLate = state.withLock { state in
                if !state.machine.isClosed { state.timer = timer }
                return state.machine.isClosed
            }
            if isLate { timer.cancel() }
        }
    }

    /// A queue that drops its work ends the turn too.
    private func endTurn(on queue: CallbackQueue) {
        let work = DroppableWork(run: { self.endTurn() }, dropped: { self.endTurn() })
        queue.submit { work.run() }
    }

    private func endTurn() {
        perform(state.withLock { $0.machine.turnEnded() })
    }

    // MARK: Actions

    /// Performs the machine's actions, with no lock held. Releases the values that are no longer needed at the end.
    private func perform(_ actions: PrefetchMachine.Actions) {
        for task in actions.cancels { task.cancel() }
        for (id, request) in actions.sends { send(id, request) }
        withExtendedLifetime(actions) {}
        for waiter in state.withLock({ $0.takeWaiters() }) { waiter.open() }
    }

    private func send(_ id: PrefetchMachine.ID, _ wanted: ImageRequest) {
        var request = wanted
        request.priority = priority
        let task: ImageTask
        if goal == .image {
            task = pipeline.load(request, on: queue) { _, result in
                switch result {
                case .success(let image):
                    let ending = image.source == .memory ? PrefetchMachine.Ending.found : .loaded
                    self.didEnd(id, with: ending, wanted, .success(image.source))
                case .failure(let error): self.didEnd(id, with: .failed, wanted, .failure(error))
                }
            }
        } else {
            task = pipeline.loadResponse(request, on: queue) { _, result in
                switch result {
                case .success(let response) where self.keepsBytes:
                    self.didEnd(id, with: .received(response), wanted, .success(response.source))
                case .success(let response): self.didEnd(id, with: .loaded, wanted, .success(response.source))
                case .failure(let error): self.didEnd(id, with: .failed, wanted, .failure(error))
                }
            }
        }
        if !state.withLock({ $0.machine.wasSent(id, as: task) }) { task.cancel() }
    }

    private func didEnd(
        _ id: PrefetchMachine.ID, with ending: PrefetchMachine.Ending, _ request: ImageRequest,
        _ result: Result<LoadSource, LoadError>
    ) {
        let (wasStopped, next) = state.withLock { state in
            (!state.machine.contains(id), state.machine.ended(id, with: ending))
        }
        // Before the waiters of the last ending resume.
        if !wasStopped { onEnd?(request, result) }
        perform(next)
    }
}
