/// What a prefetcher decides, as a value: it is told what happened and answers what is to be done. No lock, no clock, no
/// pipeline, no code of a caller; what it lets go of it gives back, to be released outside the lock.
///
/// A wish is known by its key. `started` and `stopped` only write down what is wanted; at the end of the turn that is
/// compared with what there is, so what was taken back within the turn was never sent.
///
///     new ──turn ends──▶ waiting ──a place──▶ sending ──wasSent──▶ running ──ended──▶ kept, or gone
struct PrefetchMachine<Key: Hashable, Wish, Work, Yield> {
    typealias ID = Int

    /// What is to be done, the cancels first: their places are given to the sends.
    struct Actions {
        var cancels: [Work] = []
        var sends: [(id: ID, wish: Wish)] = []
        /// Not needed any more.
        var leftovers: [Wish] = []
        var droppedYields: [Yield] = []
    }

    enum Ending {
        case loaded
        /// It was in memory.
        case found
        /// Something to be kept, which costs so much.
        case gave(Yield, cost: Int64)
        case failed
    }

    fileprivate enum Phase {
        case new
        case waiting
        /// Handed out to be sent; what stands for it has not come yet.
        case sending
        case running(Work)
        case kept(Yield, cost: Int64)
    }

    fileprivate struct Entry {
        var key: Key
        var wish: Wish
        var isWanted = true
        var isTouched = false
        var phase = Phase.new
    }

    private(set) var limit: Int
    private let keptLimit: Int64
    private(set) var isPaused = false
    private(set) var isClosed = false
    private var counters = Prefetcher.Statistics()
    private var underWay = 0
    private var waiting = 0
    private var keptCost: Int64 = 0

    private var ids: [Key: ID] = [:]
    private var entries: [ID: Entry] = [:]
    private var latest = 0
    /// In the order of the calls.
    private var touched: [ID] = []
    private var isTurnUnderWay = false
    /// Those that wait, in the order of asking; some have left.
    private var line: ArraySlice<ID> = []
    /// Those that are kept, the oldest first; some have left.
    private var kept: ArraySlice<ID> = []

    /// - Parameter keptLimit: what may be kept at most.
    init(limit: Int, keptLimit: Int64 = 0) {
        self.limit = max(1, limit)
        self.keptLimit = keptLimit
    }

    var statistics: Prefetcher.Statistics {
        var statistics = counters
        statistics.waiting = waiting
        statistics.underWay = underWay
        statistics.keptBytes = keptCost
        return statistics
    }

    // MARK: Told by the owner

    /// - Returns: whether a turn begins with this, whose end has to be told.
    mutating func started(_ wishes: [(key: Key, wish: Wish)]) -> Bool {
        if isClosed { return false }
        for (key, wish) in wishes {
            if let id = ids[key] {
                touch(id, isWanted: true)
                continue
            }
            counters.asked += 1
            latest += 1
            ids[key] = latest
            entries[latest] = Entry(key: key, wish: wish)
            touch(latest, isWanted: true)
        }
        return beginTurn()
    }

    /// These can never be loaded.
    mutating func refused(_ count: Int) {
        counters.asked += count
        counters.failed += count
    }

    /// - Returns: whether a turn begins with this, whose end has to be told.
    mutating func stopped(_ keys: [Key]) -> Bool {
        for key in keys {
            if let id = ids[key] { touch(id, isWanted: false) }
        }
        return beginTurn()
    }

    /// - Returns: whether a turn begins with this, whose end has to be told.
    mutating func allStopped() -> Bool {
        for id in entries.keys.sorted() { touch(id, isWanted: false) }
        return beginTurn()
    }

    mutating func turnEnded() -> Actions {
        var actions = Actions()
        isTurnUnderWay = false
        let ids = touched
        touched = []
        for id in ids { settle(id, &actions) }
        sendNext(&actions)
        return actions
    }

    mutating func paused() { isPaused = true }

    mutating func resumed() -> Actions {
        isPaused = false
        return next()
    }

    mutating func limitSet(_ new: Int) -> Actions {
        limit = max(1, new)
        return next()
    }

    /// Hands out what is kept, which is not kept any more; it stays where `isRight` says that it is not what was asked for.
    mutating func taken(
        _ key: Key, where isRight: (Wish, Yield) -> Bool = { _, _ in true }
    ) -> (yield: Yield, leftover: Wish)? {
        guard let id = ids[key], let entry = entries[id], case .kept(let yield, let cost) = entry.phase,
            isRight(entry.wish, yield)
        else { return nil }
        keptCost -= cost
        remove(id)
        return (yield, entry.wish)
    }

