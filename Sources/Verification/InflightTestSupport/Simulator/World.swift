internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// One schedule: the shipping pipeline on one thread with everything around it replaced, and the model that checks it.
// Unchecked: everything in a simulation happens on one thread.
final class World: @unchecked Sendable {
    let setup: Setup
    var draws: Draws
    let model: ContractModel
    var context = CallContext()
    /// The number of threads that are suspended while another one runs above them.
    var depth = 0
    private var threadCount = 0
    private(set) var steps = 0
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private let records: Bool
    private let rule: Simulator.Rule?
    /// The violation that the rule besides the contract's has found.
    private(set) var found: Violation?
    /// Whether that violation was reported. Then the world runs to its end and is released.
    private var continues = false

    /// Whether the world stops, so that the violation is reported.
    var isOver: Bool { model.violation != nil || (found != nil && !continues) }
    private(set) var lines: [String] = []

    private(set) var clock: SimulatedClock! = nil
    private(set) var transport: SimulatedTransport! = nil
    private(set) var threads: SimulatedWorkExecutor! = nil
    private(set) var server: SimulatedServer! = nil
    private(set) var store: SimulatedStore?
    private(set) var observer: SimulatedObserver?
    private(set) var executor: SimulatedTaskExecutor! = nil
    private(set) var queues: [SimulatedQueue] = []
    private(set) var callbackQueues: [CallbackQueue] = []
    /// The number of queues that callers name. The prefetcher's own queue follows them.
    static let callerQueues = 4
    static let prefetchQueue = 4
    var loaders: [ImageLoader?] = []
    var prefetcher: Prefetcher?
    /// The loaders whose handlers are running. They are released only when those have returned.
    var handling: UInt8 = 0
    var pipeline: ImagePipeline?
    private weak var codec: SimulatedCodec?

    var callers: [Caller] = []
    var requests: [RequestSpec: ImageRequest] = [:]
    /// Whether the response varies, by exchange.
    var responsesVary: [Bool] = []
    /// The exchanges whose calls of `didReceive` have not returned.
    var undecided: [Int: SimulatedExchange] = [:]
    /// The status that the caller must see, by exchange; without an entry, the original one.
    var statuses: [Int: Int] = [:]
    /// The queues on which loads were requested.
    var usedQueues: UInt8 = 0
    /// The suspended calls of the program's code.
    var pauses: [Pause] = []
    private(set) var token: SharedValue<Int>! = nil
    /// The tokens that a server has refused.
    var refusedTokens: Set<String> = []
    private(set) var faults = Simulator.Faults()
    /// The task whose request is being prepared, or -1.
    var preparing = -1
    var isEnding = false

    init(setup: Setup, records: Bool, rule: Simulator.Rule?) {
        self.rule = rule
        self.setup = setup
        self.records = records
        draws = Draws(0)
        model = ContractModel(bounds: setup.bounds)
        if setup.hasFallbacks { model.fallbacks = Resources.fallbackSpecs(setup) }
        callers.reserveCapacity(32)
        clock = SimulatedClock(self)
        executor = SimulatedTaskExecutor(self)
        token = SharedValue(on: executor) { [unowned self] in try await makeToken() }
        transport = SimulatedTransport(self)
        threads = SimulatedWorkExecutor(self)
        server = SimulatedServer(self)
        if setup.hasObserver { observer = SimulatedObserver() }
        if setup.hasStore { store = SimulatedStore(self) }
        model.cacheKey = { Resources.cacheKey($0, origin: $1, isRedirected: $2) }
        queues = [SimulatedQueue.Kind.serial, .concurrent, .emptied, .serial, .serial].enumerated()
            .map { SimulatedQueue(self, index: $0, kind: $1) }
        callbackQueues = queues.map { .executor($0) }
        let codec = SimulatedCodec(self)
        self.codec = codec
        do throws(LoadError) {
            pipeline = try ImagePipeline(configuration: setup.configuration(self, codec: codec))
        } catch {
            preconditionFailure("Cannot create a pipeline: \(error)")
        }
        if let pipeline { makeViews(pipeline) }
    }

    func note(_ kind: UInt64, _ number: UInt64, _ text: @autoclosure () -> String) {
        hash = (hash ^ (kind << 32 | number)) &* 0x0000_0100_0000_01B3
        guard records || rule != nil else { return }
        let text = text()
        if records { lines.append(String(repeating: "    ", count: depth) + text) }
        if !continues, found == nil { found = rule?(text) }
    }

    /// Calls back into the pipeline now and then, as a caller's code may from everywhere.
    func poke() {
        guard draws.once(in: 8) else { return }
        _ = pipeline?.statistics
        for caller in callers.suffix(2) { _ = caller.task?.isCancelled }
    }

    var usedQueueKinds: Int { Set(queues.filter { usedQueues & (1 << $0.index) != 0 }.map(\.kind)).count }

    /// Counts a fault of this part.
    func fault(_ part: WritableKeyPath<Simulator.Faults, Int>) { faults[keyPath: part] += 1 }

    // MARK: Steps

