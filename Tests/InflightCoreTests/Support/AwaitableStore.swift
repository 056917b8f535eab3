import InflightConcurrency
import InflightCore

/// A store that passes all calls to another one, and lets a test wait until their completions have returned.
final class AwaitableStore: ResponseStore {
    private struct State: Sendable {
        var count = 0
        var waiters: [Bridge] = []
    }

    private let base: any ResponseStore
    private let state = Guarded(State())

    init(_ base: any ResponseStore) {
        self.base = base
    }

    /// Returns when no call is pending. Calls that a completion makes are waited for, too.
    func settle() async {
        let bridge = Bridge()
        let isIdle = state.withLock { state in
            if state.count > 0 { state.waiters.append(bridge) }
            return state.count == 0
        }
        if !isIdle { await bridge.wait() }
    }

    private func began() { state.withLock { $0.count += 1 } }

    private func ended() {
        let waiters = state.withLock { state -> [Bridge] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.open() }
    }

    /// Returns a completion to pass on in place of `completion`.
    private func pending<each Input>(
        _ completion: @escaping @Sendable (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        began()
        return { [self] (input: repeat each Input) in
            completion(repeat each input)
            ended()
        }
    }

    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        base.find(key, choose: choose, completion: pending(completion))
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        base.keep(response, body: body, under: key, replacing: replaced, completion: pending(completion))
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        andAmong others: @escaping @Sendable (_ found: [StoredEntry]) -> [StoredEntry.ID]?,
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        base.keep(
            response, body: body, under: key, replacing: replaced, andAmong: others, completion: pending(completion))
    }

    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        base.extend(id, by: bytes, at: offset, completion: pending(completion))
    }

    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        base.update(id, to: response, completion: pending(completion))
    }

    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        base.remove(ids, completion: pending(completion))
    }

    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        base.removeAll(under: key, completion: pending(completion))
    }

    func shutdown() async { await base.shutdown() }
}
