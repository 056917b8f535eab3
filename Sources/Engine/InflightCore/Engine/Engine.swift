import InflightConcurrency
internal import Synchronization

/// The engine of a pipeline: holds what its jobs use, and runs their graph. It reports events to the ``JobGraph`` under
/// one lock, and performs the graph's actions after releasing it. No caller's code runs while the lock is held.
// Unchecked: mutable properties are accessed only while `lock` is held, or synchronize themselves.
final class Engine: @unchecked Sendable {
    let clock: any EngineClock
    let log: Log
    let images: CachedImages
    let storage: ResponseStorage
    let transports: TransportTable
    let codecs: CodecRegistry
    private let decoders: [String: CodecRegistry]
    /// Decodes, processors, and turns of bodies.
    let workers: any WorkExecutor
    let decodeLimits: DecodeLimits
    let willSend: (@Sendable (inout ImagePipeline.OutgoingRequest) async throws -> Void)?
    let didReceive: (@Sendable (ImagePipeline.ReceivedHead) async throws -> ImagePipeline.HeadDecision)?
    /// The executor of hooks and sources.
    let taskExecutor: (any TaskExecutor)?
    let codings: AcceptedCodings
    /// The cookies that responses have set; nil if the pipeline keeps none.
    let cookies: ImagePipeline.CookieStore?
    /// The header fields that are sent by default.
    let defaultFields: HTTPFields
    let fieldsExcludedFromKey: Set<String>
    let retries: RetryController
    /// The policy of requests without their own. If nil, they are not repeated.
    private let retryPolicy: RetryPolicy?
    let checker: FetchChecker
    /// The memory held by bodies in flight. Its lock is taken inside the locks of fetches, never the other way round.
    let bodies: Guarded<BodyBudget>
    let bodyLimit: Int64
    /// The maximum number of bytes of one body, and the latest deadline, whatever a request says.
    let maximumBodyBytes: Int64
    let maximumDeadline: Duration?
    /// The order of loads whose requests name none.
    private let order: ImagePipeline.LoadOrder
    let turns: BodyProcessingQueue
    let temporaryFolder: String?
    let endings = EndingCounters()
    let deadlines: TaskDeadlines
    /// The number of revalidations in flight that only the engine observes.
    private let refreshes = Guarded(0)
    /// If nil, there is no observer.
    let telemetry: Telemetry?
    let laneLimits: [ImagePipeline.Event.Lane: Int]
    let hasCircuitBreaker: Bool
    private let random: @Sendable () -> Double
    private let multiplexedLimit: Int
    /// The number of origins whose connection failures the graph records.
    private let failingOrigins = Atomic(0)
    /// Whether a request has had limits of its own for decoding, or left out the memory cache. Until then, jobs need
    /// not ask their tasks.
    private let tasksDiffer = Atomic(false)

    private let lock = Lock()
    private var graph: JobGraph
    private var phase = Phase.running
    private var idleWaiters: [Bridge] = []
    /// The number of tasks that have left the graph but have not ended: failed tasks with a fallback, and tasks whose
    /// ending is about to be set.
    private var tasksInTransit = 0
    /// The numbers of tasks that were added, and of those that subscribed to a job in progress.
    private var addedTasks = 0
    private var coalescedTasks = 0

    private enum Phase {
        case running
        /// New tasks are rejected; admitted ones are finished.
        case finishing
        /// Nothing continues: new tasks and fallbacks are rejected.
        case stopping
    }

    /// - Throws: errors of transports and of a store.
    init(_ configuration: ImagePipeline.Configuration) throws(LoadError) {
        clock = configuration.clock
        log = Log(hook: configuration.log)
        images = CachedImages(configuration)
        // Created before the store, so that a pipeline without a transport opens no store.
        transports = try TransportTable(configuration)
        storage = try ResponseStorage(configuration, log: log)
        codecs = configuration.codecs
        decoders = configuration.decoders
        let threads = max(1, configuration.decodeConcurrency)
        workers = configuration.decodeExecutor ?? WorkerThreads(count: threads, name: "inflight-decode")
        decodeLimits = DecodeLimits(
            memory: configuration.maximumDecodeMemory, time: configuration.maximumDecodeTime,
            clock: configuration.clock)
        willSend = configuration.willSend
        didReceive = configuration.didReceive
        taskExecutor = configuration.taskExecutor
        codings = AcceptedCodings(configuration.contentCodings)
        cookies = configuration.cookies
        var defaultFields = HTTPFields([("Accept", "image/*,*/*;q=0.8")])
        if let accepted = codings.accepted { defaultFields.append("Accept-Encoding", accepted) }
        self.defaultFields = defaultFields
        fieldsExcludedFromKey = images.fieldsExcludedFromKey
        retries = RetryController(clock: configuration.clock, random: configuration.random)
        retryPolicy = configuration.retry
        checker = FetchChecker(clock: configuration.clock)
        deadlines = TaskDeadlines(clock: configuration.clock)
        bodyLimit = configuration.maximumBodyBytesInFlight
        maximumBodyBytes = configuration.maximumBodyBytes
        maximumDeadline = configuration.maximumDeadline
        order = configuration.order
        bodies = Guarded(BodyBudget(limit: bodyLimit, transfers: configuration.maximumConcurrentFetches))
        turns = BodyProcessingQueue(executor: workers)
        temporaryFolder = configuration.temporaryFolder
        telemetry = configuration.observer.map { Telemetry($0, clock: configuration.clock) }
        hasCircuitBreaker = configuration.circuitBreaker != nil
        random = configuration.random
        multiplexedLimit = configuration.maximumStreamsPerOrigin

        typealias LaneConfiguration = Lane<JobGraph.JobID, OriginKey>.Configuration
        // High enough to keep the store busy. The store limits itself by its few threads.
        var storeLane = LaneConfiguration(limit: 32)
        var fetchLane = LaneConfiguration(limit: max(1, configuration.maximumConcurrentFetches))
        fetchLane.groupLimit = max(1, configuration.maximumConcurrentFetchesPerOrigin)
        // Slots are reserved, so that a visible image never waits for whole downloads of prefetching.
        storeLane.reserve = LaneConfiguration.reserve(of: storeLane.limit)
        fetchLane.reserve = LaneConfiguration.reserve(of: fetchLane.limit)
        fetchLane.reservesInGroups = true
        let decodeLane = LaneConfiguration(limit: threads)
        graph = JobGraph(storeLane: storeLane, fetchLane: fetchLane, decodeLane: decodeLane)
        if telemetry != nil { graph.journal = [] }
        graph.circuits = configuration.circuitBreaker.map { OriginCircuits($0) }
        graph.maximumTasks = configuration.maximumQueuedTasks
        graph.maximumTasksOfOrigin = configuration.maximumQueuedTasksPerOrigin
        laneLimits = [.store: storeLane.limit, .fetch: fetchLane.limit, .decode: decodeLane.limit]
        graph.makeJob = { [unowned self] plan, position, id in makeJob(position, id: id, plan: plan) }
    }

