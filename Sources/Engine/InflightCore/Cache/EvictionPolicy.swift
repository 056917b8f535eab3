/// The eviction policy of a cache with a cost limit. It holds neither keys nor values, only slots: the cache reports
/// events, then calls ``nextEviction(downTo:)`` and evicts until it returns nil.
///
/// It is W-TinyLFU: new entries live in a window in LRU order. A candidate that leaves the window is admitted to the
/// main part only if it was used more often than all the victims together that it would displace. So one scroll through
/// ten thousand images does not evict those that are used every day. Two things differ from the published form, because
/// an image costs so much more than its slot. Uses are counted exactly, in the slots and for a while after their values
/// are evicted, instead of being estimated in a sketch. The window grows or shrinks with each return of an entry
/// that a larger window, or a larger main part, would have retained. Measured in
/// `Documentation/Decisions/0001-eviction-policy.md`.
///
/// Cost: constant time for every operation; evictions are counted with the operation that made them necessary.
struct EvictionPolicy {
    typealias Slot = SlotQueues.Slot

    enum Eviction: Hashable {
        /// Release the slot's value; its key is retained.
        case release(Slot)
        /// Remove the slot's key too; the slot may be reused.
        case forget(Slot)
    }

    /// The maximum sum of the costs of all values.
    let limit: Int
    /// The maximum cost of a single value.
    var entryLimit: Int { limit / 10 }
    /// The current limit of the window's cost, a part of ``limit``.
    private(set) var windowLimit: Int

    private var slots = SlotQueues()
    private var epoch: UInt32 = 0
    private var usesInEpoch = 0

    init(limit: Int) {
        self.limit = limit
        windowLimit = limit / 5
    }

    /// The sum of the costs of all values.
    var cost: Int { slots.cost(of: .window) + slots.cost(of: .probation) + slots.cost(of: .protected) }
    /// The number of values.
    var count: Int { slots.count(of: .window) + slots.count(of: .probation) + slots.count(of: .protected) }
    /// The number of slots that are remembered without a value.
    var ghostCount: Int {
        slots.count(of: .rejected) + slots.count(of: .displaced) + slots.count(of: .remembered)
    }

    func holdsValue(_ slot: Slot) -> Bool { slots.queue(of: slot).holdsValues }

    // MARK: Events

    /// A new key, without a slot, was stored with a value of `cost`, which is at most ``entryLimit``.
    mutating func added(cost: Int) -> Slot {
        let slot = slots.take(into: .window, cost: cost)
        countUse(of: slot)
        return slot
    }

    /// A value was stored again for a slot without one.
    mutating func returned(_ slot: Slot, cost: Int) {
        adaptWindow(to: slot)
        slots.setCost(of: slot, to: cost)
        slots.move(slot, to: .window)
        countUse(of: slot)
    }

    /// The value of a slot was replaced by one of `cost`.
    mutating func replaced(_ slot: Slot, cost: Int) {
        slots.setCost(of: slot, to: cost)
        used(slot)
    }

    /// The value of a slot was requested.
    mutating func used(_ slot: Slot) {
        countUse(of: slot)
        slots.move(slot, to: slots.queue(of: slot) == .window ? .window : .protected)
    }

    /// A key was removed with its value. The slot may be reused.
    mutating func removed(_ slot: Slot) {
        slots.setCost(of: slot, to: 0)
        slots.move(slot, to: .free)
    }

    // MARK: Evictions

    /// Returns the next eviction needed to keep at most `target` and at most the limit, or nil if none is needed.
    mutating func nextEviction(downTo target: Int = .max) -> Eviction? {
        shrinkProtected()
        while slots.cost(of: .window) > windowLimit, slots.count(of: .window) > 1 {
            let candidate = slots.oldest(of: .window)
            guard mayEnterMain(candidate) else {
                slots.move(candidate, to: .rejected)
                return .release(candidate)
            }
            slots.move(candidate, to: .probation)
        }
        if cost > limit {
            let victim = firstVictim([.probation, .protected, .window])
            slots.move(victim, to: .displaced)
            return .release(victim)
        }
        if cost > target {
            // Trims do not affect the window, because they are no evidence about the best sizes of the parts.
            let victim = firstVictim([.probation, .window, .protected])
            slots.move(victim, to: .remembered)
            return .release(victim)
        }
        return nextForgotten()
    }

    private mutating func shrinkProtected() {
        let protectedLimit = (limit - windowLimit) / 5 * 4
        while slots.cost(of: .protected) > protectedLimit {
            slots.move(slots.oldest(of: .protected), to: .probation)
        }
    }

    /// Whether `candidate` was used more often than all its victims together.
    private func mayEnterMain(_ candidate: Slot) -> Bool {
        let excess = cost - limit
        guard excess > 0 else { return true }
        let own = slots.uses(of: candidate, epoch: epoch)
        var (freed, theirs, seen) = (0, 0, 0)
        var victim = slots.oldest(of: .probation)
        while freed < excess, victim != SlotQueues.none {
            freed += slots.cost(of: victim)
            theirs += slots.uses(of: victim, epoch: epoch)
            seen += 1
            // The second condition bounds the walk if a large candidate faces many small victims with few uses.
            if own <= theirs || seen == 64 { return false }
            victim = slots.newer(than: victim)
        }
        return own > theirs
    }

    private func firstVictim(_ order: [SlotQueues.Name]) -> Slot {
        for queue in order where slots.count(of: queue) > 0 { return slots.oldest(of: queue) }
        preconditionFailure("the cache has a cost but no entry")
    }

