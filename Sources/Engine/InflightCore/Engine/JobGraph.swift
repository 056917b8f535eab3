import InflightConcurrency

/// The jobs of the engine, their subscribers and priorities, and which of them run.
///
/// A state machine. It receives events (`taskAdded`, `jobSucceeded`, …) and appends the resulting actions to `actions`,
/// in order. Its owner performs them after releasing its lock. Jobs, subscribers, priorities and
/// lane slots are kept here alone.
///
/// - A key has at most one live job. A job has the priority of its most urgent subscriber, which may be a task or
///   another job.
/// - A job without subscribers leaves the table at once. If it runs, it keeps its slot until
///   ``jobStopped(_:now:actions:)`` reports that its work has in fact stopped.
/// - While a job is queued, it is a slot in a table. Its ``Job`` is made when it is first needed.
///
/// Every event takes constant time, except for those that fan out: these take one step for each notified subscriber.
struct JobGraph: ~Copyable {
    struct TaskID: Hashable, Sendable {
        var index: Int32
        var generation: UInt32
    }

    struct JobID: Hashable, Sendable {
        var index: Int32
        var generation: UInt32
    }

    enum LaneName: UInt8, Sendable {
        case store, fetch, decode
    }

    enum Action {
        /// The job has a slot: start its work. Its priority is the highest of its subscribers'.
        case start(Job, ImageRequest.Priority)
        /// The job has no subscribers any more: stop its work, and report `jobStopped` when it has stopped.
        case cancel(Job)
        /// The job is not needed any more, and does not run now: release what it holds. A job that was not made yet
        /// needs no such action.
        case discard(Job)
        /// The priority of a running job has changed.
        case reprioritize(Job, ImageRequest.Priority)
        /// The limits of the tasks that wait for a fetch have changed.
        case limitsChanged(FetchJob)
        /// The job is not sent, because its origin's circuit is open: set this error.
        case refuse(Job, Refusal)
        /// Report `probeIsDue` at this time.
        case scheduleProbe(OriginKey, MonotonicTime)
        /// The job of the task has ended, and this is its last progress.
        case report(ImageTask, ImageTask.Progress)
        /// `from` has succeeded: its result is the input of this job.
        case feed(Job, from: Job)
        /// `from` has succeeded or failed: the task gets its result.
        case deliver(ImageTask, from: Job)
    }

    typealias Actions = [Action]

    private var tasks: [TaskSlot] = []
    private var freeTask: Int32 = -1
    private var jobs: [JobSlot] = []
    private var freeJob: Int32 = -1
    /// The first live job of each hash bucket, or -1.
    private var buckets = [Int32](repeating: -1, count: 64)
    /// By the raw values of their names.
    private var lanes: InlineArray<3, Lane<JobID, OriginKey>>

    /// The circuits of failing origins. If nil, every fetch tries to connect.
    var circuits: OriginCircuits?

    /// The maximum number of tasks, queued and running; `nil` disables the limit.
    var maximumTasks: Int?
    /// The maximum number of tasks of one origin; `nil` disables the limit.
    var maximumTasksOfOrigin: Int?
    /// The numbers of tasks by origin, counted only if they are limited.
    private var tasksOfOrigins: [OriginKey: Int] = [:]
    /// The number of tasks without an ending.
    private(set) var taskCount = 0
    /// The number of started fetches, counted again after each redirect, less those that ended without work.
    private(set) var startedFetches = 0
    /// The number of jobs that are pending or running, or have not stopped yet.
    private(set) var jobCount = 0
    /// The number of previews being made; each holds a slot in the decode lane.
    private var previewCount = 0
    /// The decisions since the last ``takeJournal()``; nil disables the journal.
    var journal: [JournalEntry]?
    /// Makes the job of a plan's step, from the step's position in the plan and the job's identity.
    var makeJob: (RequestPlan, Int, JobID) -> Job = { _, _, _ in preconditionFailure("a graph that makes no jobs") }

    init(
        storeLane: Lane<JobID, OriginKey>.Configuration = .init(limit: 1),
        fetchLane: Lane<JobID, OriginKey>.Configuration, decodeLane: Lane<JobID, OriginKey>.Configuration
    ) {
        lanes = [Lane(storeLane), Lane(fetchLane), Lane(decodeLane)]
    }

    subscript(lane: LaneName) -> Lane<JobID, OriginKey> {
        _read { yield lanes[Int(lane.rawValue)] }
        _modify { yield &lanes[Int(lane.rawValue)] }
    }

    /// The numbers of queued jobs and of running jobs.
    var waitingJobs: ImagePipeline.Statistics.Lanes {
        .init(store: self[.store].waiting, fetch: self[.fetch].waiting, decode: self[.decode].waiting)
    }
    var runningJobs: ImagePipeline.Statistics.Lanes {
        .init(store: self[.store].running, fetch: self[.fetch].running, decode: self[.decode].running)
    }

    var isIdle: Bool { taskCount == 0 && jobCount == 0 && previewCount == 0 }

    // MARK: Tasks

    /// Returns the name of the limit that a new task would exceed, if any. Tasks in progress need no admission.
    func exceededLimit(by task: ImageTask) -> String? {
        if let maximumTasks, taskCount >= maximumTasks { return "maximumQueuedTasks" }
        if let maximumTasksOfOrigin, let origin = task.plan?.origin, origin != .none,
            tasksOfOrigins[origin, default: 0] >= maximumTasksOfOrigin
        {
            return "maximumQueuedTasksPerOrigin, the limit for one origin"
        }
        return nil
    }

