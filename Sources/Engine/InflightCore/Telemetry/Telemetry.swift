import InflightConcurrency
internal import Synchronization

/// Records events in the buffer, and delivers them to the observer on its queue. A pipeline without an observer has
/// none.
///
/// ``record(_:task:job:at:isPast:)`` may be called with any lock held, and takes only its own. ``flush()`` calls code
/// of the program, so it must be called with no lock held.
final class Telemetry: Sendable {
    private let queue: CallbackQueue
    private let observer: ReleaseBox<any ImagePipeline.Observer>
    private let clock: any EngineClock
    private let buffer: Guarded<EventBuffer>
    private let numbers = Atomic<UInt32>(0)

    init(_ observation: ImagePipeline.Observation, clock: any EngineClock) {
        queue = observation.queue
        observer = ReleaseBox(observation.observer)
        self.clock = clock
        buffer = Guarded(EventBuffer(capacity: observation.capacity))
    }

    deinit {
        queue.release(observer)
    }

    /// Returns the number of the next load, never 0.
    func nextTask() -> ImagePipeline.Event.TaskNumber {
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        return number == 0 ? nextTask() : number
    }

    /// The time. The clock may run user code, so read it with no lock held.
    var now: MonotonicTime { clock.now() }

    func record(
        _ kind: ImagePipeline.Event.Kind, task: ImagePipeline.Event.TaskNumber? = nil,
        job: ImagePipeline.Event.JobNumber? = nil,
        at time: MonotonicTime, isPast: Bool = false
    ) {
        buffer.withLock {
            $0.append(ImagePipeline.Event(time: time, task: task, job: job, kind: kind), isPast: isPast)
        }
    }

    /// Records an event now, and submits it. Call with no lock held.
    func emit(
        _ kind: ImagePipeline.Event.Kind, task: ImagePipeline.Event.TaskNumber? = nil,
        job: ImagePipeline.Event.JobNumber? = nil
    ) {
        record(kind, task: task, job: job, at: clock.now())
        flush()
    }

    /// Submits queued events to the observer's queue, unless a batch is being delivered. Call with no lock held.
    func flush() {
        if buffer.withLock({ $0.beginDelivery() }) { submit() }
    }

    private func submit() {
        if queue.mayDrop {
            let work = DroppableWork(
                run: { self.deliver() }, dropped: { self.buffer.withLock { $0.wasDropped() } })
            queue.submit { work.run() }
        } else {
            queue.submit { self.deliver() }
        }
    }

    private func deliver() {
        let batch = buffer.withLock { $0.take() }
        observer.content?.didObserve(batch.events, dropped: batch.dropped)
        if buffer.withLock({ $0.didReturn() }) { submit() }
    }
}

extension Telemetry {
    /// Records the graph's decisions. Called with the engine's lock held, so it calls no observer.
    ///
    /// - Parameter plan: the plan that new jobs were made for.
    func record(_ journal: [JobGraph.JournalEntry]?, of plan: RequestPlan? = nil, at now: MonotonicTime) {
        for entry in journal ?? [] {
            switch entry {
            case .made(let id, let position, let after):
                guard let plan else { preconditionFailure("a job without a request") }
                let kind = ImagePipeline.Event.Kind.created(
                    plan.jobKind(position), subject: plan.subject(position), after: after?.number)
                record(kind, job: id.number, at: now)
            case .waits(let task, let id): record(.subscribed, task: task.number, job: id.number, at: now)
            case .joined(let task, let id): record(.coalesced, task: task.number, job: id.number, at: now)
            case .queued(let id, let lane): record(.queued(lane.lane), job: id.number, at: now)
            case .started(let id, let lane): record(.started(lane.lane), job: id.number, at: now)
            case .prioritized(let id, let priority): record(.prioritized(priority), job: id.number, at: now)
            case .abandoned(let id): record(.abandoned, job: id.number, at: now)
            case .ended(let id, let job):
                let failure = job.result?.error
                record(failure.map { .failed($0.code, why: $0.message) } ?? .succeeded, job: id.number, at: now)
            case .refused(let id, let refusal):
                let error = refusal.error
                record(.failed(error.code, why: error.message), job: id.number, at: now)
            case .circuit(let id, let origin, let state):
                record(.circuitChanged(origin: origin.description, state), job: id.number, at: now)
            case .discarded(let id): record(.discarded, job: id.number, at: now)
            case .stopped(let id): record(.stopped, job: id.number, at: now)
            }
        }
    }
}

extension RequestPlan {
    fileprivate func jobKind(_ position: Int) -> ImagePipeline.Event.JobKind {
        switch position {
        case 0 where isProcessedLookUp: .lookUp
        case 0 where request.source != nil: .source
        case 0: .fetch
        case 1: .decode
        default: .process
        }
    }

    fileprivate func subject(_ position: Int) -> String {
        position < 2 ? url.string : "\(url.string), processor \(position - 1)"
    }
}

extension JobGraph.JobID {
    /// The job's number in events.
    var number: ImagePipeline.Event.JobNumber { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: index)) }
}

extension JobGraph.LaneName {
    var lane: ImagePipeline.Event.Lane {
        switch self {
        case .store: .store
        case .fetch: .fetch
        case .decode: .decode
        }
    }
}
