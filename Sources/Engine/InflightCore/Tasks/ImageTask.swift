import InflightConcurrency

/// A handle to one caller's request, returned by `load` and passed to every callback.
///
/// The engine retains a task until it has ended, so the caller need not. Cancelling a task affects this caller alone:
/// jobs with other subscribers continue. May be used on any thread.
public final class ImageTask: @unchecked Sendable {
    // Unchecked: `state` is accessed only while the task's stripe of locks is held. A million tasks may be queued, so
    // the order of the properties, here and in `State`, leaves few gaps.
    let engine: Engine
    let subject: Subject
    /// The number of this task in the pipeline's events; 0 if the pipeline has no observer.
    public let number: ImagePipeline.Event.TaskNumber
    /// Whether progress is observed.
    let observesProgress: Bool
    /// Whether previews are observed, if the request wants them.
    private let observesPreviews: Bool
    /// The order among queued loads of its priority; nil for that of the pipeline.
    let order: ImagePipeline.LoadOrder?
    let stripe: LockStripes.Stripe
    var state: State

    typealias Machine = GateMachine<TaskEventBacklog, JobResult>

    struct State {
        /// The undelivered events and outcome, and whether they may be delivered.
        var machine = Machine(backlog: TaskEventBacklog())
        var isShared = false
        var id: JobGraph.TaskID?
        /// Whether the request was repeated because a stored response was useless.
        var hasRefetched = false
        /// Whether the task was reported to an observer. Then its ending is reported too.
        var isObserved = false
        var priority: ImageRequest.Priority
        /// The number of the request's fallbacks that were taken.
        var takenFallbacks: UInt16 = 0
        /// The number of processors that made the image being looked up in the store, or -1 without such a lookup.
        var lookedForPrefix: Int16 = -1
        /// The request that has replaced the caller's, with the same key; see ``amend(to:)``.
        var amended: Subject?
        var confirmation = Confirmation.none
        var sink: CallbackSink?
        /// Set while a caller awaits the next event.
        var waiter: Bridge?

        /// Whether the result is still unknown.
        var isPending: Bool { machine.isOpen }
    }

    /// The origin's answer about the stored processed image of the request. It is asked once.
    indirect enum Confirmation {
        case none
        /// The response that the image was made from was confirmed at this time.
        case received(WallTime)
        case used(WallTime)
    }

    enum Subject {
        case plan(RequestPlan)
        /// The request cannot be loaded. Starting the task ends it, or loads its first fallback.
        case rejected(RejectedRequest)

        var request: ImageRequest {
            switch self {
            case .plan(let plan): plan.request
            case .rejected(let rejected): rejected.request
            }
        }

        /// Returns whether both load the same image, so that a job of one could serve the other. Their keys decide.
        ///
        /// - Parameter names: the fields that the keys leave out. They have to agree too, because the response may vary
        ///   by them.
        func isSame(as other: Subject, agreeingIn names: Set<String>) -> Bool {
            guard let key, let otherKey = other.key else {
                // Invalid requests have no keys.
                var request = request
                request.priority = other.request.priority
                return key == nil && other.key == nil && request == other.request
            }
            return key == otherKey && request.limits == other.request.limits
                && request.agrees(with: other.request, in: names)
        }

        private var key: RequestKey? {
            switch self {
            case .plan(let plan): plan.finalKey
            case .rejected(let rejected): rejected.key
            }
        }
    }

    final class RejectedRequest: Sendable {
        let request: ImageRequest
        let error: LoadError
        let goal: RequestPlan.Goal
        /// The key of the result, if the request is valid, but no transport serves its scheme.
        let key: RequestKey?

        init(_ request: ImageRequest, _ error: LoadError, _ goal: RequestPlan.Goal, key: RequestKey? = nil) {
            self.request = request
            self.error = error
            self.goal = goal
            self.key = key
        }
    }

    /// - Parameter order: the order if the request names none.
    init(
        _ subject: Subject, engine: Engine, sink: CallbackSink?, observesProgress: Bool,
        order: ImagePipeline.LoadOrder? = nil
    ) {
        self.subject = subject
        self.order = subject.request.order ?? order
        self.engine = engine
        self.observesProgress = observesProgress
        observesPreviews = sink.map { $0.preview != nil } ?? observesProgress
        number = engine.telemetry?.nextTask() ?? 0
        state = State(priority: subject.request.priority, sink: sink)
        // The stripe is that of an object that lives as long as the task, because `self` is not initialized yet.
        stripe =
            switch subject {
            case .plan(let plan): LockStripes.stripe(for: plan)
            case .rejected(let rejected): LockStripes.stripe(for: rejected)
            }
    }

