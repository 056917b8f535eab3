import InflightConcurrency
internal import Synchronization

/// The thin shell around the buffer: takes what happens, and tells the listener on its queue. A pipeline to which nobody
/// listens has none.
///
/// ``record(_:task:job:at:isPast:)`` may be called with any lock held, and takes one of its own alone; ``handOut()`` calls code of
/// the program's, and so with none.
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

    /// The number of the next load: never 0.
    func nextTask() -> PipelineEvent.TaskNumber {
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        return number == 0 ? nextTask() : number
    }

    /// By a clock that may be anybody's: asked with no lock held.
    var now: MonotonicTime { clock.now() }

    func record(
        _ kind: PipelineEvent.Kind, task: PipelineEvent.TaskNumber? = nil, job: PipelineEvent.JobNumber? = nil,
        at time: MonotonicTime, isPast: Bool = false
    ) {
        buffer.withLock {
            $0.append(PipelineEvent(time: time, task: task, job: job, kind: kind), isPast: isPast)
        }
    }

    /// Records what happens now, and hands it out. With no lock held.
    func tell(
        _ kind: PipelineEvent.Kind, task: PipelineEvent.TaskNumber? = nil, job: PipelineEvent.JobNumber? = nil
    ) {
        record(kind, task: task, job: job, at: clock.now())
        handOut()
    }

    /// Has the listener told what it has not heard, unless it is being told. With no lock held.
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
    /// What events call the job.
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
