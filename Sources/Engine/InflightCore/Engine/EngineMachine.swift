import InflightConcurrency

/// The heart of the engine: which jobs there are, who waits for them, what they are worth, and which of them run.
///
/// A value without locks, clocks and I/O. It is told what happened (`taskAdded`, `jobFinished`, …) and appends to
/// `actions` what has to be done about it, in order; whoever holds it does that after having left its lock. It alone
/// holds jobs, waiters, priorities and places in lanes.
///
/// - A key has at most one live job. Tasks and later jobs wait for it; its priority is the highest of theirs.
/// - A job that nobody waits for any more leaves the table at once. If it runs, it keeps its place until
///   ``jobStopped(_:now:actions:)`` says that its work has in fact stopped.
///
/// Every event takes constant time, but for those that fan out: one step for each waiter that is told something.
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

    /// One stage of a task's way: what it is known by, and where it runs.
    struct Step {
        var key: JobKey
        var lane: LaneName
        var group: OriginKey
    }

    enum Action {
        /// The job has a place: start its work. Its priority is the highest of those who wait for it.
        case start(Job, LoadPriority)
        /// Nobody wants the job any more: stop its work, and say `jobStopped` when it has stopped.
        case cancel(Job)
        /// Nobody wants the job any more, and it never ran, or does not run now: let go of it.
        case discard(Job)
        /// The job runs and is worth more or less now.
        case reprioritize(Job, LoadPriority)
        /// The job is not sent, because its origin's circuit is open: its error is this.
        case refuse(Job, Refusal)
        /// Tell the machine when this time has come: a probe is due then.
        case scheduleProbe(OriginKey, MonotonicTime)
        /// `from` went well: its result is what this job works on.
        case feed(Job, from: Job)
        /// `from` has ended, well or badly: this task gets what it gave.
        case deliver(Task, from: Job)
    }

    typealias Actions = SmallList<Action>

    var tasks: [TaskSlot] = []
    var freeTask: Int32 = -1
    var jobs: [JobSlot] = []
    var freeJob: Int32 = -1
    /// The first live job of each place that a key's hash may fall to, or -1.
    var buckets = [Int32](repeating: -1, count: 64)
    var storeLane: Lane<JobID, OriginKey>
    var fetchLane: Lane<JobID, OriginKey>
    var decodeLane: Lane<JobID, OriginKey>

    /// The circuits of failing origins; `nil` where every load tries by itself.
    var circuits: OriginCircuits?

    /// The maximum number of tasks, queued and running; `nil` disables the limit.
    var maximumTasks: Int?
    /// Tasks that have not been told an ending.
    var taskCount = 0
    /// How often a job was started in the fetch lane and had something to do there, again after each redirect.
    var startedFetches = 0
    /// Jobs that wait, run, or have not stopped yet.
    var jobCount = 0
    /// Previews that are being made: each holds a place in the decode lane.
    var previewCount = 0
    /// What was decided, where somebody reads it; `nil` where nobody does.
    var journal: [JournalEntry]?

    init(
        storeLane: Lane<JobID, OriginKey>.Configuration = .init(limit: 1),
        fetchLane: Lane<JobID, OriginKey>.Configuration, decodeLane: Lane<JobID, OriginKey>.Configuration
    ) {
        self.storeLane = Lane(storeLane)
        self.fetchLane = Lane(fetchLane)
        self.decodeLane = Lane(decodeLane)
    }

    /// Jobs that wait for a place, and those that have one.
    var waitingJobs: ImagePipeline.Statistics.Lanes {
        .init(store: storeLane.waiting, fetch: fetchLane.waiting, decode: decodeLane.waiting)
    }
    var runningJobs: ImagePipeline.Statistics.Lanes {
        .init(store: storeLane.running, fetch: fetchLane.running, decode: decodeLane.running)
    }

    var isIdle: Bool { taskCount == 0 && jobCount == 0 && previewCount == 0 }

    // MARK: Tasks

    /// Whether there is room for a task that is not in progress elsewhere already.
    var admitsTask: Bool { maximumTasks.map { taskCount < $0 } ?? true }

    /// Whether a job for this key is alive.
    func hasJob(_ key: JobKey) -> Bool {
        liveJob(key) >= 0
    }

    /// The first job whose result a task still waits for.
    func firstJob(of id: TaskID) -> Job? {
        guard isAlive(id) else { return nil }
        var index = tasks[Int(id.index)].job
        while jobs[Int(index)].upstream >= 0 { index = jobs[Int(index)].upstream }
        return jobs[Int(index)].job
    }

    /// A task wants what comes out of the last of its steps, each of which works on the result of the one before.
    ///
    /// - Parameter done: how many of the steps need no job: their result is in memory.
    /// - Parameter step: gives the step at a position.
    /// - Parameter makeJob: makes the job of a step that nobody else has under way. It is told the step's position and
    ///   its identity here.
    /// - Returns: the task's identity, and how many of the steps it found under way already.
    mutating func taskAdded(
        _ task: Task, steps count: Int, done: Int = 0, step: (Int) -> Step, priority: LoadPriority, now: MonotonicTime,
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
        if joined == done { joined = 0 }
        noteAdded(task, job: previous, steps: count, joined: joined)
        changeCount(of: previous, from: -1, to: Int8(priority.rawValue), now: now, actions: &actions)
        if root >= 0 {
            enqueueOrRefuse(root, now: now, actions: &actions)
            // What begins with a finished prefix needs no fetch.
            if done > 0 { startReady(jobs[Int(root)].lane, now: now, actions: &actions) }
        }
        // Who joins may have raised a fetch that waits into the places that low priorities leave free.
        startReadyFetches(now: now, actions: &actions)
        return (id, joined)
    }

    /// A task is not interested any more. Gives the task, or `nil` where it had been told its ending before.
    @discardableResult
    mutating func taskCancelled(_ id: TaskID, now: MonotonicTime, actions: inout Actions) -> Task? {
        guard isAlive(id) else { return nil }
        let job = tasks[Int(id.index)].job
        let priority = tasks[Int(id.index)].priority
        unlinkTask(id.index)
        let task = freeTaskSlot(id.index)
        changeCount(of: job, from: Int8(priority.rawValue), to: -1, now: now, actions: &actions)
        startReadyFetches(now: now, actions: &actions)
        startReady(.decode, now: now, actions: &actions)
        return task
    }

    mutating func taskPriorityChanged(
        _ id: TaskID, to priority: LoadPriority, now: MonotonicTime, actions: inout Actions
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

    /// Calls `body` for every task that waits for this job or for what comes of it. Nobody may be added meanwhile.
    func forEachTask(of id: JobID, _ body: (TaskID, Task) -> Void) {
        guard isAlive(id) else { return }
        forEachTask(ofJobAt: id.index, body)
    }

    /// Calls `body` for each task that waits for this job's own result.
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

    /// Calls `body` for every task there is.
    func forEachTask(_ body: (TaskID, Task) -> Void) {
        for (index, slot) in tasks.enumerated() {
            guard let task = slot.task else { continue }
            body(TaskID(index: Int32(index), generation: slot.generation), task)
        }
    }

    /// The highest priority of those who wait for the job; `nil` where nobody does.
    func priority(of id: JobID) -> LoadPriority? {
        guard isAlive(id), let level = UInt8(exactly: jobs[Int(id.index)].level) else { return nil }
        return LoadPriority(rawValue: level)
    }

    /// A job that was started ends without having done anything: its time was up, or nobody waits for it any more.
    mutating func startWasInVain(_ id: JobID) {
        if isAlive(id), jobs[Int(id.index)].lane == .fetch { startedFetches -= 1 }
    }

    /// Whether a task waits for this job's own result, not only for what comes of it.
    func hasTasks(_ id: JobID) -> Bool {
        isAlive(id) && jobs[Int(id.index)].firstTask >= 0
    }

    // MARK: Jobs

    /// The job's work went well. Its result stands in the job itself.
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

    /// The job's work failed: so has everything that was to be made of its result.
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

    /// The work of a cancelled job has in fact stopped: its place is free.
    mutating func jobStopped(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id) else { return }
        guard case .stopping = jobs[Int(id.index)].state else { return }
        note(.stopped(id))
        releasePlace(of: id.index, now: now, actions: &actions)
        freeJobSlot(id.index)
    }

    /// The job has to go on elsewhere: it gives its place back and waits for one there.
    ///
    /// - Parameters:
    ///   - ahead: to the front of its level: its turn has come before.
    ///   - hasStandIn: it has something stored to serve where its origin cannot be reached.
    mutating func jobMoved(
        _ id: JobID, to lane: LaneName, group: OriginKey, ahead: Bool, hasStandIn: Bool = false, now: MonotonicTime,
        actions: inout Actions
    ) {
        guard leavePlace(id, now: now, actions: &actions) else { return }
        let left = jobs[Int(id.index)].lane
        jobs[Int(id.index)].lane = lane
        jobs[Int(id.index)].group = group
        jobs[Int(id.index)].circuitRole = .ordinary
        jobs[Int(id.index)].hasStandIn = hasStandIn
        enqueueOrRefuse(id.index, now: now, ahead: ahead, actions: &actions)
        startReady(left, now: now, actions: &actions)
        if lane != left { startReady(lane, now: now, actions: &actions) }
    }

    /// The job waits for a time to come: it gives its place back, and asks for one again with ``jobWoke(_:now:actions:)``.
    mutating func jobSlept(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard leavePlace(id, now: now, actions: &actions) else { return }
        jobs[Int(id.index)].state = .asleep
        startReady(jobs[Int(id.index)].lane, now: now, actions: &actions)
    }

    /// The time that a job waited for has come: it goes to the front of its level. Nothing where it does not sleep any
    /// more.
    mutating func jobWoke(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id), case .asleep = jobs[Int(id.index)].state else { return }
        jobs[Int(id.index)].circuitRole = .retry
        enqueueOrRefuse(id.index, now: now, ahead: true, actions: &actions)
        startReady(jobs[Int(id.index)].lane, now: now, actions: &actions)
    }

    /// - Returns: whether the job goes on. If not, nobody wants it any more, and it has been let go of.
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

    /// The job's key turned out not to say all: nobody new joins it, or the jobs that work on its result.
    mutating func jobLeftTable(_ id: JobID) {
        guard isAlive(id) else { return }
        leaveTableWithDependents(id.index)
    }

    /// Whether the job waits for its turn.
    func isQueued(_ id: JobID) -> Bool {
        guard isAlive(id), case .queued = jobs[Int(id.index)].state else { return false }
        return true
    }

    /// A job that waits for its turn in vain (its time is up) ends badly.
    mutating func queuedJobFailed(_ id: JobID, now: MonotonicTime, actions: inout Actions) {
        guard isAlive(id), case .queued(let ticket) = jobs[Int(id.index)].state, let job = jobs[Int(id.index)].job
        else { return }
        remove(ticket, from: jobs[Int(id.index)].lane)
        leaveProbe(id.index, now: now)
        leaveTable(id.index)
        note(.ended(id, job))
        failDependents(of: id.index, from: job, actions: &actions)
        freeJobSlot(id.index)
    }

    /// A preview is to be made of what a job has so far.
    ///
    /// - Returns: whether there is a place for that, which no picture that is whole waits for.
    mutating func previewWanted(of id: JobID) -> Bool {
        guard isAlive(id), decodeLane.occupy() else { return false }
        previewCount += 1
        return true
    }

    /// A preview was made, or given up: its place is free.
    mutating func previewEnded(now: MonotonicTime, actions: inout Actions) {
        decodeLane.vacate()
        previewCount -= 1
        startReady(.decode, now: now, actions: &actions)
    }

    /// How many exchanges with the origin may be under way at once.
    func originLimit(of group: OriginKey) -> Int {
        fetchLane.limit(of: group)
    }

    /// An origin turned out to carry many exchanges on one connection, or not to.
    mutating func originLimitChanged(
        _ group: OriginKey, to limit: Int, now: MonotonicTime, actions: inout Actions
    ) {
        if circuits?.isOpen(group) == true { return }
        fetchLane.setLimit(limit, of: group, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }
}
