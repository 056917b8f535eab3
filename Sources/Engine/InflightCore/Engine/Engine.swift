import InflightConcurrency
internal import Synchronization

/// The thin shell around the machine: it holds it in a lock, tells it what happened, and does what it says once the lock
/// is released. No code of a caller runs while the lock is held.
// Unchecked: `machine` and `phase` are touched only while `lock` is held; the rest never changes.
final class Engine: @unchecked Sendable {
    typealias Machine = EngineMachine<ImageTask, EngineJob>

    let clock: any EngineClock
    let codecs: CodecRegistry
    let workers: any WorkExecutor
    let cache: any ImageCaching
    let lifetimes = Guarded(LifetimeTable())
    let allowsStaleFromMemory: Bool
    let harmlessFields: Set<String>
    let codings: AcceptedCodings
    /// What is sent with most requests for pictures.
    let usualFields: HTTPFields
    let hooks: Hooks
    /// `nil` where nobody listens.
    let telemetry: Telemetry?
    let laneLimits: [PipelineEvent.Lane: Int]
    let store: (any ResponseStore)?
    let retry: RetryPolicy?
    let storing: StoreWork
    let retryBudgets = RetryBudgets()
    let rates: RateWatch
    let random: @Sendable () -> Double
    let hasCircuitBreaker: Bool
    /// How many origins the machine remembers connection failures of.
    let failingOrigins = Atomic(0)
    /// What the bodies in flight hold in memory. Taken inside the locks of fetches, never the other way round.
    let bodies: Guarded<BodyBudget<FetchJob.Paused>>
    let turns: BodyTurns
    let bodyLimit: Int64
    let temporaryFolder: String?
    let decodeMemory: Guarded<MemoryBudget<DecodeJob>>
    let maximumDecodeTime: Duration?
    let revalidations = Guarded(0)
    /// How many pictures were handed to the cache.
    let storedImages = Atomic(0)
    private let ownsStore: Bool
    let transports: [String: any Transport]
    /// Those that end with this engine.
    private let ownedTransports: [any Transport]
    private let multiplexedLimit: Int

    private let lock = Lock()
    private var machine: Machine
    private var phase = Phase.running
    private var idleWaiters: [Bridge] = []
    /// Tasks that are not in the machine and have not ended: between a load that has failed and their next fallback, or
    /// with their ending on its way.
    private var falling = 0
    private var counters = ImagePipeline.Statistics()
    let endings = EndingCounters()

    private enum Phase {
        case running
        /// Nothing new is taken; what is under way goes on.
        case finishing
        /// Nothing goes on.
        case stopping
    }

