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

    enum Phase: UInt8 {
        case waiting
        case ended
        case cancelled
    }

    /// What has not been heard yet, before the ending.
    enum News {
        case none
        /// A later one takes its place.
        case progress(LoadProgress)
        case stale(JobResult)

        var isNone: Bool {
            if case .none = self { true } else { false }
        }

        var isStale: Bool {
            if case .stale = self { true } else { false }
        }
    }

    struct State {
        var phase = Phase.waiting
        /// A delivery was handed to the callback queue, and neither has returned nor was dropped.
        var isScheduled = false
        var isShared = false
        /// How many of the request's fallbacks were asked.
        var takenFallbacks: UInt16 = 0
        /// Whether it was asked for once more because what was stored is of no use.
        var hasRefetched = false
        /// How many processors made the image that is looked for in the store; -1 where none is.
        var lookedForPrefix: Int16 = -1
        /// Whether somebody listens and has heard of it: then its ending is told too.
        var isHeard = false
        var priority: LoadPriority
        var id: Engine.Machine.TaskID?
        var news = News.none
        /// What has not been shown yet; a better one takes its place.
        var preview: Shown?
        /// Whether it came before the progress that is not told yet.
        var previewIsFirst = false
        /// The best that was shown; the most there can be where a whole picture was.
        var shownDetail = 0
        var reportedBytes: Int64 = -1
        var outcome: JobResult?
        var sink: CallbackSink?
        /// Somebody awaits the next event.
        var waiter: Bridge?
    }

    /// Boxed, so that tasks that wait stay small.
    final class Shown: Sendable {
        let preview: ImagePreview

        init(_ preview: ImagePreview) {
            self.preview = preview
        }
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
        stripe.lock.lock()
        guard state.phase == .waiting else { return stripe.lock.unlock() }
        state.phase = .cancelled
        record(.cancelled, at: now)
        engine.endings.countCancel()
        let sink = state.sink.take()
        let waiter = state.waiter.take()
        let outcome = state.outcome.take()
        let preview = state.preview.take()
        let id = state.id
        stripe.lock.unlock()

        if let id, outcome == nil { engine.cancelTask(id) }
        engine.telemetry?.handOut()
        waiter?.open()
        // What the closures captured may run code of the caller when it goes: here, with no lock held.
        withExtendedLifetime((sink, outcome, preview)) {}
    }

    /// Whether ``cancel()`` came before any other ending.
    public var isCancelled: Bool {
        stripe.lock.withLock { state.phase == .cancelled }
    }

    /// How soon the result is wanted. Setting it raises or lowers all work under way for it, as far as nobody else who
    /// waits for that work wants it sooner.
    public var priority: LoadPriority {
        get { stripe.lock.withLock { state.priority } }
        set {
            stripe.lock.lock()
            let changed = state.priority != newValue && state.phase == .waiting
            state.priority = newValue
            let id = state.id
            stripe.lock.unlock()
            if changed, let id { engine.setPriority(of: id, to: newValue) }
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
            return state.phase == .waiting ? state.priority : nil
        }
    }

    /// The fetch has come further. What the caller has not heard yet is replaced, so nothing piles up.
    func didProgress(_ progress: LoadProgress) {
        stripe.lock.lock()
        // Progress never goes back: not after a redirect, not after a second start.
        guard state.phase == .waiting, state.outcome == nil, progress.receivedBytes > state.reportedBytes else {
            return stripe.lock.unlock()
        }
        state.reportedBytes = progress.receivedBytes
        // What is stale is told before anything of what follows it.
        if case .stale = state.news { return stripe.lock.unlock() }
        state.news = .progress(progress)
        state.previewIsFirst = true
        if let queue = scheduleAndUnlock() { submit(to: queue) }
    }

    /// How often it wants to show what there is; `nil` where it does not, or nobody hears of it.
    var previewOptions: PreviewOptions? { hearsPreviews ? request.previews : nil }

    /// How many of the request's fallbacks were asked.
    var takenFallbacks: UInt16 { stripe.lock.withLock { state.takenFallbacks } }

    /// What there is of the picture can be shown. One that was not shown yet is replaced.
    ///
    /// - Parameter fallback: what ``takenFallbacks`` was when its making began: a task that asks elsewhere since then is
    ///   not shown it.
    func didPreview(_ preview: ImagePreview, fallback: UInt16) {
        stripe.lock.lock()
        guard state.phase == .waiting, state.outcome == nil, state.takenFallbacks == fallback,
            preview.detail > state.shownDetail
        else { return stripe.lock.unlock() }
        state.shownDetail = preview.detail
        let old = state.preview
        state.preview = Shown(preview)
        state.previewIsFirst = false
        let queue = scheduleAndUnlock()
        withExtendedLifetime(old) {}
        if let queue { submit(to: queue) }
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
        stripe.lock.lock()
        guard state.phase == .waiting, state.outcome == nil else {
            stripe.lock.unlock()
            return nil
        }
        state.outcome = result
        let outcome = outcome(result, isShared: state.isShared)
        engine.endings.count(outcome)
        if state.isShared { engine.endings.countSaved(result.bytesSavedBySharing) }
        if let now { record(.finished(outcome), at: now) }
        return scheduleAndUnlock()
    }

    /// Whether what is stale is told, before what follows it.
    var hearsStale: Bool { hearsProgress && stripe.lock.withLock { state.sink == nil } }

    /// What is stored is stale: what follows it is asked for.
    ///
    /// - Returns: whether anybody still waits.
    func didReceiveStale(_ result: JobResult) -> Bool {
        stripe.lock.lock()
        guard state.phase == .waiting, state.outcome == nil else {
            stripe.lock.unlock()
            return false
        }
        state.news = .stale(result)
        state.shownDetail = .max
        _ = scheduleAndUnlock()
        return true
    }

    /// Claims the delivery for the callback queue, unless one is under way: that one hands on the next.
    ///
    /// - Returns: where it has to be handed to.
    private func scheduleAndUnlock() -> CallbackQueue? {
        let waiter = state.waiter.take()
        // The queue alone is held on to: held here, the closures could outlive their last call on it.
        guard let queue = state.sink?.queue, !state.isScheduled else {
            stripe.lock.unlock()
            waiter?.open()
            return nil
        }
        state.isScheduled = true
        stripe.lock.unlock()
        return queue
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

    /// Passes the gate with the next event, if there is one still.
    private func deliver() {
        let now = engine.telemetry?.now
        stripe.lock.lock()
        guard state.phase == .waiting else {
            state.isScheduled = false
            return stripe.lock.unlock()
        }
        if let preview = takePreview(), let handler = state.sink?.preview {
            stripe.lock.unlock()
            handler(self, preview)
            return didReturn()
        }
        if case .progress(let progress) = state.news, let handler = state.sink?.progress {
            state.news = .none
            stripe.lock.unlock()
            handler(self, progress)
            return didReturn()
        }
        guard let outcome = state.outcome, let sink = state.sink else {
            state.isScheduled = false
            return stripe.lock.unlock()
        }
        let isShared = state.isShared
        record(.delivered, at: now)
        endAndUnlock()
        // `sink` is let go of at the end of this function: on the callback queue.
        sink.complete(self, outcome, isShared: isShared)
    }

    /// The preview, where it is next. Called with the lock held.
    private func takePreview() -> ImagePreview? {
        guard state.preview != nil, state.news.isNone || (state.previewIsFirst && !state.news.isStale) else {
            return nil
        }
        return state.preview.take()?.preview
    }

    /// A callback has returned, or was dropped: on with the next event.
    private func didReturn() {
        stripe.lock.lock()
        let hasNews = !state.news.isNone || state.preview != nil
        guard state.phase == .waiting, hasNews || state.outcome != nil, let queue = state.sink?.queue
        else {
            state.isScheduled = false
            return stripe.lock.unlock()
        }
        stripe.lock.unlock()
        submit(to: queue)
    }

    /// The queue let go of a delivery without running it.
    private func wasDropped() {
        let now = engine.telemetry?.now
        stripe.lock.lock()
        guard state.phase == .waiting else {
            state.isScheduled = false
            return stripe.lock.unlock()
        }
        if !state.news.isNone || state.preview != nil {
            state.news = .none
            let preview = state.preview.take()
            stripe.lock.unlock()
            withExtendedLifetime(preview) {}
            return didReturn()
        }
        guard state.outcome != nil else {
            state.isScheduled = false
            return stripe.lock.unlock()
        }
        // An ending that nobody hears. What it held may run code of the caller when it goes: with no lock held.
        let sink = state.sink
        let outcome = state.outcome
        record(.dropped, at: now)
        endAndUnlock()
        withExtendedLifetime((sink, outcome)) {}
    }

    private func endAndUnlock() {
        state.phase = .ended
        state.isScheduled = false
        state.sink = nil
        state.outcome = nil
        state.news = .none
        let preview = state.preview.take()
        stripe.lock.unlock()
        engine.telemetry?.handOut()
        withExtendedLifetime(preview) {}
    }

    // MARK: Awaited

    /// The next event for whoever awaits: progress only where it is `wanted`. `nil` after the end.
    func nextEvent(progress wanted: Bool) async -> Event? {
        while true {
            let bridge = Bridge()
            let taken = takeEvent(progress: wanted, orWait: bridge)
            engine.telemetry?.handOut()
            switch taken {
            case .event(let event): return event
            case .finished: return nil
            case .wait: await bridge.wait()
            }
        }
    }

    enum Event {
        case progress(LoadProgress)
        case preview(ImagePreview)
        case stale(JobResult)
        case ended(JobResult, isShared: Bool)
        case cancelled
    }

    private enum Taken {
        case event(Event)
        case finished
        case wait
    }

    private func takeEvent(progress wanted: Bool, orWait bridge: Bridge) -> Taken {
        let now = engine.telemetry?.now
        return stripe.lock.withLock {
            switch state.phase {
            case .ended: return .finished
            case .cancelled: return .event(.cancelled)
            case .waiting: break
            }
            if wanted, let preview = takePreview() { return .event(.preview(preview)) }
            if wanted {
                let news = state.news
                state.news = .none
                switch news {
                case .none: break
                case .progress(let progress): return .event(.progress(progress))
                case .stale(let result): return .event(.stale(result))
                }
            }
            if let outcome = state.outcome.take() {
                state.phase = .ended
                record(.delivered, at: now)
                return .event(.ended(outcome, isShared: state.isShared))
            }
            precondition(state.waiter == nil, "the events of one load were asked for by two at once")
            state.waiter = bridge
            return .wait
        }
    }
}
