import InflightConcurrency
internal import Synchronization

/// The deadlines of a pipeline's tasks, in order, with one timer for all of them. It retains a task until its deadline
/// or its end.
final class TaskDeadlines: Sendable {
    private struct Pending {
        let task: ImageTask
        /// Distinguishes this deadline from earlier ones of the task, and of others at its address.
        let number: UInt64
        /// The stale image that the task was given.
        var stale: JobResult?
    }

    private struct State {
        var pending: [ObjectIdentifier: Pending] = [:]
        var queue = TimerQueue<(id: ObjectIdentifier, number: UInt64)>()
        var lastNumber: UInt64 = 0
        var timer = SharedTimer()
    }

    private let clock: any EngineClock
    private let state = Guarded(State())
    /// Whether any task had a deadline. Until then, nothing is locked at the end of a task.
    private let isUsed = Atomic(false)

    init(clock: any EngineClock) {
        self.clock = clock
    }

    /// Sets or replaces the deadline of a task.
    func set(_ time: MonotonicTime, for task: ImageTask) {
        isUsed.store(true, ordering: .relaxed)
        let id = ObjectIdentifier(task)
        let isFirst = state.withLock { state in
            state.lastNumber += 1
            state.pending[id] = Pending(task: task, number: state.lastNumber, stale: state.pending[id]?.stale)
            let pending = state.pending
            _ = state.queue.insert((id, state.lastNumber), at: time) { pending[$0.id]?.number != $0.number }
            return state.timer.claims(time)
        }
        if isFirst { schedule(at: time) }
    }

    /// The task has ended.
    func remove(_ task: ImageTask) {
        guard isUsed.load(ordering: .relaxed) else { return }
        let (removed, timer): (Pending?, (any ScheduledWork)?) = state.withLock { state in
            let removed = state.pending.removeValue(forKey: ObjectIdentifier(task))
            guard state.pending.isEmpty else { return (removed, nil) }
            state.queue = TimerQueue()
            return (removed, state.timer.end())
        }
        timer?.cancel()
        withExtendedLifetime(removed) {}
    }

    /// The task was given a stale image, which becomes its result if the deadline passes first.
    func prefer(_ stale: JobResult, for task: ImageTask) {
        guard isUsed.load(ordering: .relaxed) else { return }
        state.withLock { $0.pending[ObjectIdentifier(task)]?.stale = stale }
    }

    private func schedule(at time: MonotonicTime) {
        let timer = clock.schedule(at: time) { [weak self] in self?.expire() }
        state.withLock { $0.timer.keep(timer, for: time) }?.cancel()
    }

    private func expire() {
        let now = clock.now()
        let (due, next): ([Pending], MonotonicTime?) = state.withLock { state in
            var due: [Pending] = []
            while let (id, number) = state.queue.takeDue(at: now) {
                guard state.pending[id]?.number == number, let pending = state.pending.removeValue(forKey: id)
                else { continue }
                due.append(pending)
            }
            state.timer.fired()
            if state.pending.isEmpty { state.queue = TimerQueue() }
            guard let next = state.queue.earliest, state.timer.claims(next) else { return (due, nil) }
            return (due, next)
        }
        if let next { schedule(at: next) }
        due.first?.task.engine.expire(due.map { ($0.task, $0.stale) })
    }
}