    // MARK: Planning

    /// Returns the plan of a request, or the reason why it cannot be loaded. Calls processors for their identity.
    func subject(of request: ImageRequest, goal: RequestPlan.Goal) -> ImageTask.Subject {
        do throws(LoadError) {
            let plan = try images.plan(request, goal: goal)
            guard let error = unsupported(plan) else { return .plan(plan) }
            return .rejected(ImageTask.RejectedRequest(request, error, goal, key: plan.finalKey))
        } catch {
            return .rejected(ImageTask.RejectedRequest(request, error, goal))
        }
    }

    func plan(
        _ request: ImageRequest, goal: RequestPlan.Goal, varying: Set<String> = [],
        purpose: RequestPlan.Purpose = .usual, cookies: ImagePipeline.CookieStore.Selection? = nil
    ) throws(LoadError) -> RequestPlan {
        let plan = try images.plan(request, goal: goal, varying: varying, purpose: purpose, cookies: cookies)
        if let error = unsupported(plan) { throw error }
        return plan
    }

    /// Returns the codecs that decode the bytes of requests with this ``ImageRequest/decoder``.
    func codecs(named name: String?) -> CodecRegistry { name.flatMap { decoders[$0] } ?? codecs }

    /// Returns an error if the request names an unknown decoder, or if no transport serves the scheme of the URL,
    /// unless the program has put the image into the memory cache.
    private func unsupported(_ plan: RequestPlan) -> LoadError? {
        if !plan.request.hasDefaults, let name = plan.request.decoder, decoders[name] == nil {
            return LoadError(
                .invalidRequest, stage: .request, url: plan.url.string,
                message: "Unknown decoder '\(name)'. Add it to the configuration's decoders.")
        }
        guard plan.request.source == nil, transports[plan.url.scheme] == nil,
            !plan.goal.makesImage || images.find(plan) == nil
        else { return nil }
        return transports.unsupported(plan.url)
    }

    /// Returns an error if the request may not be sent, and no stored response could serve it.
    func refusal(toFetch plan: RequestPlan) -> LoadError? {
        guard !plan.request.hasDefaults, plan.request.cachePolicy == .onlyCached, plan.url.origin != nil,
            plan.request.source == nil, storage.store == nil || !plan.mayBeStored
        else { return nil }
        return LoadError(
            .notStored, stage: .request, url: plan.url.string,
            message: storage.store == nil
                ? "The cache policy forbids a request to the server, and the pipeline has no store."
                : "The cache policy forbids a request to the server, and no stored response serves this one.")
    }

    // MARK: Tasks

    /// The outcome of adding a task.
    enum Admission {
        /// `progress` is that of the joined job. A stalled transfer would otherwise report none to the task.
        case added(isShared: Bool, progress: ImageTask.Progress?)
        /// An image was stored since the lookup, and may be the task's.
        case lookUpAgain
        case refused(LoadError)
    }

