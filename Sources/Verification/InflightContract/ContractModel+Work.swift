public import InflightCore

// Which tasks subscribe to which jobs, and how jobs end.

extension ContractModel {
    // MARK: Coalescing

    /// Subscribes to the latest live stage, and begins the stages after it.
    func subscribe(_ task: Int, varied: Bool) {
        let spec = tasks[task].spec
        if spec.kind == .refused { return fails(task, .unsupportedScheme) }
        let inMemory = findInMemory(spec, varied: varied)
        if let inMemory, inMemory.stage == spec.stages - 1 {
            tasks[task].isFromMemory = true
            tasks[task].isStale = inMemory.isStale
            return finish(task, .content(inMemory.kept.exchange))
        }
        if inMemory == nil, spec.policy == .onlyCached, spec.source == .none, !mayLookUp(spec) {
            return fails(task, .notStored)
        }
        let done = inMemory.map { $0.stage + 1 } ?? 0
        // A load that was accepted runs to its end, including its fallbacks.
        if isStopped || isClosed && !tasks[task].wasTaken { return finish(task, .failure(.shutDown)) }
        if !tasks[task].wasTaken, exceedsLimit(task) { return finish(task, .failure(.overloaded)) }
        var found = -1
        var stage = spec.stages
        while stage > done {
            let key = spec.key(stage: stage - 1, varied: varied)
            if let job = live.first(where: { jobs[$0].key == key && jobs[$0].isInTable }) {
                found = job
                break
            }
            stage -= 1
        }
        tasks[task].wasTaken = true
        requestedTasks += 1
        if stage > done { coalescedTasks += 1 }
        tasks[task].isShared = stage > done
        for next in stage..<spec.stages {
            jobs.append(
                JobRecord(
                    key: spec.key(stage: next, varied: varied), stage: next, spec: spec, origin: spec.origin,
                    isVaried: varied, hasCredentials: spec.hasCredentials, upstream: found,
                    state: found >= 0 ? .blocked : next == 0 && mayLookUp(spec) ? .looking : .queued))
            if let inMemory, next == done {
                jobs[jobs.count - 1].begins(with: inMemory.kept, isStale: inMemory.isStale)
            }
            found = jobs.count - 1
            live.append(found)
            if jobs[found].state == .looking { store.waiting.append(found) }
        }
        tasks[task].job = found
        // The subscriber may receive the progress of the fetch at once.
        while found >= 0 {
            if tasks[task].isNewestFirst { jobs[found].isNewestFirst = true }
            tasks[task].joinedAfter = activeTime(of: found)
            tasks[task].sent = max(tasks[task].sent, jobs[found].received)
            found = jobs[found].upstream
        }
        noteLevels()
        if stage == 0, let root = live.last(where: { jobs[$0].stage == 0 }), jobs[root].state == .queued {
            reachedQueue(root)
        }
    }

    private func exceedsLimit(_ task: Int) -> Bool {
        if waiting.count > bounds.maximumTasks { return true }
        guard let origin = tasks[task].limitedOrigin else { return false }
        return waiting.count { tasks[$0].limitedOrigin == origin } > bounds.maximumTasksPerOrigin
    }

    /// Returns whether the task subscribes to the job or to a later stage.
    func waits(_ task: Int, for job: Int) -> Bool {
        var next = tasks[task].job
        while next >= 0 {
            if next == job { return true }
            next = jobs[next].upstream
        }
        return false
    }

    /// Returns the highest priority of the job's subscribers, or -1.
    func level(of job: Int) -> Int {
        var level = -1
        for task in waiting where Int(tasks[task].priority.rawValue) > level && waits(task, for: job) {
            level = Int(tasks[task].priority.rawValue)
        }
        return level
    }

    /// Records the levels. A queued job that reaches a level is placed after the others of that level, or before them.
    func noteLevels() {
        for job in live where jobs[job].stage == 0 && jobs[job].state == .queued {
            let level = level(of: job)
            if level != jobs[job].level {
                jobs[job].level = level
                lastSequence += 1
                jobs[job].sequence = jobs[job].isNewestFirst ? -lastSequence : lastSequence
            }
        }
    }

    func finish(_ task: Int, _ outcome: Outcome) {
        if let index = waiting.firstIndex(of: task) { waiting.remove(at: index) }
        tasks[task].job = -1
        tasks[task].phase = tasks[task].queue == Self.ownQueue ? .ended : .undelivered
        tasks[task].outcome = outcome
        if tasks[task].queue == prefetchQueue { deliveries.append(task) }
    }

