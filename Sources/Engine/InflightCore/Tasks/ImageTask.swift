import InflightConcurrency

/// One caller's wish for one request: what `load` gives back and what every callback is handed.
///
/// The engine keeps a task alive until it has ended, so nobody needs to hold it. Cancelling it concerns this caller
/// alone; work that others wait for goes on. May be used from every thread.
// Unchecked: `state` is touched only while the task's stripe of locks is held.
public final class ImageTask: @unchecked Sendable {
    let engine: Engine
    let subject: Subject
    /// Whether anybody hears of progress.
    let hearsProgress: Bool
    /// Whether anybody hears of previews, where the request wants them.
    private let hearsPreviews: Bool
    /// What events of the pipeline call this task; 0 where nobody listens to it.
    public let number: PipelineEvent.TaskNumber
    let stripe: LockStripes.Stripe
    var state: State

    typealias Machine = GateMachine<TaskNews, JobResult>

    struct State {
        /// What is told next, and whether it may be.
        var machine = Machine(backlog: TaskNews())
        var isShared = false
        /// Whether it was asked for once more because what was stored is of no use.
        var hasRefetched = false
        /// Whether somebody listens and has heard of it: then its ending is told too.
        var isHeard = false
        var priority: LoadPriority
        /// How many of the request's fallbacks were asked.
        var takenFallbacks: UInt16 = 0
        /// How many processors made the image that is looked for in the store; -1 where none is.
        var lookedForPrefix: Int16 = -1
        var id: Engine.Machine.TaskID?
        var sink: CallbackSink?
        /// Somebody awaits the next event.
        var waiter: Bridge?

        var isWaiting: Bool { machine.phase == .waiting }
    }

    enum Subject {
        case plan(RequestPlan)
        /// The request cannot be loaded: the task exists all the same, to tell why.
        case unplanned(Unplanned)
    }

    final class Unplanned: Sendable {
        let request: ImageRequest
        let error: LoadError
        let goal: RequestPlan.Goal

        init(_ request: ImageRequest, _ error: LoadError, _ goal: RequestPlan.Goal) {
            self.request = request
            self.error = error
            self.goal = goal
        }
    }

    init(request: ImageRequest, plan: RequestPlan, engine: Engine, sink: CallbackSink?, hearsProgress: Bool) {
        subject = .plan(plan)
        self.hearsProgress = hearsProgress
        hearsPreviews = sink.map { $0.preview != nil } ?? hearsProgress
        number = engine.telemetry?.nextTask() ?? 0
        self.engine = engine
        // Striped by an object that lives as long as the task and is not the task: `self` is not complete yet.
        state = State(priority: request.priority, sink: sink)
        stripe = LockStripes.stripe(for: plan)
    }

    /// For a request that cannot be loaded: beginning with it ends it, or asks its first fallback.
    init(
        request: ImageRequest, error: LoadError, goal: RequestPlan.Goal, engine: Engine, sink: CallbackSink?,
        hearsProgress: Bool
    ) {
        let unplanned = Unplanned(request, error, goal)
        subject = .unplanned(unplanned)
        self.hearsProgress = hearsProgress
        hearsPreviews = sink.map { $0.preview != nil } ?? hearsProgress
        number = engine.telemetry?.nextTask() ?? 0
        self.engine = engine
        state = State(priority: request.priority, sink: sink)
        stripe = LockStripes.stripe(for: unplanned)
    }

    public var request: ImageRequest {
        switch subject {
        case .plan(let plan): plan.request
        case .unplanned(let unplanned): unplanned.request
        }
    }

    var goal: RequestPlan.Goal {
        switch subject {
        case .plan(let plan): plan.goal
        case .unplanned(let unplanned): unplanned.goal
        }
    }

    var plan: RequestPlan? {
        if case .plan(let plan) = subject { return plan }
        return nil
    }

    /// Ends the task as cancelled, unless it has ended before; then nothing changes.
    ///
    /// Called on the task's own serial callback queue, no callback of the task starts after this has returned. Called
    /// from elsewhere, a callback that has passed its gate may finish, and none passes it later. Closures, and what they
    /// captured, are released inside this call, or when a callback that runs has returned. Idempotent; any thread;
    /// visible at once.
    public func cancel() {
        let now = engine.telemetry?.now
        let left = stripe.lock.withLock { () -> (Machine.Leftovers, CallbackSink?, Bridge?, Engine.Machine.TaskID?)? in
            guard let leftovers = state.machine.cancelled() else { return nil }
            record(.cancelled, at: now)
            engine.endings.countCancel()
            return (leftovers, state.sink.take(), state.waiter.take(), state.id)
        }
        guard let (leftovers, sink, waiter, id) = left else { return }
        if let id, leftovers.outcome == nil { engine.cancelTask(id) }
        engine.telemetry?.handOut()
        waiter?.open()
        // What the closures captured may run code of the caller when it goes: here, with no lock held.
        withExtendedLifetime((leftovers, sink)) {}
    }

    /// Whether ``cancel()`` came before any other ending.
    public var isCancelled: Bool {
        stripe.lock.withLock { state.machine.phase == .cancelled }
    }

    /// How soon the result is wanted. Setting it raises or lowers all work under way for it, as far as nobody else who
    /// waits for that work wants it sooner.
    public var priority: LoadPriority {
        get { stripe.lock.withLock { state.priority } }
        set {
            let id = stripe.lock.withLock { () -> Engine.Machine.TaskID? in
                defer { state.priority = newValue }
                return state.priority != newValue && state.isWaiting ? state.id : nil
            }
            if let id { engine.setPriority(of: id, to: newValue) }
        }
    }

