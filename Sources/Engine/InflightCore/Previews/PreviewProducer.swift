import InflightConcurrency

/// Makes previews of a fetch's partial body, for the tasks that want them. Owns the machine behind a lock.
// Unchecked: `state` is accessed only while `lock` is held.
final class PreviewProducer: @unchecked Sendable {
    private let engine: Engine
    private let job: JobGraph.JobID
    private let lock = Lock()
    private var state: State

    private struct State {
        var machine: PreviewMachine
        /// The body so far.
        var bytes = Bytes.empty
        var timer: (any ScheduledWork)?
        /// The detail shown so far, for each image that subscribers request of this body.
        var details: [RequestKey: Int] = [:]
    }

    private let cancellation = CancellationFlag()
    /// The maximum number of images of one body that are previewed.
    private static let maximumImages = 4

    init(engine: Engine, job: JobGraph.JobID, _ options: ImageRequest.PreviewOptions) {
        self.engine = engine
        self.job = job
        state = State(machine: PreviewMachine(options, now: engine.clock.now()))
    }

    // MARK: Fetch events

    /// More bytes have arrived.
    func bytesReceived(_ body: BodyBuffer) {
        let now = engine.clock.now()
        lock.lock()
        guard !state.machine.isEnded else { return lock.unlock() }
        let old = state.bytes
        state.bytes = body.snapshot()
        let action = state.machine.bytesReceived(Int64(state.bytes.count), now: now)
        lock.unlock()
        withExtendedLifetime(old) {}
        perform(action)
    }

    /// The received bytes are obsolete: the body is fetched again, or from another source.
    func restarted() {
        let old = lock.withLock {
            state.machine.restarted()
            defer { state.bytes = .empty }
            return state.bytes
        }
        withExtendedLifetime(old) {}
    }

    /// The body is complete or no longer needed. No more previews are made.
    func end() {
        let (timer, old) = lock.withLock {
            state.machine.ended()
            defer { state.bytes = .empty }
            return (state.timer.take(), state.bytes)
        }
        timer?.cancel()
        cancellation.cancel()
        withExtendedLifetime(old) {}
    }

    // MARK: Actions

    private func perform(_ action: PreviewMachine.Action) {
        switch action {
        case .nothing: break
        case .make:
            if engine.beginPreview(of: job) {
                engine.workers.run { [self] in make() }
            } else {
                tell { $0.refused(now: $1) }
            }
        case .wake(let time):
            let timer = engine.clock.schedule(at: time) { [weak self] in self?.tell { $0.timerFired(now: $1) }
            }
            let old: (any ScheduledWork)? = lock.withLock {
                guard !state.machine.isEnded else { return timer }
                defer { state.timer = timer }
                return state.timer
            }
            old?.cancel()
        }
    }

    private func tell(_ event: (inout PreviewMachine, MonotonicTime) -> PreviewMachine.Action) {
        let now = engine.clock.now()
        perform(lock.withLock { event(&state.machine, now) })
    }

    // MARK: On a decoding thread

    private func make() {
        let (bytes, details) = lock.withLock { (state.bytes, state.details) }
        let isFinal = show(bytes, details)
        engine.endPreview()
        tell { $0.made(isFinal: isFinal, now: $1) }
    }

    /// - Returns: whether no better preview will follow.
    private func show(_ bytes: Bytes, _ details: [RequestKey: Int]) -> Bool {
        var isFinal = true
        for (key, subscribers) in subscribers().prefix(Self.maximumImages) {
            guard !cancellation.isCancelled, let plan = subscribers.first?.task.plan else { return true }
            do throws(LoadError) {
                guard let (part, info) = try partialImage(bytes, plan, beyond: details[key] ?? 0) else {
                    isFinal = false
                    continue
                }
                lock.withLock { state.details[key] = part.detail }
                let preview = ImagePreview(
                    pixels: part.pixels, info: info, receivedBytes: Int64(bytes.count), detail: part.detail,
                    coversAll: part.coversAll)
                engine.telemetry?.emit(.previewed(detail: part.detail), job: job.number)
                let box = BoxedPreview(preview)
                for subscriber in subscribers { subscriber.task.didPreview(box, fallback: subscriber.fallback) }
                if !part.isFinal { isFinal = false }
            } catch {
                // The decode of the complete image will report the error.
                continue
            }
        }
        return isFinal
    }

    private func partialImage(
        _ bytes: Bytes, _ plan: RequestPlan, beyond detail: Int
    ) throws(LoadError) -> (PartialImage, ImageInfo)? {
        let (codecs, options) = (engine.codecs(named: plan.request.decoder), plan.decodeOptions())
        let memory = try codecs.memoryNeeded(bytes, options: options)
        guard engine.decodeLimits.takeNow(memory) else { return nil }
        defer { engine.decodeLimits.release(memory) }
        guard
            let (made, info) = try codecs.decodePart(
                bytes, options: options, beyond: detail, cancellation: cancellation), made.detail > detail
        else { return nil }
        var part = made
        for processor in plan.request.processors {
            part.pixels = try processor.process(part.pixels, cancellation: cancellation)
            part.pixels = part.pixels.inFormat(of: options)
        }
        return (part, info)
    }

    /// A task, and the number of its fallbacks that were taken.
    private typealias Subscriber = (task: ImageTask, fallback: UInt16)

    /// Returns the tasks that depend on the fetch and want previews, grouped by the key of their image.
    private func subscribers() -> [(RequestKey, [Subscriber])] {
        let subscribers = engine.read { graph in
            var subscribers: [Subscriber] = []
            graph.forEachTask(of: job) { _, task in
                if task.previewOptions != nil { subscribers.append((task, task.takenFallbacks)) }
            }
            return subscribers
        }
        var groups: [(RequestKey, [Subscriber])] = []
        for subscriber in subscribers {
            guard let key = subscriber.task.plan?.finalKey else { continue }
            if let index = groups.firstIndex(where: { $0.0 == key }) {
                groups[index].1.append(subscriber)
            } else {
                groups.append((key, [subscriber]))
            }
        }
        return groups
    }
}