    /// Adds a task, which subscribes to the last job of its plan.
    ///
    /// - Parameters:
    ///   - prefix: the result of the task's first steps, if it is in memory.
    ///   - wasAdmitted: whether the task was admitted before. A graceful shutdown finishes such tasks.
    ///   - isOutdated: whether an image was stored since the lookup in memory.
    func add(
        _ task: ImageTask, plan: RequestPlan, prefix: MemoryHit?, wasAdmitted: Bool, now: MonotonicTime,
        isOutdated: () -> Bool
    ) -> Admission {
        var actions = JobGraph.Actions()
        lock.lock()
        // A job that ended since the lookup stored its image before it left the table, under this lock.
        if isOutdated(), !graph.hasJob(plan.finalKey) {
            lock.unlock()
            return .lookUpAgain
        }
        guard phase == .running || (phase == .finishing && wasAdmitted) else {
            lock.unlock()
            return .refused(
                LoadError(
                    .shutDown, stage: .request, url: plan.url.string,
                    message: "The pipeline was shut down. Create a new one."))
        }
        if !wasAdmitted, let limit = graph.exceededLimit(by: task) {
            lock.unlock()
            return .refused(
                LoadError(
                    .overloaded, stage: .request, url: plan.url.string,
                    message: "Too many loads in progress. Try again later, or raise \(limit)."))
        }
        let (isShared, progress) = enter(task, plan: plan, prefix: prefix, into: &graph, now: now, actions: &actions)
        advance(unlockAndPerform(actions))
        return .added(isShared: isShared, progress: progress)
    }

    /// Adds a task to the graph. Called with the lock held.
    ///
    /// - Returns: whether the task joined an existing job, and that job's progress if the task observes it.
    @discardableResult
    private func enter(
        _ task: ImageTask, plan: RequestPlan, prefix: MemoryHit?, into graph: inout JobGraph, now: MonotonicTime,
        actions: inout JobGraph.Actions
    ) -> (isShared: Bool, progress: ImageTask.Progress?) {
        noteOptions(of: plan.request)
        let (id, joined) = graph.taskAdded(
            task, plan: plan, first: storage.store != nil && plan.mayBeStored ? .store : .fetch,
            done: prefix?.steps ?? 0, input: prefix.map { JobResult(.image($0.image)) }, priority: task.priority,
            isNewestFirst: (task.order ?? order) == .lastInFirstOut,
            observes: task.observesFetch, now: now, actions: &actions)
        addedTasks += 1
        if joined > 0 { coalescedTasks += 1 }
        telemetry?.record(graph.takeJournal(), of: plan, at: now)
        // Apply a priority change or a cancellation that arrived meanwhile.
        if let latest = task.wasAdded(id, isShared: joined > 0) {
            graph.taskPriorityChanged(id, to: latest, now: now, actions: &actions)
        } else {
            graph.taskCancelled(id, now: now, actions: &actions)
        }
        let hasLimits = !task.request.hasDefaults
        guard joined > 0 || hasLimits,
            let job = graph.firstJob(of: id, makingIf: { hasLimits || !$0.request.hasDefaults }) as? FetchJob
        else { return (joined > 0, nil) }
        if job.added(task, as: id, at: now, isOver: { !graph.isAlive($0) }) { actions.append(.limitsChanged(job)) }
        guard joined > 0, task.observesFetch else { return (joined > 0, nil) }
        job.hasNewObserver.store(true, ordering: .relaxed)
        return (true, task.observesProgress ? job.stripe.lock.withLock { job.fetch }?.progress : nil)
    }

    /// A task has this request now.
    func noteOptions(of request: ImageRequest) {
        guard !request.hasDefaults else { return }
        if !request.writesMemory || PixelJob.Limits(request.limits) != PixelJob.Limits(ImageRequest.Limits()) {
            tasksDiffer.store(true, ordering: .releasing)
        }
    }

    /// Creates the job of a plan's step. Called with the lock held.
    private func makeJob(_ position: Int, id: JobGraph.JobID, plan: RequestPlan) -> Job {
        switch position {
        case 0 where plan.isProcessedLookUp: ProcessedLookUpJob(engine: self, id: id, plan: plan)
        case 0 where plan.request.source != nil: SourceJob(engine: self, id: id, plan: plan)
        case 0: FetchJob(engine: self, id: id, plan: plan)
        default: PixelJob(engine: self, id: id, plan: plan, processor: position - 2)
        }
    }

    func cancelTask(_ id: JobGraph.TaskID) {
        let now = clock.now()
        // Release the task outside the lock.
        var task: ImageTask?
        change { graph, actions in
            task = leave(id, &graph, now: now, actions: &actions)
        }
        withExtendedLifetime(task) {}
    }

    /// A task leaves the graph. Called with the lock held.
    private func leave(
        _ id: JobGraph.TaskID, _ graph: inout JobGraph, now: MonotonicTime, actions: inout JobGraph.Actions
    ) -> ImageTask? {
        if let fetch = graph.firstJob(of: id) as? FetchJob, fetch.hasMixedLimits.load(ordering: .relaxed) {
            actions.append(.limitsChanged(fetch))
        }
        return graph.taskCancelled(id, now: now, actions: &actions)
    }

    /// The deadlines of these tasks have passed: ends those that have no result yet, with a stale one if there is any.
    /// All of them leave their jobs in one step, so that none of them keeps a job for another.
    func expire(_ tasks: [(task: ImageTask, stale: JobResult?)]) {
        let now = clock.now()
        let stale = tasks.map { task, stale in
            stale ?? task.plan.flatMap { images.standIn($0) }.map { JobResult(.image($0)) }
        }
        changeEnding { graph, actions in
            zip(tasks, stale).map { pending, stale in
                var stage = LoadError.Stage.request
                if let id = pending.task.graphID {
                    if graph.isAlive(id) { stage = graph.firstJob(of: id) is PixelJob ? .decode : .fetch }
                    _ = leave(id, &graph, now: now, actions: &actions)
                }
                return Leaving(pending.task, stale ?? JobResult(.failure(pending.task.deadlineExceeded(in: stage))))
            }
        }
    }