    init(_ configuration: ImagePipeline.Configuration) throws(LoadError) {
        clock = configuration.clock
        rates = RateWatch(clock: configuration.clock)
        bodyLimit = configuration.maximumBodyBytesInFlight
        bodies = Guarded(BodyBudget(limit: bodyLimit, transfers: configuration.maximumConcurrentFetches))
        temporaryFolder = configuration.temporaryFolder
        codecs = configuration.codecs
        hooks = Hooks(configuration)
        telemetry = configuration.listening.map { Telemetry($0, clock: configuration.clock) }
        codings = AcceptedCodings(configuration.contentCodings)
        var usualFields = HTTPFields([("Accept", "image/*,*/*;q=0.8")])
        if let accepted = codings.accepted { usualFields.append("Accept-Encoding", accepted) }
        self.usualFields = usualFields
        harmlessFields = Set(configuration.harmlessFields.map { $0.lowercased() })
        cache =
            configuration.imageCache
            ?? MemoryCache<ImageCacheKey, LoadedImage>(configuration: configuration.memoryCache)
        allowsStaleFromMemory = configuration.allowsStaleFromMemory
        multiplexedLimit = configuration.maximumStreamsPerOrigin
        decodeMemory = Guarded(MemoryBudget(limit: configuration.maximumDecodeMemory))
        maximumDecodeTime = configuration.maximumDecodeTime
        let threads = max(1, configuration.decodeConcurrency)
        workers = configuration.decodeExecutor ?? WorkerThreads(count: threads, name: "inflight-decode")
        turns = BodyTurns(executor: workers)

        func lane(limit: Int) -> Lane<Machine.JobID, OriginKey>.Configuration {
            var lane = Lane<Machine.JobID, OriginKey>.Configuration(limit: limit)
            lane.order = configuration.order == .lastInFirstOut ? .lastInFirstOut : .firstInFirstOut
            return lane
        }
        // As many look-ups as make no store wait for them; it has its own few threads.
        var storeLane = lane(limit: 32)
        var fetchLane = lane(limit: max(1, configuration.maximumConcurrentFetches))
        fetchLane.groupLimit = max(1, configuration.maximumConcurrentFetchesPerOrigin)
        // A quarter of the places, so that prefetching never makes a visible picture wait for a whole download.
        storeLane.reserve = storeLane.limit / 4
        fetchLane.reserve = fetchLane.limit / 4
        let decodeLane = lane(limit: threads)
        machine = Machine(storeLane: storeLane, fetchLane: fetchLane, decodeLane: decodeLane)
        if configuration.listening != nil { machine.journal = [] }
        machine.circuits = configuration.circuitBreaker.map { OriginCircuits($0) }
        machine.maximumTasks = configuration.maximumQueuedTasks
        hasCircuitBreaker = configuration.circuitBreaker != nil
        random = configuration.random
        laneLimits = [.store: storeLane.limit, .fetch: fetchLane.limit, .decode: decodeLane.limit]

        var transports: [String: any Transport] = [:]
        var owned: [any Transport] = []
        for source in configuration.transports {
            let transport: any Transport
            switch source {
            case .shared(let lent): transport = lent
            case .owned(let make):
                transport = try make(configuration)
                owned.append(transport)
            }
            for scheme in transport.schemes { transports[scheme] = transport }
        }
        self.transports = transports
        ownedTransports = owned
        retry = configuration.retry
        storing = StoreWork(maximumBytes: configuration.maximumBytesToStore)
        switch configuration.store {
        case nil: (store, ownsStore) = (nil, false)
        case .shared(let lent): (store, ownsStore) = (lent, false)
        case .owned(let make): (store, ownsStore) = (try make(configuration), true)
        }
    }

    func transport(for scheme: String) -> (any Transport)? {
        transports[scheme]
    }

    // MARK: Tasks

    /// Makes a task and sets its work going. Never calls back inside this call.
    func add(_ request: ImageRequest, goal: RequestPlan.Goal, sink: CallbackSink?) -> ImageTask {
        let task = make(request, goal: goal, sink: sink, hearsProgress: sink?.progress != nil)
        begin(task)
        return task
    }

    /// Makes a task whose work begins only with ``begin(_:)``: for callers that have to be able to cancel it before.
    func prepare(_ request: ImageRequest, goal: RequestPlan.Goal, hearsProgress: Bool) -> ImageTask {
        make(request, goal: goal, sink: nil, hearsProgress: hearsProgress)
    }

    func begin(_ task: ImageTask) {
        if let telemetry { task.begins(telemetry) }
        switch task.subject {
        case .plan(let plan): begin(task, plan: plan)
        case .unplanned(let unplanned): fail(task, JobResult(.failure(unplanned.error)), wasTaken: false)
        }
    }

    private func make(
        _ request: ImageRequest, goal: RequestPlan.Goal, sink: CallbackSink?, hearsProgress: Bool
    ) -> ImageTask {
        do throws(LoadError) {
            let plan = try plan(request, goal: goal)
            return ImageTask(request: request, plan: plan, engine: self, sink: sink, hearsProgress: hearsProgress)
        } catch {
            return ImageTask(
                request: request, error: error, goal: goal, engine: self, sink: sink, hearsProgress: hearsProgress)
        }
    }

    func plan(
        _ request: ImageRequest, goal: RequestPlan.Goal, varying: Set<String> = [],
        purpose: RequestPlan.Purpose = .usual
    ) throws(LoadError) -> RequestPlan {
        let plan = try RequestPlan(
            request, goal: goal, harmlessFields: harmlessFields, varying: varying, purpose: purpose)
        if request.source == nil, transports[plan.url.scheme] == nil { throw unsupported(plan.url) }
        return plan
    }