    /// A task counts for the origin of its own URL, also while it loads a fallback.
    private mutating func countTask(_ task: ImageTask?, by difference: Int) {
        taskCount += difference
        guard maximumTasksOfOrigin != nil, let origin = task?.plan?.origin else { return }
        let count = tasksOfOrigins[origin, default: 0] + difference
        tasksOfOrigins[origin] = count == 0 ? nil : count
    }

    /// Returns whether a job for this key is alive.
    func hasJob(_ key: RequestKey) -> Bool {
        liveJob(key) >= 0
    }

    /// Returns the first of the jobs whose results a task still waits for, or nil if it is not made yet.
    func firstJob(of id: TaskID) -> Job? {
        isAlive(id) ? jobs[Int(firstJobIndex(of: id))].job : nil
    }

    /// Returns the same, and makes it if its plan meets a condition.
    mutating func firstJob(of id: TaskID, makingIf condition: (RequestPlan) -> Bool) -> Job? {
        guard isAlive(id) else { return nil }
        let index = firstJobIndex(of: id)
        if case .planned(let plan) = jobs[Int(index)].work, !condition(plan) { return nil }
        return job(at: index)
    }

    private func firstJobIndex(of id: TaskID) -> Int32 {
        var index = tasks[Int(id.index)].job
        while jobs[Int(index)].upstream >= 0 { index = jobs[Int(index)].upstream }
        return index
    }

    /// A task subscribes to the result of the last step of its plan. Each step works on the result of the one before.
    ///
    /// - Parameter first: the lane of the plan's first step.
    /// - Parameter done: the number of steps that need no job, because their result is in memory.
    /// - Parameter input: that result.
    /// - Parameter isNewestFirst: whether its jobs precede the others of their level while they are queued.
    /// - Parameter observes: whether the task observes how its first job progresses.
    /// - Returns: the task's identity, and the number of its steps that were in progress already.
    mutating func taskAdded(
        _ task: ImageTask, plan: RequestPlan, first lane: LaneName, done: Int = 0, input: JobResult? = nil,
        priority: ImageRequest.Priority, isNewestFirst: Bool = false, observes: Bool = false, now: MonotonicTime,
        actions: inout Actions
    ) -> (task: TaskID, joined: Int) {
        let count = plan.stepCount
        var joined = count
        var previous: Int32 = -1
        while joined > done {
            previous = liveJob(plan.key(at: joined - 1))
            if previous >= 0 { break }
            joined -= 1
        }
        var root: Int32 = -1
        for position in joined..<count {
            let index = makeJobSlot(position == 0 ? lane : .decode, plan: plan, position: position, upstream: previous)
            note(.made(jobID(index), position: position, after: previous < 0 ? nil : jobID(previous)))
            if previous < 0 { root = index }
            previous = index
        }
        if let input, root >= 0 { job(at: root)?.feed(input) }
        let id = makeTaskSlot(task, job: previous, priority: priority)
        tasks[Int(id.index)].observes = observes
        if observes { countObserver(of: previous, by: 1) }
        if isNewestFirst { setNewestFirst(previous) }
        if joined == done { joined = 0 }
        noteAdded(task, job: previous, steps: count, joined: joined)
        changeCount(of: previous, from: -1, to: Int8(priority.rawValue), now: now, actions: &actions)
        if root >= 0 {
            enqueueOrRefuse(root, now: now, actions: &actions)
            // A chain that begins with a finished prefix needs no fetch.
            if done > 0 { startReady(jobs[Int(root)].lane, now: now, actions: &actions) }
        }
        // A new subscriber may have raised a queued fetch into a reserved slot.
        startReadyFetches(now: now, actions: &actions)
        return (id, joined)
    }

    /// A task unsubscribes. Returns the task, or nil if it has already ended.
    @discardableResult
    mutating func taskCancelled(_ id: TaskID, now: MonotonicTime, actions: inout Actions) -> ImageTask? {
        guard isAlive(id) else { return nil }
        let job = tasks[Int(id.index)].job
        let priority = tasks[Int(id.index)].priority
        if tasks[Int(id.index)].observes { countObserver(of: job, by: -1) }
        unlinkTask(id.index)
        let task = freeTaskSlot(id.index)
        changeCount(of: job, from: Int8(priority.rawValue), to: -1, now: now, actions: &actions)
        startReadyFetches(now: now, actions: &actions)
        startReady(.decode, now: now, actions: &actions)
        return task
    }

    mutating func taskPriorityChanged(
        _ id: TaskID, to priority: ImageRequest.Priority, now: MonotonicTime, actions: inout Actions
    ) {
        guard isAlive(id) else { return }
        let slot = tasks[Int(id.index)]
        guard slot.priority != priority else { return }
        tasks[Int(id.index)].priority = priority
        changeCount(
            of: slot.job, from: Int8(slot.priority.rawValue), to: Int8(priority.rawValue), now: now,
            actions: &actions)
        startReadyFetches(now: now, actions: &actions)
        startReady(.decode, now: now, actions: &actions)
    }

    /// Returns whether a task that depends on this job, directly or through later jobs, observes its progress.
    func isObserved(_ id: JobID) -> Bool {
        isAlive(id) && jobs[Int(id.index)].observers > 0
    }

    /// An observer of the job, and so of the jobs upstream, arrived or left.
    private mutating func countObserver(of first: Int32, by difference: Int32) {
        var index = first
        while index >= 0 {
            jobs[Int(index)].observers += difference
            index = jobs[Int(index)].upstream
        }
    }

