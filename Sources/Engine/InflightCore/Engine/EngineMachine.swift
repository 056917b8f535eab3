import InflightConcurrency

/// The state machine of the engine: its jobs, their subscribers and priorities, and which of them run.
///
/// A value without locks, clocks and I/O. It receives events (`taskAdded`, `jobSucceeded`, …) and appends the resulting
/// actions to `actions`, in order. Its owner performs them after releasing its lock. Jobs, subscribers, priorities and
/// lane slots are kept here alone.
///
/// - A key has at most one live job. Tasks and later jobs subscribe to it; its priority is the highest of theirs.
/// - A job without subscribers leaves the table at once. If it runs, it keeps its slot until
///   ``jobStopped(_:now:actions:)`` reports that its work has in fact stopped.
///
/// Every event takes constant time, except for those that fan out: these take one step for each notified subscriber.
struct EngineMachine<Task, Job>: ~Copyable {
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

    /// One step of a task: the key of its job, and where the job runs.
    struct Step {
        var key: JobKey
        var lane: LaneName
        var group: OriginKey
    }

    enum Action {
        /// The job has a slot: start its work. Its priority is the highest of its subscribers'.
        case start(Job, ImageRequest.Priority)
        /// The job has no subscribers any more: stop its work, and report `jobStopped` when it has stopped.
        case cancel(Job)
        /// The job is not needed any more, and does not run now or never ran: release it.
        case discard(Job)
        /// The priority of a running job has changed.
        case reprioritize(Job, ImageRequest.Priority)
        /// The job is not sent, because its origin's circuit is open: set this error.
        case refuse(Job, Refusal)
        /// Report `probeIsDue` at this time.
        case scheduleProbe(OriginKey, MonotonicTime)
        /// The job of the task has ended, and this is its last progress.
        case report(Task, ImageTask.Progress)
        /// `from` has succeeded: its result is the input of this job.
        case feed(Job, from: Job)
        /// `from` has succeeded or failed: the task gets its result.
        case deliver(Task, from: Job)
    }

    typealias Actions = [Action]

    var tasks: [TaskSlot] = []
    var freeTask: Int32 = -1
    var jobs: [JobSlot] = []
    var freeJob: Int32 = -1
    /// The first live job of each hash bucket, or -1.
    var buckets = [Int32](repeating: -1, count: 64)
    /// By the raw values of their names.
    private var lanes: InlineArray<3, Lane<JobID, OriginKey>>

    /// The circuits of failing origins. If nil, every fetch tries to connect.
    var circuits: OriginCircuits?

    /// The maximum number of tasks, queued and running; `nil` disables the limit.
    var maximumTasks: Int?
    /// The number of tasks without an ending.
    var taskCount = 0
    /// The number of started fetches, counted again after each redirect, less those that ended without work.
    var startedFetches = 0
    /// The number of jobs that are pending or running, or have not stopped yet.
    var jobCount = 0
    /// The number of previews being made; each holds a slot in the decode lane.
    var previewCount = 0
    /// The decisions since the last ``takeJournal()``; nil disables the journal.
    var journal: [JournalEntry]?

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

    /// Whether the limit admits a new task. Tasks in progress need no admission.
    var admitsTask: Bool { maximumTasks.map { taskCount < $0 } ?? true }

    /// Returns whether a job for this key is alive.
    func hasJob(_ key: JobKey) -> Bool {
        liveJob(key) >= 0
    }

    /// Returns the first of the jobs whose results a task still waits for.
    func firstJob(of id: TaskID) -> Job? {
        guard isAlive(id) else { return nil }
        var index = tasks[Int(id.index)].job
        while jobs[Int(index)].upstream >= 0 { index = jobs[Int(index)].upstream }
        return jobs[Int(index)].job
    }

