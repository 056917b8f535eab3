import InflightConcurrency
import InflightCore

/// Counts calls that are pending, and lets a test wait until there are none.
final class PendingCalls: Sendable {
    private struct State: Sendable {
        var count = 0
        var waiters: [Bridge] = []
    }

    private let state = Guarded(State())

    /// Returns when no call is pending. Calls that a completion makes are waited for, too.
    func settle() async {
        let bridge = Bridge()
        let isIdle = state.withLock { state in
            if state.count > 0 { state.waiters.append(bridge) }
            return state.count == 0
        }
        if !isIdle { await bridge.wait() }
    }

    /// Counts a call until its completion has returned.
    ///
    /// - Returns: a completion to pass on in place of `completion`.
    func pending<each Input>(
        _ completion: @escaping @Sendable (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        state.withLock { $0.count += 1 }
        return { [self] (input: repeat each Input) in
            completion(repeat each input)
            ended()
        }
    }

    private func ended() {
        let waiters = state.withLock { state -> [Bridge] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.open() }
    }
}

/// An executor whose work is counted: bodies are checked and encoded there before they reach the store.
struct AwaitableExecutor: WorkExecutor {
    let base: any WorkExecutor
    let calls: PendingCalls

    func run(_ work: @escaping @Sendable () -> Void) { base.run(calls.pending(work)) }
}

/// A store whose calls are counted. It passes all of them to another one.
final class AwaitableStore: ResponseStore {
    private let base: any ResponseStore
    private let calls: PendingCalls

    init(_ base: any ResponseStore, calls: PendingCalls) {
        self.base = base
        self.calls = calls
    }

    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        base.find(key, choose: choose, completion: calls.pending(completion))
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        base.keep(response, body: body, under: key, replacing: replaced, completion: calls.pending(completion))
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        andAmong others: @escaping @Sendable (_ found: [StoredEntry]) -> [StoredEntry.ID]?,
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        base.keep(
            response, body: body, under: key, replacing: replaced, andAmong: others,
            completion: calls.pending(completion))
    }

    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        base.extend(id, by: bytes, at: offset, completion: calls.pending(completion))
    }

    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        base.update(id, to: response, completion: calls.pending(completion))
    }

    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        base.remove(ids, completion: calls.pending(completion))
    }

    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        base.removeAll(under: key, completion: calls.pending(completion))
    }

    func shutdown() async { await base.shutdown() }
}