    /// The request as the caller passed it. Taking one of its fallbacks does not change it. A loader's later request
    /// for the same image does not either.
    public var request: ImageRequest { subject.request }

    var goal: RequestPlan.Goal {
        switch subject {
        case .plan(let plan): plan.goal
        case .rejected(let rejected): rejected.goal
        }
    }

    var plan: RequestPlan? {
        if case .plan(let plan) = subject { return plan }
        return nil
    }

    /// Cancels the task. Does nothing if it has ended.
    ///
    /// If called on the task's own serial callback queue, no callback of the task starts after this has returned. If
    /// called elsewhere, a callback that has passed the gate may finish, and none passes it later. Closures and their
    /// captures are released inside this call, or when a running callback has returned. Idempotent; any thread; visible
    /// at once.
    public func cancel() {
        let now = engine.telemetry?.now
        let left: (Machine.ReleasedValues, CallbackSink?, Bridge?, JobGraph.TaskID?)? = stripe.lock.withLock {
            guard let leftovers = state.machine.cancelled() else { return nil }
            record(.cancelled, at: now)
            engine.endings.countCancel()
            return (leftovers, state.sink.take(), state.waiter.take(), state.id)
        }
        guard let (leftovers, sink, waiter, id) = left else { return }
        engine.deadlines.remove(self)
        if let id, leftovers.outcome == nil { engine.cancelTask(id) }
        engine.telemetry?.flush()
        waiter?.open()
        // Release the closures here, with no lock held, because releasing their captures may run the caller's code.
        withExtendedLifetime((leftovers, sink)) {}
    }

    /// Whether the task was cancelled before its result was delivered.
    public var isCancelled: Bool {
        stripe.lock.withLock { state.machine.phase == .cancelled }
    }

    /// The urgency of the result. Setting it changes the priority of all jobs in progress for this task, except where
    /// another subscriber of a job has a higher one.
    public var priority: ImageRequest.Priority {
        get { stripe.lock.withLock { state.priority } }
        set {
            let id = stripe.lock.withLock { () -> JobGraph.TaskID? in
                defer { state.priority = newValue }
                return state.priority != newValue && state.isPending ? state.id : nil
            }
            if let id { engine.setPriority(of: id, to: newValue) }
        }
    }

    /// Replaces the request by another one with the same key. Its priority, deadline, fallbacks and stored
    /// representation, which are in no key, apply to the load in progress.
    ///
    /// - Returns: `false`, without a change, if that requires a new load: the fallbacks tried so far are not those of
    ///   the new request, or it is too late to try others.
    func amend(to new: Subject) -> Bool {
        engine.noteOptions(of: new.request)
        let (isAmended, old) = stripe.lock.withLock { () -> (Bool, Subject?) in
            let (old, new) = (state.amended ?? subject, new)
            let (fallbacks, others) = (old.request.fallbacks, new.request.fallbacks)
            guard
                fallbacks == others
                    || (state.machine.isOpen && others.starts(with: fallbacks.prefix(Int(state.takenFallbacks))))
            else { return (false, nil) }
            state.amended = new
            return (true, old)
        }
        // Released with no lock held, because releasing processors may run the caller's code.
        withExtendedLifetime(old) {}
        if isAmended {
            priority = new.request.priority
            if let time = timeLimit(of: new) { limitTime(to: time) } else { engine.deadlines.remove(self) }
        }
        return isAmended
    }

    /// The request in its latest form.
    var latestRequest: ImageRequest { stripe.lock.withLock { state.amended ?? subject }.request }

    /// The limits of its request.
    var limits: ImageRequest.Limits {
        stripe.lock.withLock { (state.amended ?? subject).request.limits }
    }

    /// Whether its image is kept in memory.
    var writesMemory: Bool {
        stripe.lock.withLock { (state.amended ?? subject).request.writesMemory }
    }

    /// See ``ImageRequest/downloadFolder``.
    var downloadFolder: String? { latestRequest.downloadFolder }

    // MARK: Deadline

