import InflightConcurrency

/// Checks periodically whether a pipeline's transfers that take longer than one piece are fast enough, with one timer
/// for all of them.
final class RateChecker: Sendable {
    private struct State {
        var jobs: [ObjectIdentifier: FetchJob] = [:]
        var timer: (any ScheduledWork)?
        var deadline = MonotonicTime.distantFuture
    }

    private let clock: any EngineClock
    private let state = Guarded(State())

    init(clock: any EngineClock) {
        self.clock = clock
    }

    func add(_ job: FetchJob, checkAt time: MonotonicTime) {
        let isFirst = state.withLock { state in
            state.jobs[ObjectIdentifier(job)] = job
            return claim(time, &state)
        }
        if isFirst { schedule(at: time) }
    }

    func remove(_ job: FetchJob) {
        let (removed, timer): (FetchJob?, (any ScheduledWork)?) = state.withLock { state in
            let removed = state.jobs.removeValue(forKey: ObjectIdentifier(job))
            guard state.jobs.isEmpty else { return (removed, nil) }
            state.deadline = .distantFuture
            return (removed, state.timer.take())
        }
        timer?.cancel()
        withExtendedLifetime(removed) {}
    }

    /// Returns whether a timer has to be scheduled for a check at this time. Called with the lock held.
    private func claim(_ time: MonotonicTime, _ state: inout State) -> Bool {
        guard time < state.deadline else { return false }
        state.deadline = time
        return true
    }

    private func schedule(at time: MonotonicTime) {
        let timer = clock.schedule(at: time) { [weak self] in self?.checkAll() }
        let useless: (any ScheduledWork)? = state.withLock { state in
            // Another thread may have scheduled an earlier timer, or the last transfer may have ended.
            guard state.deadline == time else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        useless?.cancel()
    }

    private func checkAll() {
        let jobs = state.withLock { state in
            state.deadline = .distantFuture
            return state.jobs
        }
        let now = clock.now()
        guard let next = jobs.values.compactMap({ $0.checkRate(at: now) }).min() else { return }
        let isFirst = state.withLock { !$0.jobs.isEmpty && claim(next, &$0) }
        if isFirst { schedule(at: next) }
    }
}
