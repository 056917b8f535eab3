internal import InflightConcurrency

/// Waiters for conditions, each with a deadline on the real clock.
///
/// Conditions are closures without side effects, called with no lock held on the thread that announces a change.
final class WaitList: Sendable {
    private struct Waiter: Sendable {
        var id: Int
        var isTrue: @Sendable () -> Bool
        var finish: @Sendable (Bool) -> Void
    }

    private struct State {
        var waiters: [Waiter] = []
        var lastID = 0
    }

    private let state = Guarded(State())

    /// Announces a change. Must be called after every change. About 20 ns without waiters.
    func somethingChanged() {
        let waiters = state.withLock { $0.waiters }
        for waiter in waiters where waiter.isTrue() { end(waiter.id, true) }
    }

    func wait(
        for what: String, within limit: Duration, seen: @Sendable () -> String, _ isTrue: @escaping @Sendable () -> Bool
    ) async throws(WaitFailure) {
        let bridge = Bridge()
        let outcome = Guarded(false)
        add(within: limit, isTrue) { happened in
            outcome.withLock { $0 = happened }
            bridge.open()
        }
        await bridge.wait()
        if !outcome.withLock({ $0 }) { throw failure(what, limit, seen()) }
    }

    /// Waits until `isTrue` returns `true`. Blocks the calling thread.
    func wait(
        for what: String, within limit: Duration, seen: @Sendable () -> String, _ isTrue: @escaping @Sendable () -> Bool
    ) throws(WaitFailure) {
        let latch = Latch<Bool>()
        add(within: limit, isTrue) { latch.open(with: $0) }
        if !latch.wait() { throw failure(what, limit, seen()) }
    }

    private func failure(_ what: String, _ limit: Duration, _ seen: String) -> WaitFailure {
        WaitFailure(description: "Waited for \(what), but \(limit) have passed. \(seen)")
    }

    private func add(
        within limit: Duration, _ isTrue: @escaping @Sendable () -> Bool, _ finish: @escaping @Sendable (Bool) -> Void
    ) {
        let clock = SystemClock()
        let deadline = clock.now() + limit
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let timer = clock.schedule(at: deadline) { self.end(id, false) }
        let finishAndForget: @Sendable (Bool) -> Void = { happened in
            timer.cancel()
            finish(happened)
        }
        state.withLock { $0.waiters.append(Waiter(id: id, isTrue: isTrue, finish: finishAndForget)) }
        // Returns at once if the condition already holds or the deadline has passed meanwhile.
        if isTrue() {
            end(id, true)
        } else if deadline <= clock.now() {
            end(id, false)
        }
    }

    private func end(_ id: Int, _ happened: Bool) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.finish(happened)
    }
}