    /// The time from the call to the deadline of a request: its own, or the pipeline's. A revalidation for the store
    /// has none.
    func timeLimit(of subject: Subject) -> Duration? {
        let own = subject.request.hasDefaults ? nil : subject.request.deadline
        guard let maximum = engine.maximumDeadline, plan?.purpose ?? .usual == .usual else { return own }
        return min(own ?? maximum, maximum)
    }

    /// Ends the task after `time` from now, unless it has ended before. Replaces an earlier deadline.
    func limitTime(to time: Duration) {
        engine.deadlines.set(engine.clock.now() + time, for: self)
        // It may have ended meanwhile.
        if !isPending { engine.deadlines.remove(self) }
    }

    /// Whether the result is still unknown.
    var isPending: Bool { stripe.lock.withLock { state.isPending } }

    /// The task's number in the graph, once it was added. It may have left since.
    var graphID: JobGraph.TaskID? { stripe.lock.withLock { state.id } }

    func deadlineExceeded(in stage: LoadError.Stage) -> LoadError {
        LoadError(
            .deadlineExceeded, stage: stage, url: plan?.url.string ?? URLParts.shown(request.url),
            message: "The load did not end before its deadline. Set a later deadline, or request less.")
    }

    // MARK: Engine events

    /// The graph has added the task. Called with the engine's lock held.
    ///
    /// - Returns: the task's priority, or nil if it has been cancelled meanwhile.
    func wasAdded(_ id: JobGraph.TaskID, isShared: Bool) -> ImageRequest.Priority? {
        stripe.lock.withLock {
            state.id = id
            state.isShared = isShared
            return state.isPending ? state.priority : nil
        }
    }

    /// The fetch has progressed. Replaces undelivered progress, so that none piles up.
    func didProgress(_ progress: Progress) {
        arrived(.progress(progress))
    }

    /// The preview options, or nil if the request wants no previews or they are not observed.
    var previewOptions: ImageRequest.PreviewOptions? { observesPreviews ? request.previews : nil }

    /// Whether progress or previews are observed.
    var observesFetch: Bool { observesProgress || previewOptions != nil }

    /// The number of the request's fallbacks that were taken.
    var takenFallbacks: UInt16 { stripe.lock.withLock { state.takenFallbacks } }

    /// A preview of the partial image has been made. It replaces an undelivered one.
    ///
    /// - Parameter fallback: the value of ``takenFallbacks`` when the preview was begun. A task that has taken another
    ///   fallback since then does not receive it.
    func didPreview(_ preview: BoxedPreview, fallback: UInt16) {
        arrived(.preview(preview), fallback: fallback)
    }

    /// The task's load has ended.
    func didEnd(_ result: JobResult) {
        let queue = end(with: result)
        engine.telemetry?.flush()
        if let queue { submit(to: queue) }
    }

    /// The task's load has ended. A delivery on a dispatch queue is added to `run`, to be submitted with others.
    func didEnd(_ result: JobResult, in run: inout CallbackRun<ImageTask>) {
        guard let queue = end(with: result) else { return }
        if queue.mayDrop { submit(to: queue) } else { run.append(self, for: queue) }
    }

    static func callbackRun() -> CallbackRun<ImageTask> { CallbackRun { $0.deliver() } }

    /// - Returns: the queue to submit a delivery to, if any.
    private func end(with result: JobResult) -> CallbackQueue? {
        engine.deadlines.remove(self)
        let now = engine.telemetry?.now
        let receiver = stripe.lock.withLock { () -> Receiver in
            let (submits, wasTaken) = state.machine.outcomeArrived(result)
            guard wasTaken else { return (nil, nil) }
            let outcome = outcome(result, isShared: state.isShared)
            engine.endings.count(outcome)
            if state.isShared { engine.endings.countSaved(result.bytesSavedBySharing) }
            if let now { record(.finished(outcome), at: now) }
            return takeReceiver(if: submits)
        }
        receiver.waiter?.open()
        return receiver.queue
    }

    /// Whether a stale image is delivered before its revalidation.
    var observesStale: Bool { observesProgress && stripe.lock.withLock { state.sink == nil } }

    /// The stored image is stale, and its revalidation follows.
    ///
    /// - Returns: whether the task was still pending.
    func didReceiveStale(_ result: JobResult) -> Bool {
        engine.deadlines.prefer(result, for: self)
        return arrived(.stale(result))
    }

