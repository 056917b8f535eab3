import InflightConcurrency
internal import Synchronization

/// Owns the machine behind a lock: reports events to it, and performs its actions after releasing the lock. No caller's
/// code runs while the lock is held.
// Unchecked: mutable properties are accessed only while `lock` is held, or synchronize themselves.
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
    /// The header fields that are sent by default.
    let usualFields: HTTPFields
    let hooks: Hooks
    /// If nil, there is no observer.
    let telemetry: Telemetry?
    let laneLimits: [PipelineEvent.Lane: Int]
    let store: (any ResponseStore)?
    let retry: RetryPolicy?
    let storing: StoreWork
    let retryBudgets = RetryBudgets()
    let rates: RateWatch
    let random: @Sendable () -> Double
    let hasCircuitBreaker: Bool
    /// The number of origins whose connection failures the machine records.
    let failingOrigins = Atomic(0)
    /// The memory held by bodies in flight. Its lock is taken inside the locks of fetches, never the other way round.
    let bodies: Guarded<BodyBudget<FetchJob.Paused>>
    let turns: BodyTurns
    let bodyLimit: Int64
    let temporaryFolder: String?
    let decodeMemory: Guarded<MemoryBudget<DecodeJob>>
    let maximumDecodeTime: Duration?
    let revalidations = Guarded(0)
    /// The number of images passed to the image cache.
    let storedImages = Atomic(0)
    private let ownsStore: Bool
    let transports: [String: any Transport]
    /// The transports that this engine made, and shuts down.
    private let ownedTransports: [any Transport]
    private let multiplexedLimit: Int

    private let lock = Lock()
    private var machine: Machine
    private var phase = Phase.running
    private var idleWaiters: [Bridge] = []
    /// Tasks that have left the machine and have not ended: those that failed and have a fallback to try, and those
    /// whose ending is about to be set.
    private var falling = 0
    private var counters = ImagePipeline.Statistics()
    let endings = EndingCounters()

    private enum Phase {
        case running
        /// New tasks are rejected; admitted ones are finished.
        case finishing
        /// Nothing continues: new tasks and fallbacks are rejected.
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
        // High enough that a store never waits for lookups; it has its own few threads.
        var storeLane = lane(limit: 32)
        var fetchLane = lane(limit: max(1, configuration.maximumConcurrentFetches))
        fetchLane.groupLimit = max(1, configuration.maximumConcurrentFetchesPerOrigin)
        // A quarter of the slots, so that prefetching never makes a visible image wait for a whole download.
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

    /// Creates a task and starts it. Never calls back inside this call.
    func add(_ request: ImageRequest, goal: RequestPlan.Goal, sink: CallbackSink?) -> ImageTask {
        let task = make(request, goal: goal, sink: sink, hearsProgress: sink?.progress != nil)
        begin(task)
        return task
    }

    /// Creates a task that starts only with ``begin(_:)``, for callers that must be able to cancel it first.
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

    /// - Parameter wasTaken: whether the task was admitted before. A graceful shutdown finishes such tasks.
    func submit(_ task: ImageTask, plan: RequestPlan, wasTaken: Bool = false) {
        // A task that was cancelled before it is submitted starts nothing.
        if task.isCancelled { return }
        // Read before the lookup, which runs without the lock because the cache may be the caller's code.
        var known = storedImages.load(ordering: .acquiring)
        var hit = findInMemory(plan)
        if let hit, hit.steps == plan.stepCount { return end(task, inMemory: hit.image) }
        let now = clock.now()
        var actions = Machine.Actions()
        lock.lock()
        // A job that ended since then stored its image before it left the table, under this lock.
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

    /// Adds a task to the machine. Called with the lock held.
    ///
    /// - Parameter prefix: the result of the task's first steps, if it is in memory.
    /// - Returns: whether the task joined an existing job, and that job's progress so far. A stalled transfer would
    ///   otherwise report no progress to the task.
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
        // Apply a priority change or a cancellation that came meanwhile.
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
        // Release the task outside the lock.
        var task: ImageTask?
        change { machine, actions in
            task = machine.taskCancelled(id, now: now, actions: &actions)
        }
        withExtendedLifetime(task) {}
    }

    /// Returns the highest priority of the job's subscribers, or nil if it has none.
    func priority(of id: Machine.JobID) -> LoadPriority? {
        lock.withLock { machine.priority(of: id) }
    }

    /// A started job is about to end without having done anything.
    func startWasInVain(_ job: EngineJob) {
        lock.withLock { machine.startWasInVain(job.id) }
    }

    /// Calls `body` with the machine while the lock is held.
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

    /// Clears the job's progress: the body starts over, and a task that joins before its first byte gets none.
    func forgetProgress(_ job: FetchJob) {
        lock.withLock { job.progress = nil }
    }

    func hasJob(_ key: JobKey) -> Bool {
        lock.withLock { machine.hasJob(key) }
    }

    /// A job has succeeded, failed, or stopped after it was cancelled.
    func jobEnded(_ job: EngineJob, with result: JobResult, cachedAs key: JobKey? = nil) {
        job.result = result
        // A stale or incomplete image would hide the image that follows it.
        if let key, case .image(let image) = result.value, !image.isIncomplete,
            // A stale image from memory is known to be stale.
            !image.isStale || image.source == .memory,
            image.lifetime?.mayBeKept ?? true, !(image.lifetime?.isSuperseded ?? false),
            !image.head.varies(byAnyOf: harmlessFields), lock.withLock({ machine.hasTasks(job.id) })
        {
            cache.store(image, for: ImageCacheKey(key))
            storedImages.add(1, ordering: .relaxed)
        }
        jobsCameOn(CollectionOfOne(JobStep(ended: job)))
    }

    /// Jobs have ended or entered another state. Jobs that advanced together are passed together.
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

    /// The deadline of a queued job has passed. Does nothing if the job is not queued any more.
    func queuedJobFailed(_ job: EngineJob, with result: JobResult) {
        let now = clock.now()
        change { machine, actions in
            guard machine.isQueued(job.id) else { return }
            job.result = result
            machine.queuedJobFailed(job.id, now: now, actions: &actions)
        }
    }

    /// The server of this URL's origin speaks an HTTP version that multiplexes exchanges on one connection.
    func originMultiplexes(_ url: ResourceURL) {
        let origin = url.originKey
        // Called for every response, and mostly known.
        if lock.withLock({ machine.originLimit(of: origin) == multiplexedLimit }) { return }
        let now = clock.now()
        change { machine, actions in
            machine.originLimitChanged(origin, to: multiplexedLimit, now: now, actions: &actions)
        }
    }

    /// Bytes have arrived. Passes the progress to the tasks that observe it.
    ///
    /// - Returns: preview options that serve all subscribers that want previews, or nil if none does.
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

    // MARK: Actions

    /// Passes an event to the machine and performs the resulting actions.
    func change(_ body: (inout Machine, inout Machine.Actions) -> Void) {
        changeEnding { machine, actions in
            body(&machine, &actions)
            return []
        }
    }

    /// Passes an event to the machine and performs the resulting actions.
    ///
    /// - Parameter body: returns the tasks that it removed from the machine, and their results.
    func changeEnding(_ body: (inout Machine, inout Machine.Actions) -> [(ImageTask, JobResult)]) {
        var actions = Machine.Actions()
        let now = telemetry?.now
        lock.lock()
        let ended = body(&machine, &actions)
        if let now { note(machine.takeJournal(), at: now) }
        unlockAndPerform(actions, ended: ended)
    }

    /// Releases the lock, performs the machine's actions, and ends the tasks that were removed from the machine.
    private func unlockAndPerform(_ actions: Machine.Actions, ended: [(ImageTask, JobResult)] = []) {
        var fallingNow = ended.count
        // With the lock held, because another thread may start the job as soon as it is released.
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

    /// Takes the callers that wait for the engine to become idle, if it is. Called with the lock held.
    private func takeIdleWaiters() -> [Bridge] {
        guard !idleWaiters.isEmpty, machine.isIdle, falling == 0 else { return [] }
        defer { idleWaiters = [] }
        return idleWaiters
    }

    /// Performs the machine's actions in order, with no lock held. Cancellations come first, so that a job that is
    /// started and cancelled by one event never begins. Deliveries come last, so that work begins before them and a
    /// sleeping callback queue is woken once for all of them.
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

    // MARK: Shutdown

    /// Rejects new tasks, and returns when the last task has ended and all work has stopped.
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
                    let message = "The pipeline was shut down before the load ended."
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