    /// A task subscribes to the result of the last of its steps. Each step works on the result of the one before.
    ///
    /// - Parameter done: the number of steps that need no job, because their result is in memory.
    /// - Parameter step: returns the step at a position.
    /// - Parameter observes: whether the task observes how its first job progresses.
    /// - Parameter makeJob: creates the job of a step that has no live job, from the step's position and the job's
    ///   identity.
    /// - Returns: the task's identity, and the number of its steps that were in progress already.
    mutating func taskAdded(
        _ task: Task, steps count: Int, done: Int = 0, step: (Int) -> Step, priority: ImageRequest.Priority,
        observes: Bool = false, now: MonotonicTime,
        actions: inout Actions, makeJob: (Int, JobID) -> Job
    ) -> (task: TaskID, joined: Int) {
        var joined = count
        var previous: Int32 = -1
        while joined > done {
            previous = liveJob(step(joined - 1).key)
            if previous >= 0 { break }
            joined -= 1
        }
        var root: Int32 = -1
        for position in joined..<count {
            let index = makeJobSlot(step(position), upstream: previous)
            let id = jobID(index)
            jobs[Int(index)].job = makeJob(position, id)
            note(.made(id, position: position, after: previous < 0 ? nil : jobID(previous)))
            if previous < 0 { root = index }
            previous = index
        }
        let id = makeTaskSlot(task, job: previous, priority: priority)
        tasks[Int(id.index)].observes = observes
        if observes { countObserver(of: previous, by: 1) }
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
    mutating func taskCancelled(_ id: TaskID, now: MonotonicTime, actions: inout Actions) -> Task? {
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

    /// Calls `body` for each task that depends on this job, directly or through later jobs. `body` must not add a task.
    func forEachTask(of id: JobID, _ body: (TaskID, Task) -> Void) {
        guard isAlive(id) else { return }
        forEachTask(ofJobAt: id.index, body)
    }

    /// Calls `body` for each task that subscribes to this job's own result.
    func forEachOwnTask(of id: JobID, _ body: (Task) -> Void) {
        guard isAlive(id) else { return }
        forEachOwnTask(ofJobAt: id.index) { _, task in body(task) }
    }

    private func forEachOwnTask(ofJobAt index: Int32, _ body: (TaskID, Task) -> Void) {
        var waiter = jobs[Int(index)].firstTask
        while waiter >= 0 {
            let slot = tasks[Int(waiter)]
            if let task = slot.task { body(TaskID(index: waiter, generation: slot.generation), task) }
            waiter = slot.next
        }
    }

    private func forEachTask(ofJobAt index: Int32, _ body: (TaskID, Task) -> Void) {
        forEachOwnTask(ofJobAt: index, body)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            forEachTask(ofJobAt: dependent, body)
            dependent = jobs[Int(dependent)].nextSibling
        }
    }

    /// Calls `body` for each task.
    func forEachTask(_ body: (TaskID, Task) -> Void) {
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

    /// Returns whether a task subscribes to this job's own result, not only to a later job's.
    func hasTasks(_ id: JobID) -> Bool {
        isAlive(id) && jobs[Int(id.index)].firstTask >= 0
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
            let next = jobs[Int(dependent)].nextSibling
            jobs[Int(dependent)].upstream = -1
            jobs[Int(dependent)].previousSibling = -1
            jobs[Int(dependent)].nextSibling = -1
            if let later = jobs[Int(dependent)].job { actions.append(.feed(later, from: job)) }
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
    mutating func jobStopped(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id) else { return }
        guard case .stopping = jobs[Int(id.index)].state else { return }
        note(.stopped(id))
        releasePlace(of: id.index, now: now, actions: &actions)
        freeJobSlot(id.index)
    }

    /// The job has to continue elsewhere: it gives its slot back and queues for one there.
    ///
    /// - Parameters:
    ///   - ahead: whether it goes to the front of its level, because it has had a slot before.
    ///   - hasStaleResponse: whether it has a stored response to serve if its origin cannot be reached.
    mutating func jobMoved(
        _ id: JobID, to lane: LaneName, group: OriginKey, ahead: Bool, hasStaleResponse: Bool = false,
        now: MonotonicTime,
        actions: inout Actions
    ) {
        guard leavePlace(id, now: now, actions: &actions) else { return }
        let left = jobs[Int(id.index)].lane
        jobs[Int(id.index)].lane = lane
        jobs[Int(id.index)].group = group
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
