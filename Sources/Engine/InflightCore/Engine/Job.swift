import InflightConcurrency

/// One unit of shared work, as the graph's actions see it. Subclasses do the work.
///
/// `start` and `cancel` may be called on two threads at once, in either order. A cancel that comes first is latched,
/// and the start then ends at once. Every job that was started reports its end to the engine, once.
// Unchecked: `result` is written by the job's work before its end is reported to the graph, and read after that, with
// the engine's lock taken in between. Subclasses state what guards their own properties.
class Job: @unchecked Sendable {
    typealias ID = JobGraph.JobID

    let engine: Engine
    let id: ID
    let plan: RequestPlan
    /// Where it fetches, which a redirect changes. Read and written by the graph alone, with the engine's lock held.
    final var origin: OriginKey
    /// The job's result, once it has ended.
    final var result: JobResult?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.engine = engine
        self.id = id
        self.plan = plan
        origin = plan.origin
    }

    /// The job has a slot: begins its work, on a thread of its own kind. Returns at once.
    ///
    /// - Returns: the job's step if it has none to do, for example because a limit has passed. The engine applies it
    ///   after this call has returned: a job that reported it inside would start the next one inside its own start, and
    ///   so on for each queued job.
    func start(priority: ImageRequest.Priority) -> JobStep? {
        preconditionFailure("a job without work was started")
    }

    /// The last subscriber has left. Returns at once; the end is reported when the work has stopped.
    func cancel() {}

    /// The job before has succeeded, and its result is this job's input. Called with the engine's lock held, so that
    /// it precedes any start.
    func feed(_ result: JobResult) {}

    /// The origin cannot be reached, and the job is not sent. Called with the engine's lock held.
    func refuse(_ error: LoadError) { result = JobResult(.failure(error)) }

    /// Releases the resources of a job that is no longer needed and does not run.
    func discard() {}

    /// The priority has changed while the job runs.
    func reprioritize() {}

    /// The codecs that decode its bytes. Those of a stored processed image were encoded by the pipeline's own.
    final var codecs: CodecRegistry { engine.codecs(named: plan.isProcessedLookUp ? nil : plan.request.decoder) }

    /// Calls `body` with the job's current priority.
    ///
    /// Two threads may report changes in either order. Each repeats the call until the passed priority equals the
    /// machine's, so the last call always passes the latest priority.
    final func passPriorityOn(_ body: (ImageRequest.Priority) -> Void) {
        var passed: ImageRequest.Priority?
        while let priority = engine.priority(of: id), priority != passed {
            body(priority)
            passed = priority
        }
    }

    /// Whether the result may exceed the limits of a task that joined late. Called with the engine's lock held.
    var mayExceedLimits: Bool { false }

    /// Returns an error if the result exceeds these limits. Called with the engine's lock held.
    func excess(of limits: ImageRequest.Limits) -> LoadError? { nil }

    /// The graph has recorded that the job is asleep.
    func didSuspend() {}

    /// The fields that describe the job in the log.
    var logFields: [(name: String, value: String)] { [] }

    /// Reports an event to the observer. Without one, no event is built. Called with no lock held.
    @inline(__always)
    final func emit(_ kind: @autoclosure () -> ImagePipeline.Event.Kind) {
        guard let telemetry = engine.telemetry else { return }
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
        case moved(JobGraph.LaneName, OriginKey, ahead: Bool, hasStaleResponse: Bool = false)
        /// It waits for a time, without a slot.
        case slept
        /// Its wait is over.
        case woke
    }

    var job: Job
    var event: Event
    /// Transfers that resume because the job's body has ended, after the job has left the table.
    var grants: [BodyBudget.Grant] = []
    /// The last progress of the job's body, if it has not been reported yet.
    var lastProgress: ImageTask.Progress?
}

extension JobStep {
    /// The job has ended, successfully or not according to its result.
    init(
        ended job: Job, grants: [BodyBudget.Grant] = [], lastProgress: ImageTask.Progress? = nil
    ) {
        let event = job.result?.error == nil ? Event.succeeded : .failed
        self.init(job: job, event: event, grants: grants, lastProgress: lastProgress)
    }
}

/// The result of a job: one object for all its subscribers.
final class JobResult: Sendable {
    /// Boxed except for bytes, so that the object that every download creates is small. It is released on another
    /// thread than it was created on, and glibc frees up to 120 bytes without a lock.
    enum Value: Sendable {
        indirect case image(LoadedImage)
        case response(LoadedResponse)
        indirect case info(RemoteImageInfo)
        case failure(LoadError)

        /// Whether these are stored bytes.
        var isStoredResponse: Bool {
            guard case .response(let response) = self else { return false }
            return response.source == .disk || response.source == .revalidated
        }
    }

    let value: Value
    /// Whether a stored response turned out to be unusable, so that the task may retry with the origin.
    let isFromStore: Bool
    /// Whether the result is stale and its revalidation has been requested.
    let isBeingRevalidated: Bool

    init(_ value: Value, isFromStore: Bool = false, isBeingRevalidated: Bool = false) {
        self.value = value
        self.isFromStore = isFromStore
        self.isBeingRevalidated = isBeingRevalidated
    }

    /// Whether this is a stale image whose revalidation has been requested.
    var isStaleImageBeingRevalidated: Bool {
        if case .image = value { return isBeingRevalidated }
        return false
    }

    var error: LoadError? {
        if case .failure(let error) = value { return error }
        return nil
    }

    /// Returns the error that a task with that goal gets, if any. The image of a source has no file.
    func error(for goal: RequestPlan.Goal) -> LoadError? {
        switch (value, goal) {
        case (.failure(let error), _): error
        case (.image(let image), .data), (.image(let image), .response): Self.noFile(image.url)
        default: nil
        }
    }

    private static func noFile(_ url: String) -> LoadError {
        LoadError(
            .invalidRequest, stage: .fetch, url: url,
            message: "The image source provides pixels, not a file. Request the image instead.")
    }

    func image(isShared: Bool) -> Result<LoadedImage, LoadError> {
        switch value {
        case .image(var image):
            if isShared, image.source == .network { image.source = .shared }
            return .success(image)
        case .failure(let error): return .failure(error)
        case .response, .info: preconditionFailure("a task for an image received another result")
        }
    }

    func response(isShared: Bool) -> Result<LoadedResponse, LoadError> {
        switch value {
        case .response(var response):
            if isShared, response.source == .network { response.source = .shared }
            return .success(response)
        case .failure(let error): return .failure(error)
        case .image(let image): return .failure(Self.noFile(image.url))
        case .info: preconditionFailure("a task for bytes received another result")
        }
    }

    var info: Result<RemoteImageInfo, LoadError> {
        switch value {
        case .info(let info): return .success(info)
        case .failure(let error): return .failure(error)
        case .image, .response: preconditionFailure("a task for image information received another result")
        }
    }
}