    /// - Parameter wasTaken: whether the task was under way before: a pipeline that is closing finishes it.
    func submit(_ task: ImageTask, plan: RequestPlan, wasTaken: Bool = false) {
        // Cancelled before it came here: nothing is started for it.
        if task.isCancelled { return }
        // How many pictures had been stored before the look-up: it is done without the lock, for a cache may be anybody's.
        var known = storedImages.load(ordering: .acquiring)
        var hit = findInMemory(plan)
        if let hit, hit.steps == plan.stepCount { return end(task, inMemory: hit.image) }
        let now = clock.now()
        var actions = Machine.Actions()
        lock.lock()
        // A job that ended since then stored its picture before it left the table, under this lock.
        while plan.mayBeInMemory, storedImages.load(ordering: .relaxed) != known, !machine.hasJob(plan.finalKey) {
            known = storedImages.load(ordering: .acquiring)
            lock.unlock()
            hit = findInMemory(plan)
            if let hit, hit.steps == plan.stepCount { return end(task, inMemory: hit.image) }
            lock.lock()
        }
        guard phase == .running || (phase == .finishing && wasTaken) else {
            lock.unlock()
            return task.didEnd(JobResult(.failure(shutDown(plan.url))))
        }
        guard wasTaken || machine.admitsTask else {
            lock.unlock()
            return task.didEnd(JobResult(.failure(overloaded(plan.url))))
        }
        let (isShared, progress) = take(task, plan: plan, prefix: hit, into: &machine, now: now, actions: &actions)
        unlockAndPerform(actions)
        if let progress { task.didProgress(progress) }
        log(.trace, "task added") { [("url", plan.url.string), ("shared", "\(isShared)")] }
    }

    /// Puts a task into the engine's machine. Called with the lock held.
    ///
    /// - Parameter prefix: what memory has of it already.
    /// - Returns: whether there was a job that it joined, and what that has told of its body: a transfer that stalls
    ///   has no next byte to tell it with.
    @discardableResult
    func take(
        _ task: ImageTask, plan: RequestPlan, prefix: MemoryHit?, into machine: inout Machine, now: MonotonicTime,
        actions: inout Machine.Actions
    ) -> (isShared: Bool, progress: LoadProgress?) {
        let (id, joined) = machine.taskAdded(
            task, steps: plan.stepCount, done: prefix?.steps ?? 0, step: { step($0, of: plan) },
            priority: task.priority, now: now, actions: &actions
        ) { position, id in
            let job = makeJob(position, id: id, plan: plan)
            if let prefix, position == prefix.steps { job.feed(JobResult(.image(prefix.image))) }
            return job
        }
        counters.tasks += 1
        if joined > 0 { counters.sharedTasks += 1 }
        note(machine.takeJournal(), of: plan, at: now)
        // What its owner said meanwhile counts.
        if let latest = task.wasAdded(id, isShared: joined > 0) {
            machine.taskPriorityChanged(id, to: latest, now: now, actions: &actions)
        } else {
            machine.taskCancelled(id, now: now, actions: &actions)
        }
        let isTold = joined > 0 && task.hearsProgress
        return (joined > 0, isTold ? (machine.firstJob(of: id) as? FetchJob)?.progress : nil)
    }

    func cancelTask(_ id: Machine.TaskID) {
        let now = clock.now()
        // The task is let go of outside the lock.
        var task: ImageTask?
        change { machine, actions in
            task = machine.taskCancelled(id, now: now, actions: &actions)
        }
        withExtendedLifetime(task) {}
    }

    /// The highest priority of those who wait for the job now; `nil` where nobody does.
    func priority(of id: Machine.JobID) -> LoadPriority? {
        lock.withLock { machine.priority(of: id) }
    }

    /// A job that was started is about to end without having done anything.
    func startWasInVain(_ job: EngineJob) {
        lock.withLock { machine.startWasInVain(job.id) }
    }

    /// Looks something up in the machine, with the lock held.
    func readMachine(_ body: (borrowing Machine) -> Void) {
        lock.lock()
        body(machine)
        lock.unlock()
    }

    func setPriority(of id: Machine.TaskID, to priority: LoadPriority) {
        let now = clock.now()
        change { machine, actions in
            machine.taskPriorityChanged(id, to: priority, now: now, actions: &actions)
        }
    }

    // MARK: Jobs

    /// The body begins anew: who subscribes before its first byte is told nothing.
    func forgetProgress(_ job: FetchJob) {
        lock.withLock { job.progress = nil }
    }

    func hasJob(_ key: JobKey) -> Bool {
        lock.withLock { machine.hasJob(key) }
    }

