// What the machine has decided, in words for whoever listens: kept only where somebody reads it.

extension EngineMachine {
    enum JournalEntry {
        /// The job is there, for a task's step at that position; it works on the result of the one before.
        case made(JobID, position: Int, after: JobID?)
        /// The task waits for what the job gives.
        case waits(Task, JobID)
        /// The job was under way when the task came.
        case joined(Task, JobID)
        case queued(JobID, LaneName)
        case started(JobID, LaneName)
        case prioritized(JobID, LoadPriority)
        case abandoned(JobID)
        /// It went well, or badly, as its result says.
        case ended(JobID, Job)
        /// It was refused, because its origin's circuit is open.
        case refused(JobID, Refusal)
        /// The circuit of an origin has changed because of what the job did.
        case circuit(JobID, OriginKey, PipelineEvent.CircuitState)
        case discarded(JobID)
        case stopped(JobID)
    }

    /// Writes down what a task has found.
    ///
    /// - Parameter joined: how many of its `count` steps were under way.
    mutating func noteAdded(_ task: Task, job: Int32, steps count: Int, joined: Int) {
        guard journal != nil else { return }
        note(.waits(task, jobID(job)))
        guard joined > 0 else { return }
        var shared = job
        for _ in joined..<count { shared = jobs[Int(shared)].upstream }
        note(.joined(task, jobID(shared)))
    }

    @inline(__always)
    mutating func note(_ entry: JournalEntry) {
        if journal != nil { journal?.append(entry) }
    }

    func jobID(_ index: Int32) -> JobID {
        JobID(index: index, generation: jobs[Int(index)].generation)
    }

    /// What was written down since the last time. `nil` where nobody reads it.
    mutating func takeJournal() -> [JournalEntry]? {
        guard let entries = journal else { return nil }
        if !entries.isEmpty { journal = [] }
        return entries
    }
}