    func setPriority(of id: JobGraph.TaskID, to priority: ImageRequest.Priority) {
        let now = clock.now()
        change { graph, actions in
            graph.taskPriorityChanged(id, to: priority, now: now, actions: &actions)
        }
    }

    // MARK: Subscribers of a job

    /// Returns the laxest limits of a job's tasks, in each respect.
    func laxestLimits(of job: Job) -> ImageRequest.Limits {
        read { graph in
            var laxest: ImageRequest.Limits?
            graph.forEachTask(of: job.id) { _, task in laxest = laxest?.together(with: task.limits) ?? task.limits }
            return laxest ?? job.plan.request.limits
        }
    }

    /// Returns the policy of a job's tasks with the most retries; nil without a policy.
    func retryPolicy(of job: Job) -> RetryPolicy? {
        var policy: RetryPolicy?
        for own in tasks(of: job.id).compactMap({ $0.latestRequest.retry ?? retryPolicy })
        where own.maximumRetries > policy?.maximumRetries ?? -1 {
            policy = own
        }
        return policy
    }

    /// Returns the different limits of a job's tasks for decoding; none if all have those of the job's request.
    func decodeLimits(of job: Job) -> Set<PixelJob.Limits> {
        guard tasksDiffer.load(ordering: .acquiring) else { return [] }
        let own = PixelJob.Limits(job.plan.request.limits)
        return read { graph in
            var others: Set<PixelJob.Limits> = []
            var isOwn = false
            graph.forEachTask(of: job.id) { _, task in
                let limits = PixelJob.Limits(task.limits)
                if limits == own { isOwn = true } else { others.insert(limits) }
            }
            return others.isEmpty || !isOwn ? others : others.union([own])
        }
    }

    /// Returns an error if `error` returns one for each of a job's tasks. If it does only for some, these fail alone.
    func refuse(tasksOf job: Job, _ error: (ImageRequest.Limits) -> LoadError?) -> LoadError? {
        let now = clock.now()
        var errorForAll: LoadError?
        changeEnding { graph, actions in
            var ended: [Leaving] = []
            errorForAll = refuse(tasksOf: job, error, &graph, now: now, ended: &ended, actions: &actions)
            return ended
        }
        return errorForAll
    }

    /// Does the same. Called with the lock held.
    private func refuse(
        tasksOf job: Job, _ error: (ImageRequest.Limits) -> LoadError?, _ graph: inout JobGraph, now: MonotonicTime,
        ended: inout [Leaving], actions: inout JobGraph.Actions
    ) -> LoadError? {
        var refused: [(id: JobGraph.TaskID, error: LoadError)] = []
        var isRefusedForAll = true
        graph.forEachTask(of: job.id) { id, task in
            if let error = error(task.limits) { refused.append((id, error)) } else { isRefusedForAll = false }
        }
        if isRefusedForAll { return refused.last?.error }
        for (id, error) in refused {
            guard let task = leave(id, &graph, now: now, actions: &actions) else { continue }
            let result = JobResult(.failure(error.about(url: job.plan.url.string)))
            ended.append(Leaving(task, result, mayContinue: true))
        }
        return nil
    }

    /// Returns the active time of a fetch at which the next total time of a task ends.
    func nextEnd(of job: FetchJob) -> Duration? { lock.withLock { job.totalTimes?.next } }

    /// Returns whether the total time is over for all tasks of a fetch, after that active time.
    func isOver(forTasksOf job: FetchJob, after time: Duration) -> Bool {
        lock.withLock {
            let (late, areAll) = Self.takeLateTasks(of: job, after: time, in: graph)
            for id in late { job.totalTimes?.add(id, endingAt: time) { _ in false } }
            return areAll
        }
    }

    /// Takes the tasks of a fetch whose total time is over after that active time. Called with the lock held.
    private static func takeLateTasks(
        of job: FetchJob, after time: Duration, in graph: borrowing JobGraph
    ) -> (late: [JobGraph.TaskID], areAll: Bool) {
        var late: [JobGraph.TaskID] = []
        while let id = job.totalTimes?.takeDue(at: time) { if graph.isAlive(id) { late.append(id) } }
        // None is late, or the last one has just left, and the job is about to be cancelled.
        if late.isEmpty { return ([], !graph.hasTask(of: job.id) { _, _ in true }) }
        let all = Set(late)
        return (late, !graph.hasTask(of: job.id, where: { id, _ in !all.contains(id) }))
    }

    /// Ends the tasks whose total time is over after an active time of their fetch, unless it is for all of them.
    ///
    /// - Returns: whether it is.
    func endLateTasks(of job: FetchJob, after time: Duration) -> Bool {
        let now = clock.now()
        var isOverForAll = false
        changeEnding { graph, actions in
            let (late, areAll) = Self.takeLateTasks(of: job, after: time, in: graph)
            if areAll {
                isOverForAll = true
                for id in late { job.totalTimes?.add(id, endingAt: time) { _ in false } }
                return []
            }
            return late.compactMap { id in
                leave(id, &graph, now: now, actions: &actions).map {
                    let error = job.timedOut(after: $0.limits.totalTimeout)
                    return Leaving($0, JobResult(.failure(error)), mayContinue: true)
                }
            }
        }
        return isOverForAll
    }

