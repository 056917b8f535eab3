import InflightConcurrency

/// One piece of shared work, as the machine's actions concern it. What it is and does is its subclass's.
///
/// `start` and `cancel` may come from two threads at once, in either order: a cancel that comes first is latched, and the
/// start then ends at once. Every job that was started tells the engine its end, once.
// Unchecked: `result` is written by the job's work before the machine hears of its end, and read after that, with the
// engine's lock taken in between; subclasses say what guards theirs.
class EngineJob: @unchecked Sendable {
    typealias ID = Engine.Machine.JobID

    let engine: Engine
    let id: ID
    /// What the job gave, once it has ended.
    final var result: JobResult?

    init(engine: Engine, id: ID) {
        self.engine = engine
        self.id = id
    }

    /// The job has a place: its work begins, on a thread of its own kind. Returns at once.
    func start(priority: LoadPriority) { preconditionFailure("a job without work was started") }

    /// Nobody wants it any more. Returns at once; the end is told when the work has stopped.
    func cancel() {}

    /// The job before has ended well: this is what to work on. Called with the engine's lock held, so that it comes before
    /// any start.
    func feed(_ result: JobResult) {}

    /// Its origin cannot be reached, and it is not sent. Called with the engine's lock held.
    func refuse(_ error: LoadError) { result = JobResult(.failure(error)) }

    /// Nobody wants it any more, and it does not run: let go of what it holds.
    func discard() {}

    /// The priority has changed while the job runs.
    func reprioritize(_ priority: LoadPriority) {}

    /// Passes the job's present priority on.
    ///
    /// Two threads may bring changes in either order, so what was passed on is compared with the machine's until both are
    /// the same: the last thread to do so has passed on the last change.
    final func passPriorityOn(_ body: (LoadPriority) -> Void) {
        var passed: LoadPriority?
        while let priority = engine.priority(of: id), priority != passed {
            body(priority)
            passed = priority
        }
    }

    /// The machine knows by now that the job waits for its turn elsewhere, or for a time to come. It may have been started
    /// again meanwhile.
    func waits() {}

    /// What the log tells of the job.
    var logFields: [(name: String, value: String)] { [] }
}

/// How a job came on.
struct JobStep {
    enum Event {
        /// Its work went well; the result stands in the job.
        case succeeded
        /// Its work went badly, or was cancelled; the error stands in the job.
        case failed
        /// It has to go on in another lane, or at another origin; ahead of those that wait, where its turn has come before.
        case moved(Engine.Machine.LaneName, OriginKey, ahead: Bool, hasStandIn: Bool = false)
        /// It waits for a time to come, without a place.
        case slept
        /// The time has come.
        case woke
    }

    var job: EngineJob
    var event: Event
    /// Transfers that go on because the job's body is over: after the job has left the table.
    var grants: [BodyBudget<FetchJob.Paused>.Grant] = []
}

extension JobStep {
    /// Whether the job goes on later.
    var isWaiting: Bool {
        switch event {
        case .moved, .slept: true
        case .succeeded, .failed, .woke: false
        }
    }

    /// The job has ended as its result says.
    init(ended job: EngineJob, grants: [BodyBudget<FetchJob.Paused>.Grant] = []) {
        self.init(job: job, event: job.result?.error == nil ? .succeeded : .failed, grants: grants)
    }
}