    /// - Parameter fallback: the required value of ``takenFallbacks``; nil accepts any.
    /// - Returns: whether the event will be delivered.
    @discardableResult
    private func arrived(_ event: TaskEventBacklog.Event, fallback: UInt16? = nil) -> Bool {
        let (wasTaken, unneeded, receiver) = stripe.lock.withLock { () -> (Bool, TaskEventBacklog.Event?, Receiver) in
            guard fallback == nil || fallback == state.takenFallbacks else { return (false, nil, (nil, nil)) }
            let (submits, wasTaken, unneeded) = state.machine.eventArrived(event)
            return (wasTaken, unneeded, takeReceiver(if: submits))
        }
        receiver.waiter?.open()
        if let queue = receiver.queue { submit(to: queue) }
        return withExtendedLifetime(unneeded) { wasTaken }
    }

    /// The receiver of a delivery. It retains only the queue: otherwise, closures could outlive their last call on it.
    private typealias Receiver = (queue: CallbackQueue?, waiter: Bridge?)

    /// Called with the lock held.
    private func takeReceiver(if submits: Bool) -> Receiver {
        submits ? (state.sink?.queue, state.waiter.take()) : (nil, nil)
    }

    private func submit(to queue: CallbackQueue) {
        if queue.mayDrop {
            let delivery = DroppableWork(run: { self.deliver() }, dropped: { self.wasDropped() })
            queue.submit { delivery.run() }
        } else {
            queue.submit { self.deliver() }
        }
    }

    // MARK: On the callback queue

    private enum Call {
        case nothing
        case progress(Progress, CallbackSink.Progress?)
        case preview(BoxedPreview, CallbackSink.Preview?)
        /// Not delivered to callbacks.
        case stale(JobResult)
        case end(JobResult, CallbackSink?, isShared: Bool)
    }

    /// Passes the gate with the next event, if there still is one.
    private func deliver() {
        let now = engine.telemetry?.now
        let call = stripe.lock.withLock { () -> Call in
            switch state.machine.queueReached() {
            case .nothing: return .nothing
            case .event(.progress(let progress)): return .progress(progress, state.sink?.progress)
            case .event(.preview(let box)): return .preview(box, state.sink?.preview)
            case .event(.stale(let result)): return .stale(result)
            case .outcome(let outcome):
                record(.delivered, at: now)
                return .end(outcome, state.sink.take(), isShared: state.isShared)
            }
        }
        switch call {
        case .nothing: return
        case .progress(let progress, let handler): handler?(self, progress)
        case .preview(let box, let handler): handler?(self, box.preview)
        case .stale: break
        case .end(let outcome, let sink, let isShared):
            engine.telemetry?.flush()
            // `sink` is released at the end of this function, on the callback queue.
            sink?.complete(self, outcome, isShared: isShared)
        }
        let queue = stripe.lock.withLock { state.machine.callbackReturned() ? state.sink?.queue : nil }
        if let queue { submit(to: queue) }
    }

    /// The queue dropped a delivery without running it.
    private func wasDropped() {
        let now = engine.telemetry?.now
        let (leftovers, sink, queue): (Machine.ReleasedValues, CallbackSink?, CallbackQueue?) = stripe.lock.withLock {
            let (submits, leftovers) = state.machine.deliveryDropped()
            guard leftovers.isEnd else { return (leftovers, nil, submits ? state.sink?.queue : nil) }
            record(.dropped, at: now)
            return (leftovers, state.sink.take(), nil)
        }
        if leftovers.isEnd { engine.telemetry?.flush() }
        // Release undelivered values here, with no lock held, because that may run the caller's code.
        withExtendedLifetime((leftovers, sink)) {}
        if let queue { submit(to: queue) }
    }

    // MARK: Async events

    enum Event {
        case news(TaskEventBacklog.Event)
        case ended(JobResult, isShared: Bool)
        case cancelled
        /// The ending has already been delivered.
        case nothing
    }

    /// Returns the next event to an awaiting caller.
    func nextEvent() async -> Event {
        while true {
            let bridge = Bridge()
            let event = takeEvent(orWait: bridge)
            engine.telemetry?.flush()
            if let event { return event }
            await bridge.wait()
        }
    }

