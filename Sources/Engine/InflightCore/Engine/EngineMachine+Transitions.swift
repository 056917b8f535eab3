import InflightConcurrency

// The parts that the machine's events share: priorities, lanes, endings.

extension EngineMachine {
    // MARK: Priorities

    /// A subscriber of the job arrived (`old` is -1), changed its priority, or left (`new` is -1). The change
    /// propagates to the jobs upstream. A job whose last subscriber has left is abandoned.
    mutating func changeCount(
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

    mutating func priorityChanged(
        _ index: Int32, to level: Int8, now: MonotonicTime, actions: inout Actions
    ) {
        switch jobs[Int(index)].state {
        case .queued(let ticket):
            self[jobs[Int(index)].lane].move(ticket, toLevel: Int(level), now: now)
        case .running:
            if let job = jobs[Int(index)].job, let priority = ImageRequest.Priority(rawValue: UInt8(level)) {
                actions.append(.reprioritize(job, priority))
            }
        case .waiting, .asleep, .stopping:
            break
        }
    }

    /// The job has no subscribers any more.
    mutating func abandon(_ index: Int32, now: MonotonicTime, actions: inout Actions) {
        leaveTable(index)
        unlinkFromUpstream(index)
        guard let job = jobs[Int(index)].job else { return }
        note(.abandoned(jobID(index)))
        switch jobs[Int(index)].state {
        case .waiting, .asleep:
            note(.discarded(jobID(index)))
            actions.append(.discard(job))
            freeJobSlot(index)
        case .queued(let ticket):
            note(.discarded(jobID(index)))
            self[jobs[Int(index)].lane].remove(ticket)
            leaveProbe(index, now: now)
            actions.append(.discard(job))
            freeJobSlot(index)
        case .running:
            jobs[Int(index)].state = .stopping
            actions.append(.cancel(job))
        case .stopping:
            break
        }
    }

    // MARK: Lanes

    mutating func enqueue(_ index: Int32, now: MonotonicTime, ahead: Bool = false) {
        guard let group = jobs[Int(index)].group else { preconditionFailure("a job without a group was enqueued") }
        let (id, lane) = (jobID(index), jobs[Int(index)].lane)
        let level = max(0, Int(jobs[Int(index)].level))
        jobs[Int(index)].state = .queued(
            self[lane].enqueue(id, level: level, group: group, now: now, ahead: ahead))
        note(.queued(id, lane))
    }

    /// Starts the queued jobs for which there are slots now.
    mutating func startReady(_ lane: LaneName, now: MonotonicTime, actions: inout Actions) {
        while let id = self[lane].next(now: now) {
            jobs[Int(id.index)].state = .running
            note(.started(id, lane))
            if lane == .fetch {
                startedFetches += 1
                fetchStarts(id.index, now: now)
            }
            let priority = ImageRequest.Priority(rawValue: UInt8(max(0, jobs[Int(id.index)].level))) ?? .normal
            if let job = jobs[Int(id.index)].job { actions.append(.start(job, priority)) }
        }
    }

    /// Starts the queued jobs for which there are slots now, in the lanes in which fetches begin.
    mutating func startReadyFetches(now: MonotonicTime, actions: inout Actions) {
        startReady(.store, now: now, actions: &actions)
        startReady(.fetch, now: now, actions: &actions)
    }

    mutating func giveBackPlace(of index: Int32, now: MonotonicTime) {
        leaveProbe(index, now: now)
        let lane = jobs[Int(index)].lane
        guard let group = jobs[Int(index)].group else { return }
        self[lane].release(group: group, now: now)
    }

    mutating func releasePlace(of index: Int32, now: MonotonicTime, actions: inout Actions) {
        giveBackPlace(of: index, now: now)
        startReady(jobs[Int(index)].lane, now: now, actions: &actions)
    }

    // MARK: Endings

    mutating func deliverToTasks(of index: Int32, from job: Job, actions: inout Actions) {
        var waiter = jobs[Int(index)].firstTask
        while waiter >= 0 {
            let next = tasks[Int(waiter)].next
            if let task = freeTaskSlot(waiter) { actions.append(.deliver(task, from: job)) }
            waiter = next
        }
        jobs[Int(index)].firstTask = -1
        jobs[Int(index)].lastTask = -1
    }

    /// Ends every task that depends on this job, directly or through later jobs, and drops those jobs.
    mutating func failDependents(of index: Int32, from job: Job, actions: inout Actions) {
        deliverToTasks(of: index, from: job, actions: &actions)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            let next = jobs[Int(dependent)].nextSibling
            leaveTable(dependent)
            failDependents(of: dependent, from: job, actions: &actions)
            note(.discarded(jobID(dependent)))
            if let later = jobs[Int(dependent)].job { actions.append(.discard(later)) }
            freeJobSlot(dependent)
            dependent = next
        }
        jobs[Int(index)].firstDependent = -1
    }

    mutating func leaveTableWithDependents(_ index: Int32) {
        leaveTable(index)
        var dependent = jobs[Int(index)].firstDependent
        while dependent >= 0 {
            leaveTableWithDependents(dependent)
            dependent = jobs[Int(dependent)].nextSibling
        }
    }
}
