// The machine's decisions, recorded for the observer; without one, nothing is recorded.

extension EngineMachine {
    enum JournalEntry {
        /// The job was created for a task's step at that position. It works on the result of `after`.
        case made(JobID, position: Int, after: JobID?)
        /// The task waits for the result of the job.
        case waits(Task, JobID)
        /// The job was in progress when the task subscribed.
        case joined(Task, JobID)
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

    /// Takes the entries since the last call, or nil if the journal is disabled.
    mutating func takeJournal() -> [JournalEntry]? {
        guard let entries = journal else { return nil }
        if !entries.isEmpty { journal = [] }
        return entries
    }
}
