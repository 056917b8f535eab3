internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// A store that looks up, writes and completes when the simulator decides, in any order, with all the faults of a disk.
///
/// An action and its completion are two steps. Others may come between.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedStore: ResponseStore, @unchecked Sendable {
    private struct Item {
        var entry: StoredEntry
        var key: StoreKey
        var body: [UInt8]
    }

    private unowned let world: World
    private var items: [Item] = []
    /// Pending work. `act` performs it and returns its completion. The store retains that completion in `tell`.
    private var work: [(act: () -> (() -> Void), tell: (() -> Void)?)] = []
    private var lastID: Int64 = 0
    private var isShutDown = false

    init(_ world: World) {
        self.world = world
    }

    var isReady: Bool { !work.isEmpty }

    /// Performs one piece of work, or completes one.
    func runOne() {
        let index = world.draws.below(work.count)
        let before = world.context
        world.context = .init()
        if let tell = work[index].tell {
            work.remove(at: index)
            tell()
        } else {
            work[index].tell = work[index].act()
            // Usually it completes at once.
            if !world.draws.once(in: 4) {
                let tell = work.remove(at: index).tell
                tell?()
            }
        }
        world.context = before
    }

    /// Evicts an entry, or another process finds it damaged.
    func evictOne() {
        guard !items.isEmpty else { return }
        let index = world.draws.below(items.count)
        let id = items[index].entry.id.rawValue
        world.note(72, UInt64(id), "copy \(id) is evicted")
        world.fault(\.store)
        items.remove(at: index)
        world.model.isGone(id)
    }

    func removeAll() {
        items = []
        work = []
    }

    private func later(_ act: @escaping () -> (() -> Void)) {
        world.poke()
        work.append((act, nil))
    }

    // MARK: Lookups

    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        let number = world.model.looksUp(key.text)
        world.note(70, UInt64(number), "look-up \(number): \(key.text)")
        later { [unowned self] in look(number, key, choose, completion) }
    }

    private func look(
        _ number: Int, _ key: StoreKey, _ choose: ([StoredEntry]) -> Int?,
        _ completion: @escaping ([StoredEntry], StoredBody?) -> Void
    ) -> () -> Void {
        if world.draws.once(in: 24) {
            world.fault(\.store)
            world.note(71, UInt64(number), "look-up \(number) fails")
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion([], nil)
            }
        }
        var positions = items.indices.filter { items[$0].key == key && !isShutDown }
        positions.sort { items[$0].entry.id.rawValue > items[$1].entry.id.rawValue }
        var found = positions.map { items[$0].entry }
        let chosen = choose(found)
        world.model.looks(number, has: found.map(\.id.rawValue), under: key.text, chosen: chosen)
        world.note(71, UInt64(number), "look-up \(number) finds \(found.map(\.id.rawValue)), reads \(chosen ?? -1)")
        guard let chosen else {
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion(found, nil)
            }
        }
        if world.draws.once(in: 16) {
            let id = found.remove(at: chosen).id
            world.fault(\.store)
            world.note(73, UInt64(id.rawValue), "copy \(id.rawValue) is damaged")
            items.removeAll { $0.entry.id == id }
            world.model.isGone(id.rawValue)
            return { [unowned self] in
                world.model.lookupEnds(number, delivery: -1)
                completion(found, nil)
            }
        }
        // Each read has its own number, which shows the task that receives it.
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
    private func takes() -> Bool {
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
        later { [unowned self] in
            var id: StoredEntry.ID?
            if takes() {
                lastID += 1
                id = StoredEntry.ID(rawValue: lastID)
                items.removeAll { replaced.contains($0.entry.id) }
                items.append(
                    Item(
                        entry: StoredEntry(id: StoredEntry.ID(rawValue: lastID), response: response), key: key,
                        body: body.array))
                world.model.bodyIsStored(number, as: lastID)
            }
            return told(number, "kept as \(id?.rawValue ?? -1)") { completion(id) }
        }
    }

    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        preconditionFailure("no body of the simulator's is so long that parts of it are kept while it comes")
    }

    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        let number = world.model.updates(id.rawValue, to: response)
        world.note(75, UInt64(number), "write \(number): copy \(id.rawValue) is fresh again")
        later { [unowned self] in
            let index = items.firstIndex { $0.entry.id == id }
            let isTaken = index != nil && takes()
            if let index, isTaken {
                items[index].entry.response = response
                world.model.isUpdated(number)
            }
            return told(number, isTaken ? "done" : "not done") { completion(isTaken) }
        }
    }

    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        let number = world.model.removes(ids.map(\.rawValue))
        world.note(76, UInt64(number), "write \(number): copies \(ids.map(\.rawValue)) go")
        later { [unowned self] in
            items.removeAll { ids.contains($0.entry.id) }
            for id in ids { world.model.isGone(id.rawValue) }
            return told(number, "done", completion)
        }
    }

    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        let number = world.model.removesAll(under: key.text)
        world.note(77, UInt64(number), "write \(number): all under \(key.text) goes")
        later { [unowned self] in
            for item in items where item.key == key { world.model.isGone(item.entry.id.rawValue) }
            items.removeAll { $0.key == key }
            return told(number, "done", completion)
        }
    }

    private func told(_ number: Int, _ what: String, _ completion: @escaping () -> Void) -> () -> Void {
        world.note(78, UInt64(number), "write \(number) is \(what)")
        return { [unowned self] in
            world.model.writeEnds(number)
            completion()
        }
    }

    /// Called if the pipeline owns this store, after all its requests are done.
    func shutdown() async {
        world.note(79, UInt64(work.count), "the store is shut down")
        if !work.isEmpty { world.model.neverEnds() }
        isShutDown = true
        for item in items { world.model.isGone(item.entry.id.rawValue) }
        items = []
    }
}