    /// The job and those upstream go before the others of a level that they reach. A queued one keeps its place.
    private mutating func setNewestFirst(_ last: Int32) {
        var index = last
        while index >= 0, !jobs[Int(index)].isNewestFirst {
            jobs[Int(index)].isNewestFirst = true
            index = jobs[Int(index)].upstream
        }
    }

    /// Calls `body` for each task that depends on this job, directly or through later jobs. `body` must not add a task.
    func forEachTask(of id: JobID, _ body: (TaskID, ImageTask) -> Void) {
        guard isAlive(id) else { return }
        forEachTask(ofJobAt: id.index, body)
    }

    /// Returns whether `condition` holds for a task that depends on this job, directly or through later jobs.
    func hasTask(of id: JobID, where condition: (TaskID, ImageTask) -> Bool) -> Bool {
        isAlive(id) && hasTask(ofJobAt: id.index, where: condition)
    }

    private func hasTask(ofJobAt index: Int32, where condition: (TaskID, ImageTask) -> Bool) -> Bool {
        var waiter = jobs[Int(index)].firstTask
        while waiter >= 0 {
            let slot = tasks[Int(waiter)]
            if let task = slot.task, condition(TaskID(index: waiter, generation: slot.generation), task) { return true }
            waiter = slot.next
        }
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            if hasTask(ofJobAt: dependent, where: condition) { return true }
            dependent = jobs[Int(dependent)].next
        }
        return false
    }

    /// Returns whether a task subscribes to this job's own result.
    func hasOwnTask(of id: JobID) -> Bool { isAlive(id) && jobs[Int(id.index)].firstTask >= 0 }

    /// Calls `body` for each task that subscribes to this job's own result.
    func forEachOwnTask(of id: JobID, _ body: (ImageTask) -> Void) {
        guard isAlive(id) else { return }
        forEachOwnTask(ofJobAt: id.index) { _, task in body(task) }
    }

    private func forEachOwnTask(ofJobAt index: Int32, _ body: (TaskID, ImageTask) -> Void) {
        var waiter = jobs[Int(index)].firstTask
        while waiter >= 0 {
            let slot = tasks[Int(waiter)]
            if let task = slot.task { body(TaskID(index: waiter, generation: slot.generation), task) }
            waiter = slot.next
        }
    }

    private func forEachTask(ofJobAt index: Int32, _ body: (TaskID, ImageTask) -> Void) {
        forEachOwnTask(ofJobAt: index, body)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            forEachTask(ofJobAt: dependent, body)
            dependent = jobs[Int(dependent)].next
        }
    }

    /// Calls `body` for each task.
    func forEachTask(_ body: (TaskID, ImageTask) -> Void) {
        for (index, slot) in tasks.enumerated() {
            guard let task = slot.task else { continue }
            body(TaskID(index: Int32(index), generation: slot.generation), task)
        }
    }

    /// Returns the highest priority of the job's subscribers, or nil if it has none.
    func priority(of id: JobID) -> ImageRequest.Priority? {
        guard isAlive(id), let level = UInt8(exactly: jobs[Int(id.index)].level) else { return nil }
        return ImageRequest.Priority(rawValue: level)
    }

    /// A started job ends without having done any work: its total time is over, or it has no subscribers any more.
    mutating func jobEndedWithoutWork(_ id: JobID) {
        if isAlive(id), jobs[Int(id.index)].lane == .fetch { startedFetches -= 1 }
    }

    // MARK: Jobs

    /// The job's work has succeeded. Its result is set.
    mutating func jobSucceeded(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id) else { return }
        guard case .running = jobs[Int(id.index)].state, let job = jobs[Int(id.index)].job else {
            return jobStopped(id, now: now, actions: &actions)
        }
        leaveTable(id.index)
        note(.ended(id, job))
        deliverToTasks(of: id.index, from: job, actions: &actions)
        var dependent = jobs[Int(id.index)].firstDependent
        while dependent >= 0 {
            let next = jobs[Int(dependent)].next
            if let later = self.job(at: dependent) { actions.append(.feed(later, from: job)) }
            enqueue(dependent, now: now)
            startReady(jobs[Int(dependent)].lane, now: now, actions: &actions)
            dependent = next
        }
        jobs[Int(id.index)].firstDependent = -1
        releasePlace(of: id.index, now: now, actions: &actions)
        freeJobSlot(id.index)
    }

    /// The job's work has failed. So have the jobs that depend on its result.
    mutating func jobFailed(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id) else { return }
        guard case .running = jobs[Int(id.index)].state, let job = jobs[Int(id.index)].job else {
            return jobStopped(id, now: now, actions: &actions)
        }
        leaveTable(id.index)
        note(.ended(id, job))
        failDependents(of: id.index, from: job, actions: &actions)
        releasePlace(of: id.index, now: now, actions: &actions)
        freeJobSlot(id.index)
    }

    /// The work of a cancelled job has in fact stopped: its slot is free.
    private mutating func jobStopped(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id) else { return }
        guard case .stopping = jobs[Int(id.index)].state else { return }
        note(.stopped(id))
        releasePlace(of: id.index, now: now, actions: &actions)
        freeJobSlot(id.index)
    }

    /// The job has to continue elsewhere: it gives its slot back and queues for one there.
    ///
    /// - Parameters:
    ///   - origin: where it fetches from now on.
    ///   - ahead: whether it goes to the front of its level, because it has had a slot before.
    ///   - hasStaleResponse: whether it has a stored response to serve if its origin cannot be reached.
    mutating func jobMoved(
        _ id: JobID, to lane: LaneName, origin: OriginKey, ahead: Bool, hasStaleResponse: Bool = false,
        now: MonotonicTime, actions: inout Actions
    ) {
        guard leavePlace(id, now: now, actions: &actions) else { return }
        let left = jobs[Int(id.index)].lane
        jobs[Int(id.index)].lane = lane
        jobs[Int(id.index)].job?.origin = origin
        jobs[Int(id.index)].circuitRole = .ordinary
        jobs[Int(id.index)].hasStaleResponse = hasStaleResponse
        enqueueOrRefuse(id.index, now: now, ahead: ahead, actions: &actions)
        startReady(left, now: now, actions: &actions)
        if lane != left { startReady(lane, now: now, actions: &actions) }
    }

    /// The job waits for a time: it gives its slot back, and is queued again by ``jobWoke(_:now:actions:)``.
    mutating func jobSlept(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard leavePlace(id, now: now, actions: &actions) else { return }
        jobs[Int(id.index)].state = .asleep
        startReady(jobs[Int(id.index)].lane, now: now, actions: &actions)
    }

    /// The wait of a sleeping job is over: it goes to the front of its level. Does nothing if it is not asleep.
    mutating func jobWoke(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id), case .asleep = jobs[Int(id.index)].state else { return }
        jobs[Int(id.index)].circuitRole = .retry
        enqueueOrRefuse(id.index, now: now, ahead: true, actions: &actions)
        startReady(jobs[Int(id.index)].lane, now: now, actions: &actions)
    }

    /// - Returns: whether the job continues. If not, it had no subscribers any more, and was discarded.
    private mutating func leavePlace(_ id: JobID, now: MonotonicTime, actions: inout Actions) -> Bool {
        guard isAlive(id) else { return false }
        guard case .running = jobs[Int(id.index)].state else {
            if let job = jobs[Int(id.index)].job { actions.append(.discard(job)) }
            jobStopped(id, now: now, actions: &actions)
            return false
        }
        giveBackPlace(of: id.index, now: now)
        return true
    }

    /// The job's key turned out to be incomplete: no new task joins the job, or the jobs that depend on it.
    mutating func jobLeftTable(_ id: JobID) {
        guard isAlive(id) else { return }
        leaveTableWithDependents(id.index)
    }

    /// A subscriber wants a preview of a job's partial result.
    ///
    /// - Returns: whether the preview has a slot: one was free, and no complete image was queued for it.
    mutating func previewWanted(of id: JobID) -> Bool {
        guard isAlive(id), self[.decode].occupy() else { return false }
        previewCount += 1
        return true
    }

    /// A preview was made or abandoned: its slot is free.
    mutating func previewEnded(now: MonotonicTime, actions: inout Actions) {
        self[.decode].vacate()
        previewCount -= 1
        startReady(.decode, now: now, actions: &actions)
    }

    /// Returns the maximum number of concurrent exchanges with an origin.
    func originLimit(of group: OriginKey) -> Int {
        self[.fetch].limit(of: group)
    }

    /// An origin turned out to multiplex exchanges on one connection, or not to.
    mutating func originLimitChanged(
        _ group: OriginKey, to limit: Int, now: MonotonicTime, actions: inout Actions
    ) {
        if circuits?.isOpen(group) == true { return }
        self[.fetch].setLimit(limit, of: group, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }
}