    /// - Returns: nil if there is no event yet. `bridge` is opened when there is one.
    private func takeEvent(orWait bridge: Bridge) -> Event? {
        let now = engine.telemetry?.now
        return stripe.lock.withLock {
            switch (state.machine.pulled(), state.machine.phase) {
            case (.event(let event), _): return .news(event)
            case (.outcome(let outcome), _):
                record(.delivered, at: now)
                return .ended(outcome, isShared: state.isShared)
            case (.nothing, .cancelled): return .cancelled
            case (.nothing, .delivering), (.nothing, .ended): return .nothing
            case (.nothing, .waiting):
                precondition(state.waiter == nil, "the events of a task were iterated concurrently")
                state.waiter = bridge
                return nil
            }
        }
    }
}

// Events for observers.

extension ImageTask {
    /// Reports that the task begins. A task that was cancelled before is never reported.
    func begins(_ telemetry: Telemetry) {
        let url = plan?.url.string ?? URLParts.shown(request.url)
        let now = telemetry.now
        stripe.lock.withLock {
            guard state.isPending else { return }
            state.isObserved = true
            telemetry.record(.requested(url: url), task: number, at: now)
        }
        telemetry.flush()
    }

    /// Returns the outcome that the task is about to be given.
    func outcome(_ result: JobResult, isShared: Bool) -> ImagePipeline.Event.Outcome {
        if let error = result.error(for: goal) { return .failure(error.code) }
        switch result.value {
        case .image(let image): return .success(Self.source(image.source, isShared))
        case .response(let response): return .success(Self.source(response.source, isShared))
        case .info(let info): return .success(info.source)
        case .failure(let error): return .failure(error.code)
        }
    }

    private static func source(_ source: LoadSource, _ isShared: Bool) -> LoadSource {
        isShared && source == .network ? .shared : source
    }

    /// Records an event of a task that was reported. Called with the lock held, so it calls no observer.
    ///
    /// - Parameter time: if nil, there is no observer.
    func record(_ kind: ImagePipeline.Event.Kind, at time: MonotonicTime?) {
        guard let time, state.isObserved else { return }
        engine.telemetry?.record(kind, task: number, at: time)
    }
}

extension ImageTask {
    /// The progress of a fetch.
    public struct Progress: Sendable, Hashable {
        /// The number of bytes of the body received so far, after its content coding is decoded.
        public var receivedBytes: Int64
        /// The length of the body on the wire, as the server announced it; nil if it did not.
        public var expectedBytes: Int64?

        /// Creates a progress.
        ///
        /// - Parameters:
        ///   - receivedBytes: the number of bytes received so far, after content decoding.
        ///   - expectedBytes: the length of the body on the wire; nil if it is unknown.
        public init(receivedBytes: Int64, expectedBytes: Int64?) {
            self.receivedBytes = receivedBytes
            self.expectedBytes = expectedBytes
        }

        /// The completed fraction, from 0 to 1; nil if the length is unknown. An estimate if the body has a content
        /// coding: the received bytes are counted decoded, the expected ones coded.
        public var fraction: Double? {
            guard let expectedBytes, expectedBytes > 0 else { return nil }
            return min(1, Double(receivedBytes) / Double(expectedBytes))
        }
    }
}

/// The callback queue and the closures of one caller. Its task releases them on that queue, or inside `cancel()`.
struct CallbackSink: Sendable {
    typealias Progress = @Sendable (ImageTask, ImageTask.Progress) -> Void
    typealias Preview = @Sendable (ImageTask, ImagePreview) -> Void

    enum Completion: Sendable {
        case image(@Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void)
        case response(@Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void)
    }

    let queue: CallbackQueue
    let completion: Completion
    /// The closures that few callers pass, apart, so that queued tasks stay small.
    private let observers: Observers?

    private final class Observers: Sendable {
        let progress: Progress?
        let preview: Preview?

        init(progress: Progress?, preview: Preview?) {
            self.progress = progress
            self.preview = preview
        }
    }

    init(queue: CallbackQueue, progress: Progress?, preview: Preview?, completion: Completion) {
        self.queue = queue
        self.completion = completion
        observers = progress == nil && preview == nil ? nil : Observers(progress: progress, preview: preview)
    }

    var progress: Progress? { observers?.progress }
    var preview: Preview? { observers?.preview }

    func complete(_ task: ImageTask, _ result: JobResult, isShared: Bool) {
        switch completion {
        case .image(let body): body(task, result.image(isShared: isShared))
        case .response(let body): body(task, result.response(isShared: isShared))
        }
    }
}
