import InflightConcurrency

// Storage of tasks and jobs: slots in two arrays, linked by index, so that no task or job needs an allocation of its
// own. A slot that is reused has a new generation, so that old identities do not match it.

extension EngineMachine {
    enum State {
        /// Waits for the result of the job before it.
        case waiting
        case queued(Lane<JobID, OriginKey>.Ticket)
        case running
        /// Waits for a time, and holds no slot in a lane.
        case asleep
        /// Has left the table, and still holds its slot in a lane.
        case stopping
    }

    struct TaskSlot {
        var task: Task?
        var generation: UInt32 = 0
        var job: Int32 = -1
        var previous: Int32 = -1
        /// The next subscriber of the job, or the next free slot.
        var next: Int32 = -1
        var priority = ImageRequest.Priority.normal
        /// Whether it observes how its first job progresses.
        var observes = false
    }

    struct JobSlot {
        var job: Job?
        var key: JobKey?
        var group: OriginKey?
        var generation: UInt32 = 0
        var lane = LaneName.fetch
        var state = State.waiting
        var circuitRole = CircuitRole.ordinary
        /// Whether a stored response may be served if the origin cannot be reached.
        var hasStaleResponse = false
        /// The highest priority of the subscribers, or -1 if there are none.
        var level: Int8 = -1
        /// The number of subscribers at each priority. Each job that works on the result counts as one.
        var counts = InlineArray<5, UInt32>(repeating: 0)
        /// The number of tasks that observe its progress, including those of the jobs that work on its result.
        var observers: Int32 = 0
        /// The tasks that subscribe to this job itself.
        var firstTask: Int32 = -1
        var lastTask: Int32 = -1
        /// The jobs that work on its result.
        var firstDependent: Int32 = -1
        var lastDependent: Int32 = -1
        /// The job whose result it works on, and its siblings among that job's dependents.
        var upstream: Int32 = -1
        var previousSibling: Int32 = -1
        /// The next dependent of `upstream`, or the next free slot.
        var nextSibling: Int32 = -1
        /// The next job in the same bucket of the table.
        var nextInBucket: Int32 = -1
    }

    func jobID(_ index: Int32) -> JobID {
        JobID(index: index, generation: jobs[Int(index)].generation)
    }

    func isAlive(_ id: TaskID) -> Bool {
        tasks[Int(id.index)].generation == id.generation && tasks[Int(id.index)].task != nil
    }

    func isAlive(_ id: JobID) -> Bool {
        jobs[Int(id.index)].generation == id.generation && jobs[Int(id.index)].job != nil
    }

    mutating func makeTaskSlot(_ task: Task, job: Int32, priority: ImageRequest.Priority) -> TaskID {
        let index: Int32
        if freeTask >= 0 {
            index = freeTask
            freeTask = tasks[Int(index)].next
        } else {
            index = Int32(tasks.count)
            tasks.append(TaskSlot())
        }
        let last = jobs[Int(job)].lastTask
        tasks[Int(index)].task = task
        tasks[Int(index)].job = job
        tasks[Int(index)].priority = priority
        tasks[Int(index)].previous = last
        tasks[Int(index)].next = -1
        if last >= 0 { tasks[Int(last)].next = index } else { jobs[Int(job)].firstTask = index }
        jobs[Int(job)].lastTask = index
        taskCount += 1
        return TaskID(index: index, generation: tasks[Int(index)].generation)
    }

    mutating func unlinkTask(_ index: Int32) {
        let slot = tasks[Int(index)]
        if slot.previous >= 0 {
            tasks[Int(slot.previous)].next = slot.next
        } else {
            jobs[Int(slot.job)].firstTask = slot.next
        }
        if slot.next >= 0 {
            tasks[Int(slot.next)].previous = slot.previous
        } else {
            jobs[Int(slot.job)].lastTask = slot.previous
        }
    }

    mutating func freeTaskSlot(_ index: Int32) -> Task? {
        let task = tasks[Int(index)].task.take()
        tasks[Int(index)].generation &+= 1
        tasks[Int(index)].next = freeTask
        freeTask = index
        taskCount -= 1
        return task
    }

    mutating func makeJobSlot(_ step: Step, upstream: Int32) -> Int32 {
        let index: Int32
        if freeJob >= 0 {
            index = freeJob
            freeJob = jobs[Int(index)].nextSibling
            jobs[Int(index)].nextSibling = -1
        } else {
            index = Int32(jobs.count)
            jobs.append(JobSlot())
        }
        jobs[Int(index)].key = step.key
        jobs[Int(index)].lane = step.lane
        jobs[Int(index)].group = step.group
        jobs[Int(index)].upstream = upstream
        if upstream >= 0 {
            let last = jobs[Int(upstream)].lastDependent
            let hasSiblings = jobs[Int(upstream)].firstDependent >= 0
            jobs[Int(index)].previousSibling = hasSiblings ? last : -1
            if hasSiblings {
                jobs[Int(last)].nextSibling = index
            } else {
                jobs[Int(upstream)].firstDependent = index
            }
            jobs[Int(upstream)].lastDependent = index
        }
        enterTable(index, hash: step.key.hash)
        jobCount += 1
        return index
    }

    mutating func unlinkFromUpstream(_ index: Int32) {
        let slot = jobs[Int(index)]
        guard slot.upstream >= 0 else { return }
        if slot.previousSibling >= 0 {
            jobs[Int(slot.previousSibling)].nextSibling = slot.nextSibling
        } else {
            jobs[Int(slot.upstream)].firstDependent = slot.nextSibling
        }
        if slot.nextSibling >= 0 {
            jobs[Int(slot.nextSibling)].previousSibling = slot.previousSibling
        } else {
            jobs[Int(slot.upstream)].lastDependent = slot.previousSibling
        }
        jobs[Int(index)].upstream = -1
        jobs[Int(index)].previousSibling = -1
        jobs[Int(index)].nextSibling = -1
    }

    mutating func freeJobSlot(_ index: Int32) {
        // Field by field: replacing the slot of a generic type as a whole costs several times as much.
        jobs[Int(index)].job = nil
        jobs[Int(index)].key = nil
        jobs[Int(index)].group = nil
        jobs[Int(index)].generation &+= 1
        jobs[Int(index)].state = .waiting
        jobs[Int(index)].circuitRole = .ordinary
        jobs[Int(index)].hasStaleResponse = false
        jobs[Int(index)].level = -1
        jobs[Int(index)].counts = .init(repeating: 0)
        jobs[Int(index)].observers = 0
        jobs[Int(index)].firstTask = -1
        jobs[Int(index)].lastTask = -1
        jobs[Int(index)].firstDependent = -1
        jobs[Int(index)].lastDependent = -1
        jobs[Int(index)].upstream = -1
        jobs[Int(index)].previousSibling = -1
        jobs[Int(index)].nextInBucket = -1
        jobs[Int(index)].nextSibling = freeJob
        freeJob = index
        jobCount -= 1
    }
}

extension EngineMachine.JobSlot {
    mutating func count(_ level: Int8, by difference: Int) {
        counts[Int(level)] = UInt32(Int(counts[Int(level)]) + difference)
    }

    var highestCounted: Int8 {
        var level: Int8 = 4
        while level >= 0, counts[Int(level)] == 0 { level -= 1 }
        return level
    }
}