    /// - Parameter sendsRequest: whether a caller sends a request, even if other events are possible.
    func step(_ word: UInt64, sendsRequest: Bool = false) {
        draws = Draws(word)
        if sendsRequest {
            steps += 1
            sendRequest()
        } else {
            advance()
        }
        rest()
    }

    /// Fires overdue timers, runs the observer, and checks the model, while nothing else is running.
    private func rest() {
        if clock.hasDue { clock.fireDue() }
        if let observer {
            observer.runAll()
            if let problem = observer.problem { model.report(problem) }
        }
        if let pipeline { model.checkIdle(pipeline.statistics) }
    }

    /// Runs other threads while this one is in the caller's code, once in `count` times.
    func interleave(in count: Int) {
        guard setup.nests, !context.isAtomic, depth < 3, draws.once(in: count) else { return }
        let before = (context, model.thread)
        context = CallContext()
        threadCount += 1
        model.thread = threadCount
        depth += 1
        for _ in 0...draws.below(2) { advance() }
        depth -= 1
        (context, model.thread) = before
    }

    /// Performs the event that the draw selects, or if it is not possible now, the next possible one. Removing a choice
    /// from a script therefore changes the meaning of the others as little as possible.
    private func advance() {
        steps += 1
        let dice = draws.below(40)
        var kind = dice < 13 ? 0 : dice < 19 ? 1 : dice < 24 ? 2 : dice < 29 ? 3 : dice < 31 ? 4 : 5
        for _ in 0..<5 {
            if tryStep(kind) { return }
            kind = kind < 3 ? kind + 1 : kind == 3 ? 0 : 5
        }
        if isEnding { drainStep() } else { act() }
    }

    private func tryStep(_ kind: Int) -> Bool {
        switch kind {
        case 0:
            if let store, store.isReady, !transport.isReady || draws.once(in: 2) {
                store.runOne()
                return true
            }
            guard transport.isReady else { return false }
            transport.runOne()
        case 1:
            var ready = 0
            for queue in queues where queue.isReady { ready += 1 }
            guard ready > 0 else { return false }
            var chosen = draws.below(ready)
            for queue in queues where queue.isReady {
                if chosen == 0 {
                    queue.runOne()
                    break
                }
                chosen -= 1
            }
        case 2:
            guard threads.isReady else { return false }
            threads.runOne()
        case 3:
            if !pauses.isEmpty, !executor.isReady || draws.once(in: 3) {
                pauses[draws.below(pauses.count)].end()
                return true
            }
            guard executor.isReady else { return false }
            executor.runOne()
        case 4:
            // Dates are written in half seconds, which are exact.
            let unit: Int64 = setup.hasStore ? 500_000_000 : setup.isSlow ? 1_000_000_000 : 1_000_000
            clock.advance(by: Int64(1 + draws.below(10)) * unit)
        default:
            if isEnding { return false }
            act()
        }
        return true
    }

    /// Performs any remaining event at the end, except `act`.
    private func drainStep() {
        for kind in 0..<4 where tryStep(kind) { return }
    }

    // MARK: The end

    private var isAnythingReady: Bool {
        queues.contains { $0.isReady } || threads.isReady || transport.isReady || executor.isReady
            || !pauses.isEmpty || store?.isReady ?? false
    }

    /// Runs until no event is left.
    func drain(seed: UInt64) {
        isEnding = true
        var words = Draws(seed)
        var idle = 0
        // Timers of tasks that have ended may make nothing ready, and one that does may follow them.
        var timers = 0
        while idle < 3 || isAnythingReady || clock.hasTimers && timers < 100, !isOver {
            for queue in queues { queue.isSuspended = false }
            transport.endHanging()
            if isAnythingReady {
                idle = 0
            } else {
                idle += 1
                draws = Draws(words.next())
                if idle == 1, hasViews {
                    closeViews()
                } else if clock.hasTimers {
                    timers += 1
                    clock.advance(to: clock.nextDeadline)
                }
                rest()
                continue
            }
            step(words.next())
            if steps > 20_000 { return model.neverEnds() }
        }
        if !isOver { finish() }
    }

    /// Ends a world in which only the additional rule was broken, so that all of it is released.
    func drainToEnd(seed: UInt64) {
        continues = true
        drain(seed: seed)
    }

    private func finish() {
        model.finishes()
        let statistics = pipeline?.statistics
        if let problem = observer?.atEnd { model.report(problem) }
        if let statistics, statistics.tasksInFlight + statistics.jobsInFlight > 0 { model.neverEnds() }
        undecided = [:]
        releaseAll()
        observer?.close()
        store?.removeAll()
        if codec != nil { model.leaks() }
    }

    /// Takes the pipeline and the callers out of the world before their release, because a release inspects the whole
    /// world.
    private func releaseAll() {
        let pipeline = pipeline.take()
        let callers = callers
        self.callers = []
        requests = [:]
        withExtendedLifetime((pipeline, callers)) {}
    }
}

extension World {
    private static let broken = Guarded([World]())

    static func retainForever(_ world: World) {
        broken.withLock { $0.append(world) }
    }
}