    /// A task leaves. Jobs without other subscribers are over.
    func leave(_ task: Int) {
        if let index = waiting.firstIndex(of: task) { waiting.remove(at: index) }
        var job = tasks[task].job
        tasks[task].job = -1
        while job >= 0 {
            let upstream = jobs[job].upstream
            if level(of: job) < 0 {
                abandon(job)
                live.removeAll { $0 == job }
            }
            job = upstream
        }
        noteLevels()
    }

    func abandon(_ job: Int) {
        if jobs[job].state == .queued { releaseProbe(job) }
        jobs[job].isInTable = false
        jobs[job].state = .over
    }

    func succeeded(_ job: Int, exchange: Int) {
        live.removeAll { $0 == job }
        abandon(job)
        var revalidation: [Int] = []
        var index = 0
        while index < waiting.count {
            let task = waiting[index]
            if tasks[task].job == job {
                (tasks[task].source, tasks[task].isStale) = (jobs[job].source, jobs[job].isStale)
            }
            if tasks[task].job != job {
                index += 1
            } else if jobs[job].isFollowed, tasks[task].receivesStale, jobs[job].stage > 0 {
                waiting.remove(at: index)
                tasks[task].job = -1
                (tasks[task].stale, tasks[task].standIn) = (exchange, exchange)
                revalidation.append(task)
            } else if tasks[task].spec.kind == .bytes, tasks[task].spec.source == .image {
                fails(task, .invalidRequest)
            } else {
                finish(task, .content(exchange))
            }
        }
        for next in live where jobs[next].upstream == job {
            jobs[next].upstream = -1
            jobs[next].state = .queued
            jobs[next].exchange = exchange
            (jobs[next].source, jobs[next].isStale, jobs[next].isFollowed) =
                (jobs[job].source, jobs[job].isStale, jobs[job].isFollowed)
            (jobs[next].response, jobs[next].redirects) = (jobs[job].response, jobs[job].redirects)
            jobs[next].isOfStored = jobs[job].stage == 0 && jobs[job].isOfStored
        }
        for task in byPriority(revalidation) { resubscribe(task, .imageRevalidation) }
    }

    func failed(_ job: Int, _ code: LoadError.Code) {
        var again: [Int] = []
        for task in waiters(of: job) {
            guard jobs[job].isOfStored, code == .damaged, !tasks[task].hasRefetched else {
                fails(task, code)
                continue
            }
            if let index = waiting.firstIndex(of: task) { waiting.remove(at: index) }
            tasks[task].job = -1
            tasks[task].hasRefetched = true
            again.append(task)
        }
        for next in live where level(of: next) < 0 { abandon(next) }
        live.removeAll { jobs[$0].state == .over }
        for task in byPriority(again) { resubscribe(task, .refetch) }
    }

    /// Tasks that continue together do so in the order of their priority, so that a request that they share is sent
    /// with the highest.
    func byPriority(_ tasks: [Int]) -> [Int] {
        tasks.sorted { self.tasks[$0].priority > self.tasks[$1].priority }
    }

    /// A task that received no ending subscribes to another job.
    private func resubscribe(_ task: Int, _ purpose: RequestSpec.Purpose) {
        tasks[task].spec.purpose = purpose
        waiting.append(task)
        subscribe(task, varied: false)
    }

    // MARK: Exchanges

    func isLive(_ job: Int) -> Bool { jobs[job].state != .over }

    /// Requests for bytes and for images share their fetch.
    static func group(_ kind: RequestSpec.Kind) -> RequestSpec.Kind { kind == .bytes ? .image : kind }

    /// Returns the queued job with these properties.
    func queued(
        _ kind: RequestSpec.Kind, _ resource: UInt8, _ language: UInt8?, isRedirected: Bool, origin: UInt8
    ) -> Int? {
        var job: Int?
        for next in live where jobs[next].stage == 0 && jobs[next].state == .queued {
            let spec = jobs[next].spec
            guard spec.resource == resource, Self.group(spec.kind) == Self.group(kind),
                language == nil || spec.language == language, (jobs[next].redirects > 0) == isRedirected
            else { continue }
            // Two jobs may look the same after a response varied. The exchange then belongs to the next of them in the
            // queue.
            if let found = job, jobs[next].origin != origin || jobs[found].origin == origin && !isBefore(next, found) {
                continue
            }
            job = next
        }
        return job
    }