    /// A job's work has ended, well, badly, or because it was cancelled.
    func jobEnded(_ job: EngineJob, with result: JobResult, cachedAs key: JobKey? = nil) {
        job.result = result
        // What is stale or incomplete would hide what follows it.
        if let key, case .image(let image) = result.value, !image.isIncomplete,
            // What is stale in memory is known to be.
            !image.isStale || image.source == .memory,
            image.lifetime?.mayBeKept ?? true, !(image.lifetime?.isSuperseded ?? false),
            !image.head.varies(byAnyOf: harmlessFields), lock.withLock({ machine.hasTasks(job.id) })
        {
            cache.store(image, for: ImageCacheKey(key))
            storedImages.add(1, ordering: .relaxed)
        }
        jobsCameOn(CollectionOfOne(JobStep(ended: job)))
    }

    /// Jobs have ended or were redirected, several of them where they came on together.
    func jobsCameOn(_ steps: some Collection<JobStep>) {
        if hooks.log != nil { for step in steps { logged(step) } }
        let now = clock.now()
        change { machine, actions in
            for step in steps {
                switch step.event {
                case .succeeded: machine.jobSucceeded(step.job.id, now: now, actions: &actions)
                case .failed: machine.jobFailed(step.job.id, now: now, actions: &actions)
                case .moved(let lane, let group, let ahead, let hasStandIn):
                    machine.jobMoved(
                        step.job.id, to: lane, group: group, ahead: ahead, hasStandIn: hasStandIn, now: now,
                        actions: &actions)
                case .slept: machine.jobSlept(step.job.id, now: now, actions: &actions)
                case .woke: machine.jobWoke(step.job.id, now: now, actions: &actions)
                }
            }
        }
        for step in steps {
            run(step.grants)
            if step.isWaiting { step.job.waits() }
        }
    }

    /// The time of a job that waits for its turn is up. Nothing where it does not wait any more.
    func queuedJobFailed(_ job: EngineJob, with result: JobResult) {
        let now = clock.now()
        change { machine, actions in
            guard machine.isQueued(job.id) else { return }
            job.result = result
            machine.queuedJobFailed(job.id, now: now, actions: &actions)
        }
    }

    /// A server of this URL's origin speaks a version of HTTP that carries many exchanges on one connection.
    func originMultiplexes(_ url: ResourceURL) {
        let origin = url.originKey
        // Told with every answer: mostly it is known.
        if lock.withLock({ machine.originLimit(of: origin) == multiplexedLimit }) { return }
        let now = clock.now()
        change { machine, actions in
            machine.originLimitChanged(origin, to: multiplexedLimit, now: now, actions: &actions)
        }
    }

    /// Bytes have come: those who want to hear of it do.
    ///
    /// - Returns: how often somebody wants to see what there is; `nil` where nobody does.
    func didProgress(_ job: FetchJob, _ progress: LoadProgress) -> PreviewOptions? {
        var listeners: [ImageTask] = []
        var previews: PreviewOptions?
        lock.withLock {
            job.progress = progress
            machine.forEachTask(of: job.id) { _, task in
                if task.hearsProgress { listeners.append(task) }
                if let options = task.previewOptions { previews = options.together(with: previews) }
            }
        }
        for task in listeners { task.didProgress(progress) }
        return previews
    }

    // MARK: Carrying out

    /// Tells the machine something, and does what it says.
    func change(_ body: (inout Machine, inout Machine.Actions) -> Void) {
        changeEnding { machine, actions in
            body(&machine, &actions)
            return []
        }
    }

    /// Tells the machine something, and does what it says.
    ///
    /// - Parameter body: returns the tasks that it took out of the machine, and how they end.
    func changeEnding(_ body: (inout Machine, inout Machine.Actions) -> [(ImageTask, JobResult)]) {
        var actions = Machine.Actions()
        let now = telemetry?.now
        lock.lock()
        let ended = body(&machine, &actions)
        if let now { note(machine.takeJournal(), at: now) }
        unlockAndPerform(actions, ended: ended)
    }

