import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A store that holds back changes until a test releases them, like a busy disk; lookups are immediate.
final class DelayedStore: ResponseStore {
    let store = MemoryStore()
    private let waiting = Guarded((isHeld: true, changes: [@Sendable () -> Void]()))

    /// Applies the pending changes, and every later change at once.
    func release() {
        let changes = waiting.withLock { waiting in
            waiting.isHeld = false
            defer { waiting.changes = [] }
            return waiting.changes
        }
        for change in changes { change() }
    }

    /// Holds back changes from now on.
    func hold() {
        waiting.withLock { $0.isHeld = true }
    }

    private func later(_ change: @escaping @Sendable () -> Void) {
        let isHeld = waiting.withLock { waiting in
            if waiting.isHeld { waiting.changes.append(change) }
            return waiting.isHeld
        }
        if !isHeld { change() }
    }

    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        store.find(key, choose: choose, completion: completion)
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        later { [store] in
            store.keep(response, body: body, under: key, replacing: replaced, completion: completion)
        }
    }

    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        later { [store] in store.extend(id, by: bytes, at: offset, completion: completion) }
    }

    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        later { [store] in store.update(id, to: response, completion: completion) }
    }

    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        later { [store] in store.remove(ids, completion: completion) }
    }

    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        later { [store] in store.removeAll(under: key, completion: completion) }
    }

    func shutdown() async {
        release()
        await store.shutdown()
    }
}