// The parts that the graph's events share: priorities, lanes, endings.

extension JobGraph {
    // MARK: Priorities

    /// A subscriber of the job arrived (`old` is -1), changed its priority, or left (`new` is -1). The change
    /// propagates to the jobs upstream. A job whose last subscriber has left is abandoned.
    private mutating func changeCount(
        of first: Int32, from old: Int8, to new: Int8, now: MonotonicTime, actions: inout Actions
    ) {
        var index = first
        var old = old
        var new = new
        while index >= 0 {
            if old >= 0 { jobs[Int(index)].count(old, by: -1) }
            if new >= 0 { jobs[Int(index)].count(new, by: 1) }
            let before = jobs[Int(index)].level
            let after = jobs[Int(index)].highestCounted
            guard before != after else { return }
            jobs[Int(index)].level = after
            let upstream = jobs[Int(index)].upstream
            if after < 0 {
                abandon(index, now: now, actions: &actions)
            } else {
                if before >= 0, let priority = ImageRequest.Priority(rawValue: UInt8(after)) {
                    note(.prioritized(jobID(index), priority))
                }
                priorityChanged(index, to: after, now: now, actions: &actions)
            }
            (old, new) = (before, after)
            index = upstream
        }
    }

    private mutating func priorityChanged(
        _ index: Int32, to level: Int8, now: MonotonicTime, actions: inout Actions
    ) {
        switch jobs[Int(index)].state {
        case .queued(let ticket):
            self[jobs[Int(index)].lane].move(
                ticket, toLevel: Int(level), ahead: jobs[Int(index)].isNewestFirst, now: now)
        case .running:
            if let job = jobs[Int(index)].job, let priority = ImageRequest.Priority(rawValue: UInt8(level)) {
                actions.append(.reprioritize(job, priority))
            }
        case .waiting, .asleep, .stopping:
            break
        }
    }

    /// The job has no subscribers any more.
    private mutating func abandon(_ index: Int32, now: MonotonicTime, actions: inout Actions) {
        leaveTable(index)
        unlinkFromUpstream(index)
        note(.abandoned(jobID(index)))
        let job = jobs[Int(index)].job
        switch jobs[Int(index)].state {
        case .waiting, .asleep:
            note(.discarded(jobID(index)))
            if let job { actions.append(.discard(job)) }
            freeJobSlot(index)
        case .queued(let ticket):
            note(.discarded(jobID(index)))
            self[jobs[Int(index)].lane].remove(ticket)
            leaveProbe(index, now: now)
            if let job { actions.append(.discard(job)) }
            freeJobSlot(index)
        case .running:
            jobs[Int(index)].state = .stopping
            if let job { actions.append(.cancel(job)) }
        case .stopping:
            break
        }
    }