    private mutating func nextForgotten() -> Eviction? {
        // Stop considering keys that even a window as large as the cache would not have retained.
        while slots.cost(of: .rejected) > min(limit - windowLimit, limit / 4) {
            slots.move(slots.oldest(of: .rejected), to: .remembered)
        }
        while slots.cost(of: .displaced) > limit / 4 {
            slots.move(slots.oldest(of: .displaced), to: .remembered)
        }
        guard slots.cost(of: .remembered) > limit / 2 else { return nil }
        let forgotten = slots.oldest(of: .remembered)
        removed(forgotten)
        return .forget(forgotten)
    }

    // MARK: Counting

    private mutating func countUse(of slot: Slot) {
        slots.countUse(of: slot, epoch: epoch)
        usesInEpoch += 1
        guard usesInEpoch > 5 * max(count, 64) else { return }
        usesInEpoch = 0
        epoch &+= 1
    }

    /// Adapts the window when an evicted key returns that a larger window, or a larger main part, would have retained.
    /// The rarer of the two kinds of return has more weight.
    private mutating func adaptWindow(to slot: Slot) {
        let queue = slots.queue(of: slot)
        guard queue == .rejected || queue == .displaced else { return }
        let other = slots.cost(of: queue == .rejected ? .displaced : .rejected)
        let weight = max(1, Double(other) / Double(max(1, slots.cost(of: queue))))
        let step = Int(min(Double(slots.cost(of: slot)) / 4 * weight, Double(limit)))
        if queue == .rejected {
            windowLimit = min(windowLimit + step, limit / 20 * 19)
        } else {
            windowLimit = max(windowLimit - step, limit / 100)
        }
    }
}

/// Slots, each in one of a few linked queues: constant time at both ends and in the middle, without an allocation per
/// slot.
///
/// The links are indices into one array. The owner keeps each slot's data under the same index.
struct SlotQueues {
    typealias Slot = Int32

    enum Name: UInt8, CaseIterable {
        /// Not in use.
        case free
        // With a value.
        case window, probation, protected
        // Without a value, but remembered.
        case rejected, displaced, remembered

        var holdsValues: Bool { self == .window || self == .probation || self == .protected }
    }

    private struct Node {
        var newer = none
        var older = none
        var queue = Name.free
        /// The number of uses, at most 15, as of `epoch`.
        var uses: UInt8 = 0
        var epoch: UInt32 = 0
        var cost = 0
    }

    private struct Ends {
        var newest = none
        var oldest = none
        var cost = 0
        var count = 0
    }

    static let none: Slot = -1

    private var nodes: [Node] = []
    private var ends = Name.allCases.map { _ in Ends() }

    func queue(of slot: Slot) -> Name { nodes[Int(slot)].queue }
    func cost(of slot: Slot) -> Int { nodes[Int(slot)].cost }
    func oldest(of queue: Name) -> Slot { ends[Int(queue.rawValue)].oldest }
    func cost(of queue: Name) -> Int { ends[Int(queue.rawValue)].cost }
    func count(of queue: Name) -> Int { ends[Int(queue.rawValue)].count }
    /// Returns the next newer slot in the same queue, or ``none``.
    func newer(than slot: Slot) -> Slot { nodes[Int(slot)].newer }

    /// Returns the number of uses of `slot`, halved once for each epoch since.
    func uses(of slot: Slot, epoch: UInt32) -> Int {
        let node = nodes[Int(slot)]
        return Int(node.uses >> min(epoch &- node.epoch, 8))
    }

    mutating func countUse(of slot: Slot, epoch: UInt32) {
        let uses = uses(of: slot, epoch: epoch)
        nodes[Int(slot)].uses = UInt8(min(uses + 1, 15))
        nodes[Int(slot)].epoch = epoch
    }

    /// Takes a free or new slot and makes it the newest of `queue`.
    mutating func take(into queue: Name, cost: Int) -> Slot {
        var slot = oldest(of: .free)
        if slot == Self.none {
            slot = Slot(nodes.count)
            nodes.append(Node())
        } else {
            unlink(slot)
        }
        nodes[Int(slot)] = Node(cost: cost)
        link(slot, queue)
        return slot
    }

    /// Makes `slot` the newest of `queue`.
    mutating func move(_ slot: Slot, to queue: Name) {
        unlink(slot)
        link(slot, queue)
    }

    mutating func setCost(of slot: Slot, to cost: Int) {
        let queue = Int(nodes[Int(slot)].queue.rawValue)
        ends[queue].cost += cost - nodes[Int(slot)].cost
        nodes[Int(slot)].cost = cost
    }

    private mutating func unlink(_ slot: Slot) {
        let node = nodes[Int(slot)]
        let queue = Int(node.queue.rawValue)
        if node.newer == Self.none {
            ends[queue].newest = node.older
        } else {
            nodes[Int(node.newer)].older = node.older
        }
        if node.older == Self.none {
            ends[queue].oldest = node.newer
        } else {
            nodes[Int(node.older)].newer = node.newer
        }
        ends[queue].cost -= node.cost
        ends[queue].count -= 1
    }

    private mutating func link(_ slot: Slot, _ name: Name) {
        let queue = Int(name.rawValue)
        let newest = ends[queue].newest
        nodes[Int(slot)].queue = name
        nodes[Int(slot)].newer = Self.none
        nodes[Int(slot)].older = newest
        if newest == Self.none { ends[queue].oldest = slot } else { nodes[Int(newest)].newer = slot }
        ends[queue].newest = slot
        ends[queue].cost += nodes[Int(slot)].cost
        ends[queue].count += 1
    }
}
