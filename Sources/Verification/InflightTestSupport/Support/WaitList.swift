internal import InflightConcurrency

/// Waiters for conditions, each with a time limit.
///
/// Conditions are closures without side effects, called with no lock held on the thread that announces a change.
final class WaitList: Sendable {
    private struct Waiter: Sendable {
        var id: Int
        var isTrue: @Sendable () -> Bool
        var finish: @Sendable (Bool) -> Void
        var timer: (any ScheduledWork)?
    }

    private struct State {
        var waiters: [Waiter] = []
        var lastID = 0
        var isClosed = false
    }

    private let state = Guarded(State())
    private let clock = SystemClock()

    /// Announces a change. Must be called after every change. About 20 ns without waiters.
    func somethingChanged() {
        let waiters = state.withLock { $0.waiters }
        for waiter in waiters where waiter.isTrue() { end(waiter.id, true) }
    }

    /// Fails the waits whose condition does not hold, and all later ones at once: nothing changes any more.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return state.waiters
        }
        for waiter in waiters { end(waiter.id, waiter.isTrue()) }
    }

    /// Waits until `isTrue` returns `true`.
    ///
    /// Time in which all of Swift's few task threads are busy does not count towards the limit: the tasks that would
    /// make the condition true wait for a thread then.
    func wait(
        for what: String, within limit: Duration, seen: @Sendable () -> String, _ isTrue: @escaping @Sendable () -> Bool
    ) async throws(WaitFailure) {
        let bridge = Bridge()
        let outcome = Guarded(false)
        let id = add(isTrue) { happened in
            outcome.withLock { $0 = happened }
            bridge.open()
        }
        @Sendable func limitTime() {
            schedule(id, after: limit) { [self, clock] in
                let passed = clock.now()
                // Runs once the task threads have finished all work enqueued before it.
                Task.detached { [self] in
                    let wasBusy = clock.now() - passed > .milliseconds(200)
                    if wasBusy, !isTrue() { limitTime() } else { end(id, isTrue()) }
                }
            }
        }
        limitTime()
        await bridge.wait()
        if !outcome.withLock({ $0 }) { throw failure(what, limit, seen()) }
    }

    /// Waits until `isTrue` returns `true`. Blocks the calling thread.
    func wait(
        for what: String, within limit: Duration, seen: @Sendable () -> String, _ isTrue: @escaping @Sendable () -> Bool
    ) throws(WaitFailure) {
        let latch = Latch<Bool>()
        let id = add(isTrue) { latch.open(with: $0) }
        schedule(id, after: limit) { [self] in end(id, isTrue()) }
        if !latch.wait() { throw failure(what, limit, seen()) }
    }

    private func failure(_ what: String, _ limit: Duration, _ seen: String) -> WaitFailure {
        WaitFailure(description: "Waited for \(what), but \(limit) have passed. \(seen)")
    }

    /// Adds a waiter. Its wait has ended when this returns if the condition already holds, or the list is closed.
    private func add(_ isTrue: @escaping @Sendable () -> Bool, _ finish: @escaping @Sendable (Bool) -> Void) -> Int {
        let (id, isClosed) = state.withLock { state in
            state.lastID += 1
            state.waiters.append(Waiter(id: state.lastID, isTrue: isTrue, finish: finish))
            return (state.lastID, state.isClosed)
        }
        let holds = isTrue()
        if holds || isClosed { end(id, holds) }
        return id
    }

    /// Schedules work for a waiter, unless its wait has ended.
    private func schedule(_ id: Int, after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return }
            state.waiters[index].timer = clock.schedule(at: clock.now() + delay, body)
        }
    }

    private func end(_ id: Int, _ happened: Bool) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.timer?.cancel()
        waiter?.finish(happened)
    }
}
