import InflightConcurrency
internal import Synchronization

/// Records events in the buffer, and delivers them to the observer on its queue. A pipeline without an observer has
/// none.
///
/// ``record(_:task:job:at:isPast:)`` may be called with any lock held, and takes only its own. ``handOut()`` calls code
/// of the program, so it must be called with no lock held.
final class Telemetry: Sendable {
    private let queue: CallbackQueue
    private let listener: ReleaseBox<any PipelineListener>
    private let clock: any EngineClock
    private let buffer: Guarded<EventBuffer>
    private let numbers = Atomic<UInt32>(0)

    init(_ listening: PipelineListening, clock: any EngineClock) {
        queue = listening.queue
        listener = ReleaseBox(listening.listener)
        self.clock = clock
        buffer = Guarded(EventBuffer(capacity: listening.capacity))
    }

    deinit {
        queue.release(listener)
    }

    /// Returns the number of the next load, never 0.
    func nextTask() -> PipelineEvent.TaskNumber {
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        return number == 0 ? nextTask() : number
    }

    /// The time by a clock that may run user code, so read it with no lock held.
    var now: MonotonicTime { clock.now() }

    func record(
        _ kind: PipelineEvent.Kind, task: PipelineEvent.TaskNumber? = nil, job: PipelineEvent.JobNumber? = nil,
        at time: MonotonicTime, isPast: Bool = false
    ) {
        buffer.withLock {
            $0.append(PipelineEvent(time: time, task: task, job: job, kind: kind), isPast: isPast)
        }
    }

    /// Records an event now, and submits it. Call with no lock held.
    func tell(
        _ kind: PipelineEvent.Kind, task: PipelineEvent.TaskNumber? = nil, job: PipelineEvent.JobNumber? = nil
    ) {
        record(kind, task: task, job: job, at: clock.now())
        handOut()
    }

    /// Submits queued events to the observer's queue, unless a batch is being delivered. Call with no lock held.
    func handOut() {
        if buffer.withLock({ $0.handsOut() }) { submit() }
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
        listener.content?.didHear(batch.events, leftOut: batch.leftOut)
        if buffer.withLock({ $0.didReturn() }) { submit() }
    }
}

extension EngineMachine.JobID {
    /// The job's number in events.
    var number: PipelineEvent.JobNumber { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: index)) }
}

extension EngineMachine.LaneName {
    var lane: PipelineEvent.Lane {
        switch self {
        case .store: .store
        case .fetch: .fetch
        case .decode: .decode
        }
    }
}