    /// Releases the lock and does what the machine said; ends what was taken out of it.
    private func unlockAndPerform(_ actions: Machine.Actions, ended: [(ImageTask, JobResult)] = []) {
        var fallingNow = ended.count
        // With the lock held: another thread may start the job as soon as it is released.
        actions.forEach { action in
            switch action {
            case .refuse(let job, let refusal): job.refuse(unavailable(refusal))
            case .feed(let job, let from):
                if let result = from.result { job.feed(result) }
            case .deliver(let task, let from):
                if let result = from.result, !way(on: task, after: result).isEnd { fallingNow += 1 }
            case .start, .cancel, .discard, .reprioritize, .scheduleProbe: break
            }
        }
        falling += fallingNow
        var idle = takeIdleWaiters()
        lock.unlock()
        perform(actions)
        for (task, result) in ended { task.didEnd(result) }
        if fallingNow > 0 {
            idle += lock.withLock {
                falling -= fallingNow
                return takeIdleWaiters()
            }
        }
        for waiter in idle { waiter.open() }
    }

    /// Those who wait until nothing is under way, where that is so. Called with the lock held.
    private func takeIdleWaiters() -> [Bridge] {
        guard !idleWaiters.isEmpty, machine.isIdle, falling == 0 else { return [] }
        defer { idleWaiters = [] }
        return idleWaiters
    }

    /// Does what the machine said, in its order, with no lock held, but what is given up first: what is begun and given up
    /// in one go is not begun. What is delivered comes last, so that work begins before and a callback queue that sleeps is
    /// woken once for all of it.
    private func perform(_ actions: Machine.Actions) {
        defer { telemetry?.handOut() }
        actions.forEach { action in
            if case .cancel(let job) = action { job.cancel() }
        }
        var delivers = false
        actions.forEach { action in
            switch action {
            case .start(let job, let priority): job.start(priority: priority)
            case .discard(let job): job.discard()
            case .refuse(let job, let refusal):
                if !refusal.hasStandIn { job.discard() }
            case .scheduleProbe(let origin, let time): scheduleProbe(origin, at: time)
            case .reprioritize(let job, let priority): job.reprioritize(priority)
            case .cancel, .feed: break
            case .deliver: delivers = true
            }
        }
        guard delivers else { return }
        var run = ImageTask.callbackRun()
        var failing: [(ImageTask, JobResult)] = []
        var goingOn: [(ImageTask, JobResult)] = []
        actions.forEach { action in
            guard case .deliver(let task, let from) = action, let result = from.result else { return }
            switch way(on: task, after: result) {
            case .end: task.didEnd(result, in: &run)
            case .behindStale: goingOn.append((task, result))
            case .elsewhere(let error):
                failing.append((task, JobResult(.failure(error), isOfStored: result.isOfStored)))
            }
        }
        run.submit()
        for (task, result) in failing { fail(task, result, wasTaken: true) }
        for (task, result) in goingOn { goOn(task, behind: result) }
    }

    // MARK: Ending

    /// Takes no more tasks, and returns when the last has ended and all work has stopped.
    func shutdown(_ mode: ImagePipeline.ShutdownMode) async {
        let bridge = Bridge()
        let now = clock.now()
        changeEnding { machine, actions in
            var ended: [(ImageTask, JobResult)] = []
            if phase != .stopping { phase = mode == .finish ? .finishing : .stopping }
            if mode == .cancel {
                var ids: [Machine.TaskID] = []
                machine.forEachTask { id, _ in ids.append(id) }
                for id in ids {
                    guard let task = machine.taskCancelled(id, now: now, actions: &actions) else { continue }
                    let message = "The pipeline was shut down before this load had ended."
                    let error = LoadError(.shutDown, stage: .request, url: task.plan?.url.string, message: message)
                    ended.append((task, JobResult(.failure(error))))
                }
            }
            idleWaiters.append(bridge)
            return ended
        }
        await bridge.wait()
        await turns.wait()
        await storing.wait()
        if ownsStore { await store?.shutdown() }
        for transport in ownedTransports { await transport.shutdown() }
    }

    var statistics: ImagePipeline.Statistics {
        var statistics = lock.withLock {
            var statistics = counters
            statistics.exchanges = machine.startedFetches
            statistics.tasksUnderWay = machine.taskCount
            statistics.jobsUnderWay = machine.jobCount
            statistics.waitingJobs = machine.waitingJobs
            statistics.runningJobs = machine.runningJobs
            return statistics
        }
        endings.read(into: &statistics)
        (statistics.bodyBytesInFlight, statistics.pausedTransfers) = bodies.withLock { ($0.heldBytes, $0.pausedCount) }
        return statistics
    }
}