    /// Calls `body` with the graph while the lock is held.
    func read<Value>(_ body: (borrowing JobGraph) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(graph)
    }

    /// Returns the highest priority of the job's subscribers, or nil if it has none.
    func priority(of id: JobGraph.JobID) -> ImageRequest.Priority? { lock.withLock { graph.priority(of: id) } }

    /// Returns whether `condition` holds for a task that depends on the job, directly or through later jobs.
    func anyTask(of id: JobGraph.JobID, _ condition: (ImageTask) -> Bool) -> Bool {
        read { graph in graph.hasTask(of: id) { _, task in condition(task) } }
    }

    /// Returns whether a task that subscribes to the job's own result wants it in memory.
    func isWantedInMemory(_ id: JobGraph.JobID) -> Bool {
        guard tasksDiffer.load(ordering: .acquiring) else { return read { $0.hasOwnTask(of: id) } }
        return read { graph in
            var isWanted = false
            graph.forEachOwnTask(of: id) { task in isWanted = isWanted || task.writesMemory }
            return isWanted
        }
    }

    /// Returns the tasks that depend on the job.
    func tasks(of id: JobGraph.JobID) -> [ImageTask] {
        read { graph in
            var tasks: [ImageTask] = []
            graph.forEachTask(of: id) { _, task in tasks.append(task) }
            return tasks
        }
    }

    /// Closes a job, and those that depend on it, to new subscribers.
    ///
    /// - Returns: the tasks that depend on it.
    func close(_ id: JobGraph.JobID) -> [(id: JobGraph.TaskID, task: ImageTask)] {
        var tasks: [(id: JobGraph.TaskID, task: ImageTask)] = []
        change { graph, _ in
            graph.forEachTask(of: id) { tasks.append(($0, $1)) }
            graph.jobLeftTable(id)
        }
        return tasks
    }

    // MARK: Job events

    /// A job has succeeded, failed, or stopped after it was cancelled.
    func jobEnded(_ job: Job, with result: JobResult) {
        job.result = result
        advance(JobStep(ended: job))
    }

    /// A job has ended or entered another state.
    func advance(_ step: JobStep) { advance(CollectionOfOne(step)) }

    /// Jobs have ended or entered another state. Jobs that advanced together are passed together.
    func advance(_ steps: some Collection<JobStep>) {
        if steps.isEmpty { return }
        var next = apply(steps)
        // Jobs may end inside their start, and others start because of that.
        while !next.isEmpty { next = apply(next) }
    }

    /// - Returns: the steps of jobs that were started and ended at once.
    private func apply(_ steps: some Collection<JobStep>) -> [JobStep] {
        if log.hook != nil { for step in steps { logStep(step) } }
        let now = clock.now()
        let next = changeAndPerform { graph, actions in
            // Most steps end a job, whose result is delivered and whose slot starts another.
            actions.reserveCapacity(2 * steps.count)
            var ended: [Leaving] = []
            for step in steps {
                // Reported before the ending that it precedes, and as atomically: callbacks of one may start loads.
                if let progress = step.lastProgress, graph.isObserved(step.job.id) {
                    graph.forEachTask(of: step.job.id) { _, task in
                        if task.observesProgress { actions.append(.report(task, progress)) }
                    }
                }
                switch step.event {
                case .succeeded:
                    // As atomically, so that no task can join between the check of limits and the end.
                    if refusesResult(of: step, &graph, now: now, ended: &ended, actions: &actions) {
                        graph.jobFailed(step.job.id, now: now, actions: &actions)
                    } else {
                        graph.jobSucceeded(step.job.id, now: now, actions: &actions)
                    }
                case .failed: graph.jobFailed(step.job.id, now: now, actions: &actions)
                case .moved(let lane, let origin, let ahead, let hasStaleResponse):
                    graph.jobMoved(
                        step.job.id, to: lane, origin: origin, ahead: ahead, hasStaleResponse: hasStaleResponse,
                        now: now, actions: &actions)
                case .slept: graph.jobSlept(step.job.id, now: now, actions: &actions)
                case .woke: graph.jobWoke(step.job.id, now: now, actions: &actions)
                }
            }
            return ended
        }
        for step in steps {
            BodyBudget.resume(step.grants)
            if case .slept = step.event { step.job.didSuspend() }
        }
        return next
    }

    /// Ends the tasks whose limits the result of a job exceeds: those that joined late.
    ///
    /// - Returns: whether that is all of them. Then the error is the job's result.
    private func refusesResult(
        of step: JobStep, _ graph: inout JobGraph, now: MonotonicTime, ended: inout [Leaving],
        actions: inout JobGraph.Actions
    ) -> Bool {
        guard step.job.mayExceedLimits,
            let error = refuse(
                tasksOf: step.job, step.job.excess, &graph, now: now, ended: &ended, actions: &actions)
        else { return false }
        step.job.result = JobResult(.failure(error.about(url: step.job.plan.url.string)))
        return true
    }

    private func logStep(_ step: JobStep) {
        switch step.event {
        case .succeeded: log(.debug, "job succeeded") { step.job.logFields }
        case .failed:
            let error = step.job.result?.error
            log(error?.code == .cancelled ? .debug : .error, "job failed") {
                step.job.logFields + [("error", error?.description ?? "")]
            }
        // The code that caused the event has logged it.
        case .moved, .slept, .woke: break
        }
    }