    // MARK: Lanes

    private mutating func enqueue(_ index: Int32, now: MonotonicTime, ahead: Bool = false) {
        let (id, lane, group) = (jobID(index), jobs[Int(index)].lane, jobs[Int(index)].group)
        let level = max(0, Int(jobs[Int(index)].level))
        let ahead = ahead || jobs[Int(index)].isNewestFirst
        jobs[Int(index)].state = .queued(
            self[lane].enqueue(id, level: level, group: group, now: now, ahead: ahead))
        note(.queued(id, lane))
    }

    /// Starts the queued jobs for which there are slots now.
    private mutating func startReady(_ lane: LaneName, now: MonotonicTime, actions: inout Actions) {
        while let id = self[lane].next(now: now) {
            jobs[Int(id.index)].state = .running
            note(.started(id, lane))
            if lane == .fetch {
                startedFetches += 1
                fetchStarts(id.index, now: now)
            }
            let priority = ImageRequest.Priority(rawValue: UInt8(max(0, jobs[Int(id.index)].level))) ?? .normal
            if let job = job(at: id.index) { actions.append(.start(job, priority)) }
        }
    }

    /// Starts the queued jobs for which there are slots now, in the lanes in which fetches begin.
    private mutating func startReadyFetches(now: MonotonicTime, actions: inout Actions) {
        startReady(.store, now: now, actions: &actions)
        startReady(.fetch, now: now, actions: &actions)
    }

    private mutating func giveBackPlace(of index: Int32, now: MonotonicTime) {
        leaveProbe(index, now: now)
        self[jobs[Int(index)].lane].release(group: jobs[Int(index)].group, now: now)
    }

    private mutating func releasePlace(of index: Int32, now: MonotonicTime, actions: inout Actions) {
        giveBackPlace(of: index, now: now)
        startReady(jobs[Int(index)].lane, now: now, actions: &actions)
    }

    // MARK: Endings

    private mutating func deliverToTasks(of index: Int32, from job: Job, actions: inout Actions) {
        var waiter = jobs[Int(index)].firstTask
        while waiter >= 0 {
            let next = tasks[Int(waiter)].next
            if let task = freeTaskSlot(waiter) { actions.append(.deliver(task, from: job)) }
            waiter = next
        }
        jobs[Int(index)].firstTask = -1
    }

    /// Ends every task that depends on this job, directly or through later jobs, and drops those jobs.
    private mutating func failDependents(of index: Int32, from job: Job, actions: inout Actions) {
        deliverToTasks(of: index, from: job, actions: &actions)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            let next = jobs[Int(dependent)].next
            leaveTable(dependent)
            failDependents(of: dependent, from: job, actions: &actions)
            note(.discarded(jobID(dependent)))
            if let later = jobs[Int(dependent)].job { actions.append(.discard(later)) }
            freeJobSlot(dependent)
            dependent = next
        }
        jobs[Int(index)].firstDependent = -1
    }

    private mutating func leaveTableWithDependents(_ index: Int32) {
        leaveTable(index)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            leaveTableWithDependents(dependent)
            dependent = jobs[Int(dependent)].next
        }
    }
}

// Origins that cannot be reached. While a circuit is open, the policy either refuses fetches before they are queued, or
// keeps them queued: then the origin has no slots in the lane, and one when a probe is due.

extension JobGraph {
    /// The role of a fetch in its origin's circuit.
    private enum CircuitRole: UInt8 {
        case ordinary
        /// Its outcome decides whether the circuit closes.
        case probe
        /// A repeated attempt, which is never refused.
        case retry
    }

    /// Why a fetch is refused.
    struct Refusal: Hashable, Sendable {
        var origin: OriginKey
        /// The time to the next probe; nil if one is in flight.
        var wait: Duration?
        /// Whether the job has a stored response to serve instead, and is about to be started for that.
        var hasStaleResponse: Bool

        var error: LoadError {
            let probe = wait.map { wait in
                let milliseconds = max(0, wait.saturatedNanoseconds / 1_000_000)
                return "Next attempt in \(milliseconds / 1000).\(milliseconds % 1000 / 100) s."
            }
            return LoadError(
                .originUnavailable, stage: .fetch,
                message: "\(origin) is unavailable: recent connections failed. "
                    + (probe ?? "An attempt is in progress.") + " Try again later.")
        }
    }

    /// Queues a job. Refuses it instead if it is a fetch, its origin's circuit is open, and the policy is to refuse.
    private mutating func enqueueOrRefuse(
        _ index: Int32, now: MonotonicTime, ahead: Bool = false, actions: inout Actions
    ) {
        guard circuits != nil, jobs[Int(index)].lane == .fetch else { return enqueue(index, now: now, ahead: ahead) }
        let origin = jobs[Int(index)].group
        guard origin.origin != nil, circuits?.isOpen(origin) == true else {
            return enqueue(index, now: now, ahead: ahead)
        }
        if circuits?.waits != true {
            switch circuits?.handle(.fetchQueued(now: now), of: origin) {
            case .refuse(let until) where jobs[Int(index)].circuitRole != .retry:
                return refuse(index, origin, until, now: now, actions: &actions)
            case .admitProbe: becomeProbe(index, origin)
            default: break
            }
        }
        enqueue(index, now: now, ahead: ahead)
        limitPlaces(of: origin, now: now)
    }