    /// The engine requests an exchange.
    ///
    /// - Parameters:
    ///   - receiver: the receiver, which is the same for all exchanges of one job.
    ///   - call: the call of `willSend` that has just returned, or -1.
    public func exchangeStarts(
        _ serial: Int, kind: RequestSpec.Kind, resource: UInt8, language: UInt8, origin: UInt8,
        isRedirected: Bool = false,
        hasCredentials: Bool = false, priority: ImageRequest.Priority, receiver: ObjectIdentifier? = nil,
        after call: Int = -1
    ) {
        sentExchanges += 1
        if call >= 0 { return exchangeStarts(serial, origin: origin, hasCredentials, priority, after: call) }
        if bounds.callsWillSend { report(7, "exchange \(serial) was started without a call of willSend") }
        let again = exchanges.firstIndex { $0.isOutOfTime && $0.isBetween }
        if let again { exchanges.remove(at: again) } else { startedExchanges += 1 }
        let known = isRedirected ? receiver.flatMap { redirected($0, resource) } : nil
        guard let job = known ?? queued(kind, resource, language, isRedirected: isRedirected, origin: origin) else {
            exchanges.append(ExchangeRecord(serial: serial, job: -1, origin: origin))
            return report(7, "exchange \(serial) for resource \(resource) was started without a queued job")
        }
        checkOrigin(origin, of: job, serial)
        checkCredentials(hasCredentials, of: job)
        if bounds.isOrderKnown, again == nil { checkTurn(of: job) }
        if again == nil { checkCircuit(job) }
        if bounds.isPriorityKnown { check(priority, of: job) }
        begin(job, at: now)
        jobs[job].exchange = serial
        if let receiver { store.receivers[receiver] = job }
        takeSlot(ExchangeRecord(serial: serial, job: job, origin: origin))
        exchanges[exchanges.count - 1].requestTime = wallTime
        exchanges[exchanges.count - 1].priority = priority
    }

    /// Returns the redirected job of this receiver. Only the receiver distinguishes two jobs that look the same.
    private func redirected(_ receiver: ObjectIdentifier, _ resource: UInt8) -> Int? {
        guard let job = store.receivers[receiver], jobs[job].state == .queued, jobs[job].redirects > 0,
            jobs[job].spec.resource == resource
        else { return nil }
        return job
    }