    /// A started job is about to end without having done anything.
    func jobEndedWithoutWork(_ job: Job) { lock.withLock { graph.jobEndedWithoutWork(job.id) } }

    /// Bytes have arrived. Passes the progress to the tasks that observe it.
    ///
    /// - Returns: preview options that serve all subscribers that want previews, or nil if none does.
    func didProgress(_ fetch: Fetch, _ progress: ImageTask.Progress) -> ImageRequest.PreviewOptions? {
        var observers: [ImageTask] = []
        var previews: ImageRequest.PreviewOptions?
        lock.withLock {
            fetch.progress = progress
            guard graph.isObserved(fetch.job.id) else { return }
            graph.forEachTask(of: fetch.job.id) { _, task in
                if task.observesProgress { observers.append(task) }
                if let options = task.previewOptions { previews = options.together(with: previews) }
            }
        }
        for task in observers { task.didProgress(progress) }
        return previews
    }

    /// Clears the progress: the body starts over, and a task that joins before its first byte gets none.
    func clearProgress(_ fetch: Fetch) { lock.withLock { fetch.progress = nil } }

    /// - Returns: whether there is a slot for a preview of the job's partial result. ``endPreview()`` gives it back.
    func beginPreview(of id: JobGraph.JobID) -> Bool {
        var hasSlot = false
        change { graph, _ in hasSlot = graph.previewWanted(of: id) }
        return hasSlot
    }

    func endPreview() {
        let now = clock.now()
        change { graph, actions in graph.previewEnded(now: now, actions: &actions) }
    }

    // MARK: Origins

    /// The server of this URL's origin speaks an HTTP version that multiplexes exchanges on one connection.
    func originMultiplexes(_ url: ResourceURL) {
        let origin = url.originKey
        // Called for every response. In most calls, the limit is already set.
        if lock.withLock({ graph.originLimit(of: origin) == multiplexedLimit }) { return }
        let now = clock.now()
        change { graph, actions in
            graph.originLimitChanged(origin, to: multiplexedLimit, now: now, actions: &actions)
        }
    }

