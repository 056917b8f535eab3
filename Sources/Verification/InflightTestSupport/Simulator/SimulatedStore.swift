internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// A store that looks up, writes and completes when the simulator decides, in any order, with all the faults of a disk.
///
/// An operation and its completion are two steps. Other steps may run between them.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedStore: ResponseStore, @unchecked Sendable {
    private struct Item {
        var entry: StoredEntry
        var key: StoreKey
        var body: [UInt8]
    }

    private unowned let world: World
    private var items: [Item] = []
    /// Pending operations. `perform` runs one and returns its completion. The store retains it in `complete`.
    private var work: [(perform: () -> (() -> Void), complete: (() -> Void)?)] = []
    private var lastID: Int64 = 0
    private var isShutDown = false

    init(_ world: World) {
        self.world = world
    }

    var isReady: Bool { !work.isEmpty }

    /// Performs one operation, or completes one.
    func runOne() {
        let index = world.draws.below(work.count)
        let before = world.context
        world.context = .init()
        if let complete = work[index].complete {
            work.remove(at: index)
            complete()
        } else {
            work[index].complete = work[index].perform()
            // Most operations complete at once.
            if !world.draws.once(in: 4) {
                let complete = work.remove(at: index).complete
                complete?()
            }
        }
        world.context = before
    }

    /// Evicts an entry, or another process finds it damaged.
    func evictOne() {
        guard !items.isEmpty else { return }
        let index = world.draws.below(items.count)
        let id = items[index].entry.id.rawValue
        world.note(72, UInt64(id), "entry \(id) is evicted")
        world.fault(\.store)
        items.remove(at: index)
        world.model.removesEntry(id)
    }

    func removeAll() {
        items = []
        work = []
    }

    private func enqueue(_ perform: @escaping () -> (() -> Void)) {
        world.poke()
        work.append((perform, nil))
    }

    // MARK: Lookups

    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        let number = world.model.looksUp(key.text)
        world.note(70, UInt64(number), "lookup \(number): \(key.text)")
        enqueue { [unowned self] in lookUp(number, key, choose, completion) }
    }

    private func lookUp(
        _ number: Int, _ key: StoreKey, _ choose: ([StoredEntry]) -> Int?,
        _ completion: @escaping ([StoredEntry], StoredBody?) -> Void
    ) -> () -> Void {
        if world.draws.once(in: 24) {
            world.fault(\.store)
            world.note(71, UInt64(number), "lookup \(number) fails")
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion([], nil)
            }
        }
        var positions = items.indices.filter { items[$0].key == key && !isShutDown }
        positions.sort { items[$0].entry.id.rawValue > items[$1].entry.id.rawValue }
        var found = positions.map { items[$0].entry }
        let chosen = choose(found)
        world.model.performsLookup(number, has: found.map(\.id.rawValue), under: key.text, chosen: chosen)
        world.note(71, UInt64(number), "lookup \(number) finds \(found.map(\.id.rawValue)), reads \(chosen ?? -1)")
        guard let chosen else {
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion(found, nil)
            }
        }
        if world.draws.once(in: 16) {
            let id = found.remove(at: chosen).id
            world.fault(\.store)
            world.note(73, UInt64(id.rawValue), "entry \(id.rawValue) is corrupt")
            items.removeAll { $0.entry.id == id }
            world.model.removesEntry(id.rawValue)
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion(found, nil)
            }
        }
        // Each read has a unique number, which identifies the task that receives it.
        let delivery = world.responsesVary.count
        world.responsesVary.append(false)
        var body = items[positions[chosen]].body
        SimulatedBody.mark(&body, delivery: delivery)
        let read = StoredBody(position: chosen, bytes: Bytes(body))
        return { [unowned self] in
            world.model.lookupEnds(number, delivery: delivery)
            completion(found, read)
        }
    }

    // MARK: Writing

    /// Returns whether the store accepts a write.
    private func acceptsWrite() -> Bool {
        if isShutDown { return false }
        guard world.draws.once(in: 12) else { return true }
        world.fault(\.store)
        return false
    }

    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        let content = SimulatedBody(body).content
        let number = world.model.stores(
            response, delivery: content.exchange, version: content.version, byteCount: body.count, under: key.text,
            replacing: replaced.map(\.rawValue))
        world.note(74, UInt64(number), "write \(number): \(body.count) bytes under \(key.text)")
        enqueue { [unowned self] in
            var id: StoredEntry.ID?
            if acceptsWrite() {
                lastID += 1
                id = StoredEntry.ID(rawValue: lastID)
                items.removeAll { replaced.contains($0.entry.id) }
                items.append(
                    Item(
                        entry: StoredEntry(id: StoredEntry.ID(rawValue: lastID), response: response), key: key,
                        body: body.array))
                world.model.bodyIsStored(number, as: lastID)
            }
            return completed(number, id.map { "stores entry \($0.rawValue)" } ?? "is refused") { completion(id) }
        }
    }

    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        preconditionFailure("Simulated bodies are too short to be stored during the transfer.")
    }

    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        let number = world.model.updates(id.rawValue, to: response)
        world.note(75, UInt64(number), "write \(number) freshens entry \(id.rawValue)")
        enqueue { [unowned self] in
            let index = items.firstIndex { $0.entry.id == id }
            let isAccepted = index != nil && acceptsWrite()
            if let index, isAccepted {
                items[index].entry.response = response
                world.model.isUpdated(number)
            }
            return completed(number, isAccepted ? "succeeds" : "is refused") { completion(isAccepted) }
        }
    }

    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        let number = world.model.removes(ids.map(\.rawValue))
        world.note(76, UInt64(number), "write \(number) removes entries \(ids.map(\.rawValue))")
        enqueue { [unowned self] in
            items.removeAll { ids.contains($0.entry.id) }
            for id in ids { world.model.removesEntry(id.rawValue) }
            return completed(number, "succeeds", completion)
        }
    }

    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        let number = world.model.removesAll(under: key.text)
        world.note(77, UInt64(number), "write \(number) removes all entries under \(key.text)")
        enqueue { [unowned self] in
            for item in items where item.key == key { world.model.removesEntry(item.entry.id.rawValue) }
            items.removeAll { $0.key == key }
            return completed(number, "succeeds", completion)
        }
    }

    private func completed(_ number: Int, _ outcome: String, _ completion: @escaping () -> Void) -> () -> Void {
        world.note(78, UInt64(number), "write \(number) \(outcome)")
        return { [unowned self] in
            world.model.writeEnds(number)
            completion()
        }
    }

    /// Called if the pipeline owns this store, after all its operations have completed.
    func shutdown() async {
        world.note(79, UInt64(work.count), "the store is shut down")
        if !work.isEmpty { world.model.neverEnds() }
        isShutDown = true
        for item in items { world.model.removesEntry(item.entry.id.rawValue) }
        items = []
    }
}