    private func exchangeStarts(
        _ serial: Int, origin: UInt8, _ hasCredentials: Bool, _ priority: ImageRequest.Priority, after call: Int
    ) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else {
            if bounds.isFlat { report(7, "exchange \(serial) was started without a live job") }
            exchanges.append(ExchangeRecord(serial: serial, job: -1, origin: origin))
            return
        }
        exchanges[index].serial = serial
        exchanges[index].requestTime = wallTime
        exchanges[index].priority = priority
        exchanges[index].call = -1
        let job = exchanges[index].job
        guard job >= 0, isLive(job) else {
            if bounds.isFlat { report(7, "exchange \(serial) was started without a live job") }
            // A cancellation up to now was the cancellation of the call.
            exchanges[index].isCancelled = false
            return
        }
        checkOrigin(origin, of: job, serial)
        checkCredentials(hasCredentials, of: job)
        if bounds.isPriorityKnown { check(priority, of: job) }
        jobs[job].exchange = serial
    }

    private func checkOrigin(_ origin: UInt8, of job: Int, _ serial: Int) {
        if jobs[job].hasAnyOrigin {
            jobs[job].origin = origin
            jobs[job].hasAnyOrigin = false
        }
        if jobs[job].origin != origin { report(7, "exchange \(serial) was sent to a wrong origin") }
    }

    private func check(_ priority: ImageRequest.Priority, of job: Int) {
        let level = level(of: job)
        if Int(priority.rawValue) != level {
            report(7, "a fetch was started at priority \(priority), but its subscribers have \(level)")
        }
    }

    /// The engine calls `setPriority` of an exchange.
    public func exchangeIsPrioritized(_ serial: Int, to priority: ImageRequest.Priority) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].priority = priority
    }

    /// Checks that every exchange has the priority of its subscribers by now.
    public func checkPriorities() {
        for exchange in exchanges where exchange.serial >= 0 && exchange.job >= 0 && isLive(exchange.job) {
            let level = level(of: exchange.job)
            if exchange.isHeld || exchange.isBetween || Int(exchange.priority.rawValue) == level { continue }
            report(7, "exchange \(exchange.serial) runs at \(exchange.priority), but its subscribers have \(level)")
        }
    }

    func running(of origin: UInt8) -> Int {
        var count = 0
        for exchange in exchanges where exchange.origin == origin { count += 1 }
        return count
    }

    /// Returns whether there is a slot for a queued job.
    func hasFreeSlot(_ job: Int) -> Bool {
        if !circuitAllowsFetch(for: job) || jobs[job].hasAnyOrigin { return false }
        let free = bounds.fetches - exchanges.count
        let freeOfOrigin = bounds.fetchesPerOrigin - running(of: jobs[job].origin)
        if jobs[job].level >= Int(ImageRequest.Priority.normal.rawValue) { return free > 0 && freeOfOrigin > 0 }
        return free > Bounds.reserve(of: bounds.fetches)
            && freeOfOrigin > Bounds.reserve(of: bounds.fetchesPerOrigin)
    }

    private func checkTurn(of job: Int) {
        let level = level(of: job)
        if level < Int(ImageRequest.Priority.normal.rawValue) {
            if bounds.fetches - exchanges.count <= Bounds.reserve(of: bounds.fetches) {
                report(11, "a fetch of level \(level) took a reserved slot")
            }
            let origin = jobs[job].origin
            if limit(of: origin) - running(of: origin) <= Bounds.reserve(of: limit(of: origin)) {
                report(11, "a fetch of level \(level) took a reserved slot of origin \(origin)")
            }
        }
        for other in live
        where other != job && jobs[other].stage == 0 && jobs[other].state == .queued && hasFreeSlot(other)
            && !isProbedElsewhere(other, job)
        {
            if jobs[other].level > level {
                report(7, "a fetch of level \(level) was started before one of level \(jobs[other].level)")
            } else if jobs[other].level == level, jobs[other].sequence < jobs[job].sequence {
                report(7, "a fetch was started out of order within its level")
            }
        }
    }

    func isBefore(_ left: Int, _ right: Int) -> Bool {
        jobs[left].level == jobs[right].level
            ? jobs[left].sequence < jobs[right].sequence : jobs[left].level > jobs[right].level
    }

    /// The engine calls `cancel()` of an exchange.
    public func exchangeIsCancelled(_ serial: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].isCancelled = true
        let job = exchanges[index].job
        guard job >= 0, isLive(job) else { return }
        if isLate(job) { exchanges[index].isOutOfTime = true }
        if !exchanges[index].isOutOfTime {
            report(7, "exchange \(serial) was cancelled although its job has subscribers")
        }
    }

    /// The head of a response is about to be delivered. Its connection is multiplexed.
    public func multiplexes(origin: UInt8) {
        multiplexed |= 1 << origin
    }

    /// The head of a response is about to be delivered, and it varies by a field that is excluded from the key.
    public func responseVaries(_ serial: Int) {
        guard let job = exchanges.first(where: { $0.serial == serial })?.job, job >= 0, isLive(job), !jobs[job].isVaried
        else { return }
        let leaving = waiters(of: job).filter { tasks[$0].spec.language != jobs[job].spec.language }
        for other in live where isAtOrAfter(other, job) { jobs[other].isInTable = false }
        for task in leaving {
            leave(task)
            tasks[task].isMoved = true
            waiting.append(task)
        }
        movedTasks += leaving.count
        for task in byPriority(leaving) { subscribe(task, varied: true) }
        // `didReceive` may return after the first task, whose URL would have been fetched, has left.
        for job in live where jobs[job].isVaried && jobs[job].stage == 0 {
            jobs[job].hasAnyOrigin = leaving.contains {
                waits($0, for: job) && tasks[$0].spec.origin != jobs[job].origin
            }
        }
    }

    private func isAtOrAfter(_ later: Int, _ job: Int) -> Bool {
        var next = later
        while next >= 0 {
            if next == job { return true }
            next = jobs[next].upstream
        }
        return false
    }

    /// A response's body has `received` bytes now.
    public func bytesArrive(_ serial: Int, received: Int64) {
        guard let job = exchanges.first(where: { $0.serial == serial })?.job, job >= 0 else { return }
        jobs[job].received = received
        for task in waiting where waits(task, for: job) { tasks[task].sent = max(tasks[task].sent, received) }
    }

    public enum ExchangeEnd: Sendable {
        case content
        case failure(LoadError.Code)
        case redirect(origin: UInt8)
        /// A 401 after which `willSend` is called once more.
        case again
        /// The engine stopped the exchange.
        case stopped
    }

    /// An exchange is about to end.
    public func exchangeEnds(_ serial: Int, _ end: ExchangeEnd) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        var record = exchanges.remove(at: index)
        let job = record.job
        if case .failure(.cannotConnect) = end { connectionFails(record) }
        // A probe that is sent again for a task that has joined remains the probe.
        if case .stopped = end, job >= 0, isLive(job), !isLate(job) {} else { releaseProbe(job) }
        guard job >= 0, isLive(job) else {
            // The 401 was delivered before the job was cancelled. The hook may then still be called.
            if case .again = end, !bounds.isFlat { lateQuestions += 1 }
            // The exchange ended before it was cancelled. Its response affects images in memory.
            if case .content = end, job >= 0, !record.isCancelled {
                recordResponse(of: plainCopy(record), job, from: .network)
            }
            return
        }
        switch end {
        case .again:
            // The record keeps its slot.
            record.serial = -1
            record.isBetween = true
            exchanges.append(record)
        case .content:
            recordResponse(of: plainCopy(record), job, from: .network)
            if failTasks(of: job, .badRedirect, where: { $0.redirects < jobs[job].redirects }) {
                return failed(job, .badRedirect)
            }
            succeeded(job, exchange: serial)
        case .failure(let code):
            // The fetch may have begun to stop the exchange.
            if !bounds.isFlat, isLate(job) {
                for task in waiters(of: job) { tasks[task].mayHaveTimedOut = true }
            }
            failed(job, code)
        case .stopped:
            if !record.isOutOfTime { report(7, "exchange \(serial) was stopped although its job has subscribers") }
            failLateTasks(of: job)
            if isLate(job) { return failed(job, .timedOut) }
            // A task has joined, for which the request is sent again in the same slot.
            jobs[job].state = .queued
            record.serial = -1
            record.isBetween = true
            exchanges.append(record)
        case .redirect(let origin):
            guard follows(job) else { return failed(job, .badRedirect) }
            if isLate(job) { return failed(job, .timedOut) }
            if origin != jobs[job].origin { jobs[job].hasCredentials = false }
            jobs[job].origin = origin
            jobs[job].state = .queued
            jobs[job].waitsSince = now
            jobs[job].level = level(of: job)
            // The job had a slot and gave it back, so it precedes all others of its level.
            lastSequence += 1
            jobs[job].sequence = -lastSequence
            reachedQueue(job)
        }
    }

    /// Counts a redirect, and returns whether it is followed. A resource's redirects all have one target, so the second
    /// leads to its own request, which is a loop.
    func follows(_ job: Int) -> Bool {
        jobs[job].redirects += 1
        let count = jobs[job].redirects
        return count == 1 && !failTasks(of: job, .badRedirect) { $0.redirects < count }
    }

    /// Fails the tasks of a job whose own limit is exceeded.
    ///
    /// - Returns: whether it is for all of them. Then none fails: the job does.
    private func failTasks(of job: Int, _ code: LoadError.Code, where isExceeded: (RequestSpec) -> Bool) -> Bool {
        let tasks = waiters(of: job)
        let refused = tasks.filter { isExceeded(self.tasks[$0].spec) }
        if refused.count == tasks.count { return true }
        for task in refused {
            leave(task)
            fails(task, code)
        }
        return false
    }

    // MARK: Total times

    /// The time for which a fetch has had a slot.
    private func activeTime(of job: Int) -> Int64 {
        guard jobs[job].startedAt >= 0 else { return 0 }
        return (jobs[job].waitsSince < 0 ? now : jobs[job].waitsSince) - jobs[job].startedAt
    }

    private func isLate(_ task: Int, for job: Int) -> Bool {
        let total = tasks[task].spec.totalTime
        return total > 0 && activeTime(of: job) - tasks[task].joinedAfter >= total
    }

    /// Returns whether the total time is over for all tasks that wait for a fetch.
    func isLate(_ job: Int) -> Bool { waiters(of: job).allSatisfy { isLate($0, for: job) } }

    /// The clock has advanced. Tasks whose total time is over fail, if others continue.
    public func totalTimesPass() {
        for job in live where jobs[job].stage == 0 && jobs[job].state == .running {
            failLateTasks(of: job)
            // It is stopped, also if a task joins before that.
            guard isLate(job) else { continue }
            for index in exchanges.indices where exchanges[index].job == job { exchanges[index].isOutOfTime = true }
        }
    }

    private func failLateTasks(of job: Int) {
        if isLate(job) { return }
        for task in waiters(of: job) where isLate(task, for: job) {
            leave(task)
            fails(task, .timedOut)
        }
    }

    /// The clock is about to show this time.
    public func clockAdvances(_ time: Int64) {
        now = time
    }
}