    /// A fetch has been given a slot.
    private mutating func fetchStarts(_ index: Int32, now: MonotonicTime) {
        guard circuits?.waits == true else { return }
        let origin = jobs[Int(index)].group
        guard circuits?.isOpen(origin) == true else { return }
        if circuits?.handle(.fetchQueued(now: now), of: origin) == .admitProbe { becomeProbe(index, origin) }
        limitPlaces(of: origin, now: now)
    }

    private mutating func becomeProbe(_ index: Int32, _ origin: OriginKey) {
        jobs[Int(index)].circuitRole = .probe
        note(.circuit(jobID(index), origin, .halfOpen))
    }

    /// The job's connection has failed, before any response.
    mutating func connectionFailed(
        _ id: JobID, to origin: OriginKey, now: MonotonicTime, random: Double, actions: inout Actions
    ) {
        let isProbe = isAlive(id) && jobs[Int(id.index)].circuitRole == .probe
        if isProbe { jobs[Int(id.index)].circuitRole = .ordinary }
        let event = Circuit.Event.connectionFailed(isProbe: isProbe, now: now, random: random)
        guard case .open(let until) = circuits?.handle(event, of: origin) else { return }
        note(.circuit(id, origin, .open(after: until - now)))
        if circuits?.waits == true {
            limitPlaces(of: origin, now: now)
            actions.append(.scheduleProbe(origin, until))
        } else {
            refuseQueued(origin, until, now: now, actions: &actions)
        }
    }