    /// Nothing is wanted any more, now and ever.
    mutating func closed() -> Actions {
        isClosed = true
        _ = allStopped()
        return turnEnded()
    }

    // MARK: Told by the work

    /// The work of a wish that was handed out is under way.
    ///
    /// - Returns: whether it is still wanted, and not over.
    mutating func wasSent(_ id: ID, as work: Work) -> Bool {
        guard let entry = entries[id], case .sending = entry.phase else { return false }
        entries[id]?.phase = .running(work)
        return true
    }

    mutating func ended(_ id: ID, with ending: Ending) -> Actions {
        var actions = Actions()
        guard let entry = entries[id] else {
            // Stopped meanwhile: what it gave is not wanted.
            if case .gave(let yield, _) = ending { actions.droppedYields.append(yield) }
            return actions
        }
        underWay -= 1
        switch ending {
        case .loaded: counters.loaded += 1
        case .found: counters.found += 1
        case .failed: counters.failed += 1
        case .gave(let yield, let cost):
            counters.loaded += 1
            if cost <= keptLimit {
                makeRoom(for: cost, &actions)
                keptCost += cost
                entries[id]?.phase = .kept(yield, cost: cost)
                kept.append(id)
                sendNext(&actions)
                return actions
            }
            counters.evicted += 1
            actions.droppedYields.append(yield)
        }
        remove(id)
        actions.leftovers.append(entry.wish)
        sendNext(&actions)
        return actions
    }

    // MARK: Inside

    private mutating func touch(_ id: ID, isWanted: Bool) {
        guard let entry = entries[id] else { return }
        entries[id]?.isWanted = isWanted
        if entry.isTouched { return }
        entries[id]?.isTouched = true
        touched.append(id)
    }

    private mutating func beginTurn() -> Bool {
        if isTurnUnderWay || touched.isEmpty { return false }
        isTurnUnderWay = true
        return true
    }

    /// Compares what is wanted with what there is.
    private mutating func settle(_ id: ID, _ actions: inout Actions) {
        guard let entry = entries[id] else { return }
        entries[id]?.isTouched = false
        if entry.isWanted {
            guard case .new = entry.phase else { return }
            entries[id]?.phase = .waiting
            line.append(id)
            waiting += 1
            return
        }
        switch entry.phase {
        case .new: break
        case .waiting: waiting -= 1
        case .sending: underWay -= 1
        case .running(let work):
            underWay -= 1
            actions.cancels.append(work)
        case .kept(let yield, let cost):
            keptCost -= cost
            actions.droppedYields.append(yield)
        }
        if case .kept = entry.phase {} else { counters.stopped += 1 }
        remove(id)
        actions.leftovers.append(entry.wish)
    }

    private mutating func next() -> Actions {
        var actions = Actions()
        sendNext(&actions)
        return actions
    }

    private mutating func sendNext(_ actions: inout Actions) {
        while !isPaused, underWay < limit, let id = line.popFirst() {
            guard let entry = entries[id], case .waiting = entry.phase else { continue }
            waiting -= 1
            guard entry.isWanted else {
                // Stopped in the turn under way: whether it stays so is known at its end.
                entries[id]?.phase = .new
                continue
            }
            entries[id]?.phase = .sending
            underWay += 1
            counters.sent += 1
            actions.sends.append((id, entry.wish))
        }
    }

    private mutating func makeRoom(for cost: Int64, _ actions: inout Actions) {
        while keptCost + cost > keptLimit, let id = kept.popFirst() {
            guard let entry = entries[id], case .kept(let yield, let old) = entry.phase else { continue }
            keptCost -= old
            counters.evicted += 1
            remove(id)
            actions.droppedYields.append(yield)
            actions.leftovers.append(entry.wish)
        }
    }

    private mutating func remove(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        ids[entry.key] = nil
    }
}

extension PrefetchMachine: Sendable
where Key: Sendable, Wish: Sendable, Work: Sendable, Yield: Sendable {}
extension PrefetchMachine.Actions: Sendable where Wish: Sendable, Work: Sendable, Yield: Sendable {}
extension PrefetchMachine.Phase: Sendable where Work: Sendable, Yield: Sendable {}
extension PrefetchMachine.Entry: Sendable
where Key: Sendable, Wish: Sendable, Work: Sendable, Yield: Sendable {}
extension PrefetchMachine.Ending: Sendable where Yield: Sendable {}