    // MARK: Told by the engine

    /// The machine knows the task now. Called with the engine's lock held.
    ///
    /// - Returns: the task's priority, or `nil` where it does not want to be there any more.
    func wasAdded(_ id: Engine.Machine.TaskID, isShared: Bool) -> LoadPriority? {
        stripe.lock.withLock {
            state.id = id
            state.isShared = isShared
            return state.isWaiting ? state.priority : nil
        }
    }

    /// The fetch has come further. What the caller has not heard yet is replaced, so nothing piles up.
    func didProgress(_ progress: LoadProgress) {
        arrived(.progress(progress))
    }

    /// How often it wants to show what there is; `nil` where it does not, or nobody hears of it.
    var previewOptions: PreviewOptions? { hearsPreviews ? request.previews : nil }

    /// How many of the request's fallbacks were asked.
    var takenFallbacks: UInt16 { stripe.lock.withLock { state.takenFallbacks } }

    /// What there is of the picture can be shown. One that was not shown yet is replaced.
    ///
    /// - Parameter fallback: what ``takenFallbacks`` was when its making began: a task that asks elsewhere since then is
    ///   not shown it.
    func didPreview(_ preview: BoxedPreview, fallback: UInt16) {
        arrived(.preview(preview), fallback: fallback)
    }

    /// The work has ended.
    func didEnd(_ result: JobResult) {
        let queue = end(with: result)
        engine.telemetry?.handOut()
        if let queue { submit(to: queue) }
    }

    /// The work has ended. A delivery on a dispatch queue is put into `run`, to be handed over with others.
    func didEnd(_ result: JobResult, in run: inout CallbackRun<ImageTask>) {
        guard let queue = end(with: result) else { return }
        if queue.mayDrop { submit(to: queue) } else { run.append(self, for: queue) }
    }

    static func callbackRun() -> CallbackRun<ImageTask> { CallbackRun { $0.deliver() } }

    /// - Returns: where a delivery has to be handed to.
    private func end(with result: JobResult) -> CallbackQueue? {
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

    /// Whether what is stale is told, before what follows it.
    var hearsStale: Bool { hearsProgress && stripe.lock.withLock { state.sink == nil } }

    /// What is stored is stale: what follows it is asked for.
    ///
    /// - Returns: whether anybody still waits.
    func didReceiveStale(_ result: JobResult) -> Bool {
        arrived(.stale(result))
    }

    /// - Parameter fallback: what ``takenFallbacks`` has to be; `nil` where that is of no matter.
    /// - Returns: whether it is going to be told.
    @discardableResult
    private func arrived(_ event: TaskNews.Event, fallback: UInt16? = nil) -> Bool {
        let (wasTaken, unneeded, receiver) = stripe.lock.withLock { () -> (Bool, TaskNews.Event?, Receiver) in
            guard fallback == nil || fallback == state.takenFallbacks else { return (false, nil, (nil, nil)) }
            let (submits, wasTaken, unneeded) = state.machine.eventArrived(event)
            return (wasTaken, unneeded, takeReceiver(if: submits))
        }
        receiver.waiter?.open()
        if let queue = receiver.queue { submit(to: queue) }
        return withExtendedLifetime(unneeded) { wasTaken }
    }

    /// Who gets what is due. The queue alone is held on to: held here, the closures could outlive their last call on it.
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
        case progress(LoadProgress, CallbackSink.Progress?)
        case preview(BoxedPreview, CallbackSink.Preview?)
        /// Callbacks do not hear of it.
        case stale(JobResult)
        case end(JobResult, CallbackSink?, isShared: Bool)
    }

    /// Passes the gate with the next event, if there is one still.
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
            engine.telemetry?.handOut()
            // `sink` is let go of at the end of this function: on the callback queue.
            sink?.complete(self, outcome, isShared: isShared)
        }
        let queue = stripe.lock.withLock { state.machine.callbackReturned() ? state.sink?.queue : nil }
        if let queue { submit(to: queue) }
    }

    /// The queue let go of a delivery without running it.
    private func wasDropped() {
        let now = engine.telemetry?.now
        let (leftovers, sink, queue): (Machine.Leftovers, CallbackSink?, CallbackQueue?) = stripe.lock.withLock {
            let (submits, leftovers) = state.machine.deliveryDropped()
            guard leftovers.isEnd else { return (leftovers, nil, submits ? state.sink?.queue : nil) }
            record(.dropped, at: now)
            return (leftovers, state.sink.take(), nil)
        }
        if leftovers.isEnd { engine.telemetry?.handOut() }
        // What nobody hears may run code of the caller when it goes: with no lock held.
        withExtendedLifetime((leftovers, sink)) {}
        if let queue { submit(to: queue) }
    }

    // MARK: Awaited

    enum Event {
        case news(TaskNews.Event)
        case ended(JobResult, isShared: Bool)
        case cancelled
        /// The ending was told before.
        case nothing
    }

    /// The next event for whoever awaits.
    func nextEvent() async -> Event {
        while true {
            let bridge = Bridge()
            let event = takeEvent(orWait: bridge)
            engine.telemetry?.handOut()
            if let event { return event }
            await bridge.wait()
        }
    }

    /// - Returns: `nil` where there is none yet: `bridge` is opened then.
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
                precondition(state.waiter == nil, "the events of one load were asked for by two at once")
                state.waiter = bridge
                return nil
            }
        }
    }
}
