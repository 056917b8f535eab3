import InflightConcurrency

/// One unit of shared work, as the machine's actions see it. Subclasses do the work.
///
/// `start` and `cancel` may be called on two threads at once, in either order. A cancel that comes first is latched,
/// and the start then ends at once. Every job that was started reports its end to the scheduler, once.
// Unchecked: `result` is written by the job's work before its end is reported to the machine, and read after that, with
// the scheduler's lock taken in between. Subclasses state what guards their own properties.
class EngineJob: @unchecked Sendable {
    typealias ID = Scheduler.Machine.JobID

    let id: ID
    /// The job's result, once it has ended.
    final var result: JobResult?

    init(id: ID) {
        self.id = id
    }

    /// The scheduler that the job reports to. Each subclass returns the one of its stage.
    var scheduler: Scheduler { preconditionFailure("a job belongs to no stage") }

    /// The job has a slot: begins its work, on a thread of its own kind. Returns at once.
    ///
    /// - Returns: the job's step if it has none to do, for example because a limit has passed. The scheduler applies it
    ///   after this call has returned: a job that reported it inside would start the next one inside its own start, and
    ///   so on for each queued job.
    func start(priority: ImageRequest.Priority) -> JobStep? {
        preconditionFailure("a job without work was started")
    }

    /// The last subscriber has left. Returns at once; the end is reported when the work has stopped.
    func cancel() {}

    /// The job before has succeeded, and its result is this job's input. Called with the scheduler's lock held, so that
    /// it precedes any start.
    func feed(_ result: JobResult) {}

    /// The origin cannot be reached, and the job is not sent. Called with the scheduler's lock held.
    func refuse(_ error: LoadError) { result = JobResult(.failure(error)) }

    /// Releases the resources of a job that is no longer needed and does not run.
    func discard() {}

    /// The priority has changed while the job runs.
    func reprioritize() {}

    /// Calls `body` with the job's current priority.
    ///
    /// Two threads may report changes in either order. Each repeats the call until the passed priority equals the
    /// machine's, so the last call always passes the latest priority.
    final func passPriorityOn(_ body: (ImageRequest.Priority) -> Void) {
        var passed: ImageRequest.Priority?
        while let priority = scheduler.priority(of: id), priority != passed {
            body(priority)
            passed = priority
        }
    }

    /// The machine has recorded that the job is asleep.
    func didSuspend() {}

    /// The fields that describe the job in the log.
    var logFields: [(name: String, value: String)] { [] }

    /// Reports an event to the observer. Without one, no event is built. Called with no lock held.
    @inline(__always)
    final func emit(_ kind: @autoclosure () -> ImagePipeline.Event.Kind) {
        guard let telemetry = scheduler.telemetry else { return }
        telemetry.emit(kind(), job: id.number)
    }
}

/// A state change of a job.
struct JobStep {
    enum Event {
        /// The work succeeded. The result is set.
        case succeeded
        /// The work failed or was cancelled. The result is the error.
        case failed
        /// It continues in another lane or at another origin, ahead of the queued jobs if it has had a slot before.
        case moved(Scheduler.Machine.LaneName, OriginKey, ahead: Bool, hasStaleResponse: Bool = false)
        /// It waits for a time, without a slot.
        case slept
        /// Its wait is over.
        case woke
    }

    var job: EngineJob
    var event: Event
    /// Transfers that resume because the job's body has ended, after the job has left the table.
    var grants: [BodyBudget.Grant] = []
    /// The last progress of the job's body, if it has not been reported yet.
    var lastProgress: ImageTask.Progress?
}

extension JobStep {
    /// The job has ended, successfully or not according to its result.
    init(
        ended job: EngineJob, grants: [BodyBudget.Grant] = [],
        lastProgress: ImageTask.Progress? = nil
    ) {
        let event = job.result?.error == nil ? Event.succeeded : .failed
        self.init(job: job, event: event, grants: grants, lastProgress: lastProgress)
    }
}