    /// An exchange has ended without any response, because there was no connection.
    func connectionFailed(_ job: Job, to url: ResourceURL) {
        guard hasCircuitBreaker, url.origin != nil else { return }
        let now = clock.now()
        let random = random()
        change { graph, actions in
            graph.connectionFailed(job.id, to: url.originKey, now: now, random: random, actions: &actions)
            failingOrigins.store(graph.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// A response has arrived. Costs one atomic load if no origin is failing.
    func originAnswered(_ job: Job, at url: @autoclosure () -> ResourceURL) {
        guard failingOrigins.load(ordering: .relaxed) > 0, case let url = url(), url.origin != nil else { return }
        let now = clock.now()
        change { graph, actions in
            graph.originAnswered(url.originKey, to: job.id, now: now, actions: &actions)
            failingOrigins.store(graph.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// Notifies the graph when a probe is due. The pipeline may be released before.
    private func scheduleProbe(_ origin: OriginKey, at time: MonotonicTime) {
        _ = clock.schedule(at: time) { [weak self] in
            guard let self else { return }
            let now = max(clock.now(), time)
            change { graph, actions in graph.probeIsDue(origin, now: now, actions: &actions) }
        }
    }

    // MARK: Revalidation

    /// The maximum number of concurrent revalidations. Beyond it, a later request for the URL starts the revalidation.
    private static let maximumRefreshes = 64

    /// Revalidates a stale response for the store, in a task that only the engine observes.
    func refresh(_ stale: RequestPlan) {
        var request = stale.request
        request.priority = .low
        request.fallbacks = []
        request.deadline = nil
        // Store the bytes that the revalidation fetches. It makes no processed image.
        request.storedRepresentation = .original
        request.downloadFolder = nil
        let purpose = RequestPlan.Purpose.revalidation(ofImage: stale.requiresImage)
        let goal = stale.goal == .response ? RequestPlan.Goal.response : .data
        guard let plan = try? plan(request, goal: goal, purpose: purpose), !read({ $0.hasJob(plan.finalKey) })
        else { return }
        let isAllowed = refreshes.withLock { count in
            guard count < Self.maximumRefreshes else { return false }
            count += 1
            return true
        }
        guard isAllowed else { return }
        let sink = CallbackSink(
            queue: .executor(EndingThread()), progress: nil, preview: nil,
            completion: .response { [refreshes] _, _ in refreshes.withLock { $0 -= 1 } })
        ImageTask(.plan(plan), engine: self, sink: sink, observesProgress: false).start()
    }

    // MARK: Vary

    /// A job's response varies by header fields that the key leaves out. Subscribers with other values of them leave
    /// and fetch for themselves; those whose values agree coalesce.
    func splitByVary(
        _ tasks: [(id: JobGraph.TaskID, task: ImageTask)], from plan: RequestPlan, by names: Set<String>
    ) {
        let varying = names.union(plan.varying)
        var reassignments: [Reassignment] = []
        // Tasks that agree share a fetch, which is sent with the priority of the first.
        let sorted = tasks.map { ($0.id, $0.task, $0.task.priority) }.sorted { $0.2 > $1.2 }
        for (id, task, _) in sorted {
            let request = task.currentRequest
            let mayAgree = request.agrees(with: plan.request, in: names)
            if mayAgree, plan.cookies == nil || !names.contains("cookie") { continue }
            // The cookies with which the task began. A fallback is another request.
            let first = task.plan.flatMap { $0.request.url == request.url ? $0 : nil }
            let own = Result { () throws(LoadError) in
                try self.plan(request, goal: task.goal, varying: varying, cookies: first?.cookies)
            }
            if mayAgree, case .success(let own) = own, own.agreesInCookies(with: plan) { continue }
            reassignments.append(Reassignment(id: id, task: task, plan: own))
        }
        guard !reassignments.isEmpty else { return }
        var isMoved = false
        while !isMoved {
            let count = images.count
            let hits = reassignments.map { departure in
                if case .success(let own) = departure.plan { images.find(own) } else { MemoryHit?.none }
            }
            isMoved = move(reassignments, hits: hits) { images.count != count }
        }
        log(.notice, "separate fetches, because the response varies") {
            [
                ("url", plan.url.string), ("by", names.sorted().joined(separator: ", ")),
                ("loads", "\(reassignments.count)"),
            ]
        }
    }

    /// A subscriber that a job's result is not valid for.
    private struct Reassignment {
        let id: JobGraph.TaskID
        let task: ImageTask
        /// The plan of its own fetch.
        let plan: Result<RequestPlan, LoadError>
    }

    /// Moves tasks to jobs of their own, in one step. If they moved one by one, the first could leave before the second
    /// joins, and cancel the job that both would have shared.
    ///
    /// - Parameters:
    ///   - hits: the images in memory for each of them.
    ///   - isOutdated: whether an image was stored since the lookup in memory.
    /// - Returns: whether they were moved. If not, an image of theirs may have been stored since the lookup.
    private func move(_ reassignments: [Reassignment], hits: [MemoryHit?], isOutdated: () -> Bool) -> Bool {
        let now = clock.now()
        var isMoved = false
        changeEnding { graph, actions in
            // A job that ended since the lookup stored its image before it left the table.
            let mayHaveMissed = zip(reassignments, hits).contains { departure, hit in
                guard case .success(let plan) = departure.plan, hit?.steps != plan.stepCount, plan.mayBeInMemory else {
                    return false
                }
                return !graph.hasJob(plan.finalKey)
            }
            if mayHaveMissed, isOutdated() { return [] }
            isMoved = true
            var ended: [Leaving] = []
            for (departure, hit) in zip(reassignments, hits) {
                guard let task = leave(departure.id, &graph, now: now, actions: &actions) else { continue }
                switch (hit, departure.plan) {
                case (let hit?, .success(let plan)) where hit.steps == plan.stepCount:
                    ended.append(Leaving(task, JobResult(.image(hit.image))))
                case (_, .failure(let error)): ended.append(Leaving(task, JobResult(.failure(error))))
                case (let hit, .success(let plan)):
                    if task.isCancelled { continue }
                    telemetry?.record(
                        .rerouted(why: "The response varies by header fields that differ."), task: task.number,
                        at: now)
                    enter(task, plan: plan, prefix: hit, into: &graph, now: now, actions: &actions)
                }
            }
            return ended
        }
        return isMoved
    }

    // MARK: Actions

    /// Passes an event to the graph and performs the resulting actions.
    private func change(_ body: (inout JobGraph, inout JobGraph.Actions) -> Void) {
        changeEnding { graph, actions in
            body(&graph, &actions)
            return []
        }
    }

    /// A task that was removed from the graph, and its result.
    private struct Leaving {
        let task: ImageTask
        let result: JobResult
        /// Whether a fallback of the task may follow.
        let mayContinue: Bool

        init(_ task: ImageTask, _ result: JobResult, mayContinue: Bool = false) {
            (self.task, self.result, self.mayContinue) = (task, result, mayContinue)
        }
    }

    /// Passes an event to the graph and performs the resulting actions.
    ///
    /// - Parameter body: returns the tasks that it removed from the graph.
    private func changeEnding(_ body: (inout JobGraph, inout JobGraph.Actions) -> [Leaving]) {
        advance(changeAndPerform(body))
    }

    /// Does the same, but returns the steps of jobs that were started and ended at once.
    private func changeAndPerform(
        _ body: (inout JobGraph, inout JobGraph.Actions) -> [Leaving]
    ) -> [JobStep] {
        var actions = JobGraph.Actions()
        let now = telemetry?.now
        lock.lock()
        let ended = body(&graph, &actions)
        if let now { telemetry?.record(graph.takeJournal(), at: now) }
        return unlockAndPerform(actions, ended: ended)
    }

    /// Releases the lock, performs the graph's actions, and ends the tasks that were removed from the graph.
    ///
    /// - Returns: the steps of jobs that were started and ended at once.
    private func unlockAndPerform(
        _ actions: JobGraph.Actions, ended: [Leaving] = []
    ) -> [JobStep] {
        var leaving = ended.count
        // Set these inputs while the lock is held. As soon as it is released, another thread may start the jobs.
        for action in actions {
            switch action {
            case .refuse(let job, let refusal): job.refuse(refusal.error)
            case .feed(let job, let from):
                if let result = from.result { job.feed(result) }
            case .deliver(let task, let from):
                if let result = from.result, !task.continuation(after: result).isEnd { leaving += 1 }
            case .start, .cancel, .discard, .reprioritize, .limitsChanged, .scheduleProbe, .report: break
            }
        }
        tasksInTransit += leaving
        var idle = takeIdleWaiters()
        lock.unlock()
        let steps = perform(actions)
        for left in ended {
            if left.mayContinue {
                left.task.continueAfterFailure(left.result, wasAdmitted: true)
            } else {
                left.task.didEnd(left.result)
            }
        }
        if leaving > 0 {
            idle += lock.withLock {
                tasksInTransit -= leaving
                return takeIdleWaiters()
            }
        }
        for waiter in idle { waiter.open() }
        return steps
    }

    /// Performs the graph's actions in order, with no lock held. Cancellations come first, so that a job that is
    /// started and cancelled by one event never begins. Deliveries come last, so that work begins before them and a
    /// sleeping callback queue is woken once for all of them.
    ///
    /// - Returns: the steps of jobs that were started and ended at once.
    private func perform(_ actions: JobGraph.Actions) -> [JobStep] {
        defer { telemetry?.flush() }
        for case .cancel(let job) in actions { job.cancel() }
        var delivers = false
        var steps: [JobStep] = []
        for action in actions {
            switch action {
            case .start(let job, let priority):
                if let step = job.start(priority: priority) { steps.append(step) }
            case .discard(let job): job.discard()
            case .refuse(let job, let refusal):
                if !refusal.hasStaleResponse { job.discard() }
            case .scheduleProbe(let origin, let time): scheduleProbe(origin, at: time)
            case .reprioritize(let job, _): job.reprioritize()
            case .limitsChanged(let job): job.limitsChanged()
            case .report(let task, let progress): task.didProgress(progress)
            case .cancel, .feed: break
            case .deliver: delivers = true
            }
        }
        if delivers { deliver(actions) }
        return steps
    }

    /// Delivers job results to tasks. Tasks that continue with another request do so after the others have ended, those
    /// of higher priority first: several may share that request, which is sent with the priority of the first.
    private func deliver(_ actions: JobGraph.Actions) {
        var run = ImageTask.callbackRun()
        var continuing: [(task: ImageTask, result: JobResult, priority: ImageRequest.Priority)] = []
        for case .deliver(let task, let from) in actions {
            guard let result = from.result else { continue }
            // Determined again, because a cancellation may have arrived since the tasks in transit were counted.
            switch task.continuation(after: result) {
            case .end: task.didEnd(result, in: &run)
            case .revalidation: continuing.append((task, result, task.priority))
            case .nextRequest(let error):
                let failure = JobResult(.failure(error), isFromStore: result.isFromStore)
                continuing.append((task, failure, task.priority))
            }
        }
        run.submit()
        continuing.sort { $0.priority > $1.priority }
        for (task, result, _) in continuing {
            // Only a stale image continues without an error.
            if result.error == nil {
                task.continueAfterStale(result)
            } else {
                task.continueAfterFailure(result, wasAdmitted: true)
            }
        }
    }

    // MARK: Shutdown

    /// Rejects new tasks, and returns when the last task has ended and all jobs have stopped.
    func shutdown(_ mode: ImagePipeline.ShutdownMode) async {
        let bridge = Bridge()
        let now = clock.now()
        changeEnding { graph, actions in
            var ended: [Leaving] = []
            if phase != .stopping { phase = mode == .finish ? .finishing : .stopping }
            if mode == .cancel {
                var ids: [JobGraph.TaskID] = []
                graph.forEachTask { id, _ in ids.append(id) }
                for id in ids {
                    guard let task = graph.taskCancelled(id, now: now, actions: &actions) else { continue }
                    let message = "The pipeline was shut down before the load ended."
                    let error = LoadError(.shutDown, stage: .request, url: task.plan?.url.string, message: message)
                    ended.append(Leaving(task, JobResult(.failure(error))))
                }
            }
            idleWaiters.append(bridge)
            return ended
        }
        await bridge.wait()
    }

    /// Takes the callers that wait until the engine is idle, if it is. Called with the lock held.
    private func takeIdleWaiters() -> [Bridge] {
        guard phase != .running, !idleWaiters.isEmpty, graph.isIdle, tasksInTransit == 0 else { return [] }
        defer { idleWaiters = [] }
        return idleWaiters
    }

    /// The counters of tasks and jobs, and their state now.
    var statistics: ImagePipeline.Statistics {
        lock.withLock {
            var statistics = ImagePipeline.Statistics()
            statistics.tasks = addedTasks
            statistics.coalescedTasks = coalescedTasks
            statistics.exchanges = graph.startedFetches
            statistics.tasksInFlight = graph.taskCount
            statistics.jobsInFlight = graph.jobCount
            statistics.waitingJobs = graph.waitingJobs
            statistics.runningJobs = graph.runningJobs
            return statistics
        }
    }
}

/// Runs the engine's own callbacks, which only count, with no lock held, on the thread where a load ended. They stay
/// off the decode executor, so that its documented limit holds.
private struct EndingThread: CallbackExecutor {
    func submit(_ work: @escaping @Sendable () -> Void) {
        work()
    }

    var isCurrent: Bool { false }
}
