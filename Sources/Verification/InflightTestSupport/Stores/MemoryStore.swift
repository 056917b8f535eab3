public import InflightConcurrency
public import InflightCore

/// A ``ResponseStore`` in a dictionary. It behaves as a disk cache without limits does from outside. For tests and for
/// the simulator.
///
/// - Thread: any may call. Calls are executed in order on the given executor, one after the other if the executor is
///   serial.
public final class MemoryStore: ResponseStore {
    private struct Item {
        var entry: StoredEntry
        var key: StoreKey
        var body: [UInt8]
    }

    private struct State {
        var items: [Int64: Item] = [:]
        var lastNumber: Int64 = 0
        var isShutDown = false
    }

    private let state = Guarded(State())
    private let executor: any WorkExecutor

    /// Creates an empty store.
    ///
    /// - Parameter executor: the executor of all work and completions. By default a thread of its own; a test may pass
    ///   one that it steps by hand.
    public init(executor: any WorkExecutor = WorkerThreads(count: 1, name: "memory store")) {
        self.executor = executor
    }

    /// The stored entries, newest first.
    public var entries: [StoredEntry] {
        state.withLock { state in state.items.values.map(\.entry).sorted { $0.id.rawValue > $1.id.rawValue } }
    }

    /// Finds the entries under `key`, newest first, and the body of the one that `choose` selects. `choose` and
    /// `completion` are called on the executor.
    public func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        executor.run {
            let found = self.entries(under: key)
            guard let position = choose(found), found.indices.contains(position) else { return completion(found, nil) }
            let body = self.state.withLock { $0.items[found[position].id.rawValue]?.body }
            completion(found, body.map { StoredBody(position: position, bytes: Bytes($0)) })
        }
    }

    private func entries(under key: StoreKey) -> [StoredEntry] {
        state.withLock { state in
            guard !state.isShutDown else { return [] }
            let found = state.items.values.filter { $0.key == key }.map(\.entry)
            return found.sorted { $0.id.rawValue > $1.id.rawValue }
        }
    }

    /// Stores a response with its body, and removes the entries that it replaces. `completion` gets nil if the body
    /// does not have the length of the response's body range, or after a shutdown.
    public func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        change { state -> StoredEntry.ID? in
            guard response.bodyRange.count == body.count, !state.isShutDown else { return nil }
            for id in replaced { state.items[id.rawValue] = nil }
            state.lastNumber += 1
            let id = StoredEntry.ID(rawValue: state.lastNumber)
            state.items[id.rawValue] = Item(
                entry: StoredEntry(id: id, response: response), key: key, body: body.array)
            return id
        } completion: {
            completion($0)
        }
    }

    /// Appends bytes to an entry's body. `completion` gets `false` if the entry is gone, if its bytes do not end at
    /// `offset`, or if the body would exceed its total length.
    public func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        change { state -> Bool in
            guard var item = state.items[id.rawValue] else { return false }
            let range = item.entry.response.bodyRange
            let end = range.upperBound + Int64(bytes.count)
            guard range.upperBound == offset, item.entry.response.totalLength.map({ end <= $0 }) ?? true else {
                return false
            }
            item.body += bytes.array
            item.entry.response.bodyRange = range.lowerBound..<end
            state.items[id.rawValue] = item
            return true
        } completion: {
            completion($0)
        }
    }

    /// Replaces an entry's response. `completion` gets `false` if the entry is gone, or if the new body range does not
    /// have the length of the stored body.
    public func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        change { state -> Bool in
            guard let item = state.items[id.rawValue], item.body.count == response.bodyRange.count else { return false }
            state.items[id.rawValue]?.entry.response = response
            return true
        } completion: {
            completion($0)
        }
    }

    /// Removes entries. Missing entries are ignored.
    public func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        change { state -> Void in
            for id in ids { state.items[id.rawValue] = nil }
        } completion: {
            completion()
        }
    }

    /// Removes all entries under `key`.
    public func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        change { state -> Void in
            state.items = state.items.filter { $0.value.key != key }
        } completion: {
            completion()
        }
    }

    /// Removes all entries on the executor, after the earlier calls if it is serial, and returns when that is done.
    /// Later calls find nothing and store nothing.
    public func shutdown() async {
        let bridge = Bridge()
        executor.run {
            self.state.withLock { state in
                state.items = [:]
                state.isShutDown = true
            }
            bridge.open()
        }
        await bridge.wait()
    }

    private func change<Result: Sendable>(
        _ body: @escaping @Sendable (inout State) -> Result, completion: @escaping @Sendable (Result) -> Void
    ) {
        executor.run {
            let result = self.state.withLock { body(&$0) }
            completion(result)
        }
    }
}