    /// A response has arrived from the origin.
    mutating func originAnswered(
        _ origin: OriginKey, to id: JobID, now: MonotonicTime, actions: inout Actions
    ) {
        if isAlive(id), jobs[Int(id.index)].group == origin, jobs[Int(id.index)].circuitRole == .probe {
            jobs[Int(id.index)].circuitRole = .ordinary
        }
        guard circuits?.handle(.answered, of: origin) == .close else { return }
        note(.circuit(id, origin, .closed))
        self[.fetch].setLimit(self[.fetch].configuration.groupLimit, of: origin, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }

    /// A probe is due, if the circuit is still open.
    mutating func probeIsDue(_ origin: OriginKey, now: MonotonicTime, actions: inout Actions) {
        limitPlaces(of: origin, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }

    /// The job gives up its slot, or leaves the queue, without having reported the outcome of its connection.
    private mutating func leaveProbe(_ index: Int32, now: MonotonicTime) {
        guard circuits != nil, jobs[Int(index)].circuitRole == .probe else { return }
        let origin = jobs[Int(index)].group
        jobs[Int(index)].circuitRole = .ordinary
        guard case .open = circuits?.handle(.probeAbandoned(now: now), of: origin) else { return }
        note(.circuit(jobID(index), origin, .open(after: .zero)))
        limitPlaces(of: origin, now: now)
    }

    private mutating func limitPlaces(of origin: OriginKey, now: MonotonicTime) {
        guard circuits?.waits == true, let places = circuits?.places(of: origin, now: now) else { return }
        self[.fetch].setLimit(places, of: origin, now: now)
    }

    // MARK: Refusing

    /// Refuses the queued fetches of an origin. Each opening of a circuit visits all jobs once.
    private mutating func refuseQueued(
        _ origin: OriginKey, _ until: MonotonicTime, now: MonotonicTime, actions: inout Actions
    ) {
        for index in jobs.indices where jobs[index].lane == .fetch && jobs[index].circuitRole == .ordinary {
            guard case .queued(let ticket) = jobs[index].state, jobs[index].group == origin else { continue }
            self[.fetch].remove(ticket)
            refuse(Int32(index), origin, until, now: now, actions: &actions)
        }
    }

    /// Refuses a fetch that is not queued: queues it to serve its stored response, or fails it if there is none.
    private mutating func refuse(
        _ index: Int32, _ origin: OriginKey, _ until: MonotonicTime?, now: MonotonicTime, actions: inout Actions
    ) {
        guard let job = job(at: index) else { return }
        let hasStaleResponse = jobs[Int(index)].hasStaleResponse
        let refusal = Refusal(origin: origin, wait: until.map { $0 - now }, hasStaleResponse: hasStaleResponse)
        actions.append(.refuse(job, refusal))
        if hasStaleResponse {
            jobs[Int(index)].lane = .store
            enqueue(index, now: now)
            return startReady(.store, now: now, actions: &actions)
        }
        leaveTable(index)
        note(.refused(jobID(index), refusal))
        failDependents(of: index, from: job, actions: &actions)
        freeJobSlot(index)
    }
}

// The live job of each key: a hash table whose chains run through the job slots, by the hashes that the slots carry.
// Nothing is hashed under the engine's lock, and a job needs no entry of its own.

extension JobGraph {
    private func bucket(_ hash: UInt32) -> Int {
        Int(hash) & (buckets.count - 1)
    }

    /// Returns the live job for this key, or -1.
    private func liveJob(_ key: RequestKey) -> Int32 {
        var index = buckets[bucket(key.hash)]
        while index >= 0, jobs[Int(index)].hash != key.hash || jobs[Int(index)].key != key {
            index = jobs[Int(index)].nextInBucket
        }
        return index
    }

    private mutating func enterTable(_ index: Int32) {
        // `jobCount` includes jobs that have left the table. They make no chain longer.
        if jobCount >= buckets.count { growTable() }
        let bucket = bucket(jobs[Int(index)].hash)
        jobs[Int(index)].nextInBucket = buckets[bucket]
        buckets[bucket] = index
    }

    /// Removes the job, so that no new task joins it. Does nothing if it has left before.
    private mutating func leaveTable(_ index: Int32) {
        let bucket = bucket(jobs[Int(index)].hash)
        let next = jobs[Int(index)].nextInBucket
        if buckets[bucket] == index {
            buckets[bucket] = next
            return
        }
        var previous = buckets[bucket]
        while previous >= 0 {
            let following = jobs[Int(previous)].nextInBucket
            if following == index {
                jobs[Int(previous)].nextInBucket = next
                return
            }
            previous = following
        }
    }

    private mutating func growTable() {
        let old = buckets
        buckets = [Int32](repeating: -1, count: old.count * 2)
        for first in old {
            var index = first
            while index >= 0 {
                let following = jobs[Int(index)].nextInBucket
                let bucket = bucket(jobs[Int(index)].hash)
                jobs[Int(index)].nextInBucket = buckets[bucket]
                buckets[bucket] = index
                index = following
            }
        }
    }
}

// Storage of tasks and jobs: slots in two arrays, linked by index, so that no task or job needs an allocation of its
// own. A slot that is reused has a new generation, so that old identities do not match it.

extension JobGraph {
    private enum State {
        /// Waits for the result of the job before it, at that index.
        case waiting(upstream: Int32)
        case queued(Lane<JobID, OriginKey>.Ticket)
        case running
        /// Waits for a time, and holds no slot in a lane.
        case asleep
        /// Has left the table, and still holds its slot in a lane.
        case stopping
    }

    private struct TaskSlot: ListSlot {
        var task: ImageTask?
        var generation: UInt32 = 0
        var job: Int32 = -1
        /// Its neighbours among the subscribers of the job. `next` also links the free slots.
        var previous: Int32 = -1
        var next: Int32 = -1
        var priority = ImageRequest.Priority.normal
        /// Whether it observes how its first job progresses.
        var observes = false
    }

    /// What a job's slot holds.
    private enum Work {
        case none
        /// The job is made from this plan when it is first needed.
        case planned(RequestPlan)
        case made(Job)
    }

    private struct JobSlot: ListSlot {
        // In this order, the small properties leave no gap.
        var work = Work.none
        /// The hash of its key.
        var hash: UInt32 = 0
        var generation: UInt32 = 0
        var state = State.waiting(upstream: -1)
        var lane = LaneName.fetch
        var circuitRole = CircuitRole.ordinary
        /// Whether a stored response may be served if the origin cannot be reached.
        var hasStaleResponse = false
        /// Whether a subscriber wants it to go before the others of its level.
        var isNewestFirst = false
        /// The highest priority of the subscribers, or -1 if there are none.
        var level: Int8 = -1
        /// The position of its step in its plan.
        var position: UInt16 = 0
        /// The number of subscribers at each priority. Each job that works on the result counts as one.
        var counts = InlineArray<5, UInt32>(repeating: 0)
        /// The number of tasks that observe its progress, including those of the jobs that work on its result.
        var observers: Int32 = 0
        /// The tasks that subscribe to this job itself.
        var firstTask: Int32 = -1
        /// The jobs that work on its result.
        var firstDependent: Int32 = -1
        /// Its neighbours among the dependents of the same job. `next` also links the free slots.
        var previous: Int32 = -1
        var next: Int32 = -1
        /// The next job in the same bucket of the table.
        var nextInBucket: Int32 = -1

        /// The job, if it is made.
        var job: Job? { if case .made(let job) = work { job } else { nil } }

        var plan: RequestPlan? {
            switch work {
            case .none: nil
            case .planned(let plan): plan
            case .made(let job): job.plan
            }
        }

        var key: RequestKey? { plan?.key(at: Int(position)) }

        /// The group in its lane: the origin that it fetches from.
        var group: OriginKey {
            switch work {
            case .planned(let plan) where lane == .fetch: plan.origin
            case .made(let job) where lane == .fetch: job.origin
            default: .none
            }
        }

        /// The job whose result it waits for, or -1.
        var upstream: Int32 { if case .waiting(let upstream) = state { upstream } else { -1 } }

        mutating func count(_ level: Int8, by difference: Int) {
            counts[Int(level)] = UInt32(Int(counts[Int(level)]) + difference)
        }

        var highestCounted: Int8 {
            var level: Int8 = 4
            while level >= 0, counts[Int(level)] == 0 { level -= 1 }
            return level
        }
    }

    private func jobID(_ index: Int32) -> JobID {
        JobID(index: index, generation: jobs[Int(index)].generation)
    }

    /// Returns the job of a slot that is in use, and makes it if it is needed for the first time.
    private mutating func job(at index: Int32) -> Job? {
        guard case .planned(let plan) = jobs[Int(index)].work else { return jobs[Int(index)].job }
        let job = makeJob(plan, Int(jobs[Int(index)].position), jobID(index))
        jobs[Int(index)].work = .made(job)
        return job
    }

    func isAlive(_ id: TaskID) -> Bool {
        tasks[Int(id.index)].generation == id.generation && tasks[Int(id.index)].task != nil
    }

    private func isAlive(_ id: JobID) -> Bool {
        if case .none = jobs[Int(id.index)].work { return false }
        return jobs[Int(id.index)].generation == id.generation
    }

    private mutating func makeTaskSlot(_ task: ImageTask, job: Int32, priority: ImageRequest.Priority) -> TaskID {
        let index: Int32
        if freeTask >= 0 {
            index = freeTask
            freeTask = tasks[Int(index)].next
        } else {
            index = Int32(tasks.count)
            tasks.append(TaskSlot())
        }
        tasks[Int(index)].task = task
        tasks[Int(index)].job = job
        tasks[Int(index)].priority = priority
        jobs[Int(job)].firstTask = tasks.append(index, toListOf: jobs[Int(job)].firstTask)
        countTask(task, by: 1)
        return TaskID(index: index, generation: tasks[Int(index)].generation)
    }

    private mutating func unlinkTask(_ index: Int32) {
        let job = Int(tasks[Int(index)].job)
        jobs[job].firstTask = tasks.remove(index, fromListOf: jobs[job].firstTask)
    }

    private mutating func freeTaskSlot(_ index: Int32) -> ImageTask? {
        let task = tasks[Int(index)].task.take()
        tasks[Int(index)].generation &+= 1
        tasks[Int(index)].next = freeTask
        freeTask = index
        countTask(task, by: -1)
        return task
    }

    private mutating func makeJobSlot(
        _ lane: LaneName, plan: RequestPlan, position: Int, upstream: Int32
    ) -> Int32 {
        let index: Int32
        if freeJob >= 0 {
            index = freeJob
            freeJob = jobs[Int(index)].next
        } else {
            index = Int32(jobs.count)
            jobs.append(JobSlot())
        }
        jobs[Int(index)].work = .planned(plan)
        jobs[Int(index)].hash = plan.key(at: position).hash
        jobs[Int(index)].position = UInt16(position)
        jobs[Int(index)].lane = lane
        jobs[Int(index)].state = .waiting(upstream: upstream)
        if upstream >= 0 {
            jobs[Int(upstream)].firstDependent = jobs.append(index, toListOf: jobs[Int(upstream)].firstDependent)
        }
        enterTable(index)
        jobCount += 1
        return index
    }

    private mutating func unlinkFromUpstream(_ index: Int32) {
        let upstream = Int(jobs[Int(index)].upstream)
        guard upstream >= 0 else { return }
        jobs[upstream].firstDependent = jobs.remove(index, fromListOf: jobs[upstream].firstDependent)
        jobs[Int(index)].state = .waiting(upstream: -1)
    }

    private mutating func freeJobSlot(_ index: Int32) {
        let generation = jobs[Int(index)].generation &+ 1
        jobs[Int(index)] = JobSlot()
        jobs[Int(index)].generation = generation
        jobs[Int(index)].next = freeJob
        freeJob = index
        jobCount -= 1
    }
}

/// A slot that may be in a list, by the indices of its neighbours. A list is known by its first slot, whose `previous`
/// is the last slot; the last has no `next` (-1).
private protocol ListSlot {
    var previous: Int32 { get set }
    var next: Int32 { get set }
}

extension Array where Element: ListSlot {
    /// Adds a slot at the end of the list that begins with `first`, or is empty (-1). Returns its first slot.
    fileprivate mutating func append(_ index: Int32, toListOf first: Int32) -> Int32 {
        self[Int(index)].next = -1
        guard first >= 0 else {
            self[Int(index)].previous = index
            return index
        }
        let last = self[Int(first)].previous
        self[Int(index)].previous = last
        self[Int(last)].next = index
        self[Int(first)].previous = index
        return first
    }

    /// Removes a slot from the list that begins with `first`. Returns the list's first slot, or -1 if it is empty now.
    fileprivate mutating func remove(_ index: Int32, fromListOf first: Int32) -> Int32 {
        let (previous, next) = (self[Int(index)].previous, self[Int(index)].next)
        self[Int(next >= 0 ? next : first)].previous = previous
        if index == first { return next }
        self[Int(previous)].next = next
        return first
    }
}

// The graph's decisions, recorded for the observer; without one, nothing is recorded.

extension JobGraph {
    enum JournalEntry {
        /// The job was created for a task's step at that position. It works on the result of `after`.
        case made(JobID, position: Int, after: JobID?)
        /// The task waits for the result of the job.
        case waits(ImageTask, JobID)
        /// The job was in progress when the task subscribed.
        case joined(ImageTask, JobID)
        case queued(JobID, LaneName)
        case started(JobID, LaneName)
        case prioritized(JobID, ImageRequest.Priority)
        case abandoned(JobID)
        /// The job has succeeded or failed. Its result has the details.
        case ended(JobID, Job)
        /// The job was refused, because its origin's circuit is open.
        case refused(JobID, Refusal)
        /// The circuit of an origin changed because of the job.
        case circuit(JobID, OriginKey, ImagePipeline.Event.CircuitState)
        case discarded(JobID)
        case stopped(JobID)
    }

    /// Records the jobs that a task subscribes to.
    ///
    /// - Parameter joined: the number of its `count` steps that were in progress.
    private mutating func noteAdded(_ task: ImageTask, job: Int32, steps count: Int, joined: Int) {
        guard journal != nil else { return }
        note(.waits(task, jobID(job)))
        guard joined > 0 else { return }
        var shared = job
        for _ in joined..<count { shared = jobs[Int(shared)].upstream }
        note(.joined(task, jobID(shared)))
    }

    @inline(__always)
    private mutating func note(_ entry: JournalEntry) {
        if journal != nil { journal?.append(entry) }
    }

    /// Takes the entries since the last call, or nil if the journal is disabled.
    mutating func takeJournal() -> [JournalEntry]? {
        guard let entries = journal else { return nil }
        if !entries.isEmpty { journal = [] }
        return entries
    }
}
