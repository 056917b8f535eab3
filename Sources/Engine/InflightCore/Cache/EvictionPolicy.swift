/// Decides what a cache of limited cost keeps. It holds neither keys nor values, only slots: the cache tells it what
/// happened, then asks ``nextEviction(downTo:)`` what to let go of until there is nothing more.
///
/// It is W-TinyLFU: newcomers live in a window in the order of use, and who leaves the window gets into the main part
/// only if it was used more often than all those together that it would displace. So one look through ten thousand
/// pictures does not push out those that are looked at every day. Two things differ from the published form, because a
/// picture costs so much more than what is remembered of it: uses are counted exactly, in the slots and for a while
/// after their values are gone, where others estimate them in a sketch; and the window grows and shrinks with each
/// return of something that a larger window, or a larger main part, would have kept. Measured in
/// `Documentation/Decisions/0001-eviction-policy.md`.
///
/// Cost: constant time for everything; evictions are counted with what made them necessary.
struct EvictionPolicy {
    typealias Slot = SlotQueues.Slot

    enum Eviction: Hashable {
        /// The slot's value has to go; its key is kept.
        case release(Slot)
        /// The slot's key has to go too; the slot may be given out again.
        case forget(Slot)
    }

    /// The largest sum of the costs of all values.
    let limit: Int
    /// The largest cost of a single value.
    var entryLimit: Int { limit / 10 }
    /// The part of the limit that newcomers have at present.
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
    /// How many values there are.
    var count: Int { slots.count(of: .window) + slots.count(of: .probation) + slots.count(of: .protected) }
    /// How many slots are remembered without a value.
    var ghostCount: Int {
        slots.count(of: .rejected) + slots.count(of: .displaced) + slots.count(of: .remembered)
    }

    func holdsValue(_ slot: Slot) -> Bool { slots.queue(of: slot).holdsValues }

    // MARK: What happened

    /// A key that has no slot came with a value of `cost`, not above ``entryLimit``.
    mutating func added(cost: Int) -> Slot {
        let slot = slots.take(into: .window, cost: cost)
        countUse(of: slot)
        return slot
    }

    /// A slot without a value was given one.
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

    /// The value of a slot was asked for.
    mutating func used(_ slot: Slot) {
        countUse(of: slot)
        slots.move(slot, to: slots.queue(of: slot) == .window ? .window : .protected)
    }

    /// A key was taken away with its value; the slot may be given out again.
    mutating func removed(_ slot: Slot) {
        slots.setCost(of: slot, to: 0)
        slots.move(slot, to: .free)
    }

    // MARK: What to do

    /// The next thing to let go of, so that no more than `target` and no more than the limit is kept; `nil`: nothing.
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
            // Not the fault of either part: the window learns nothing from it.
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

    /// Whether `candidate` was used more often than all those together that would have to go for it.
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
            // The second condition bounds the walk where many small ones, unused for long, face a large newcomer.
            if own <= theirs || seen == 64 { return false }
            victim = slots.newer(than: victim)
        }
        return own > theirs
    }

    private func firstVictim(_ order: [SlotQueues.Name]) -> Slot {
        for queue in order where slots.count(of: queue) > 0 { return slots.oldest(of: queue) }
        preconditionFailure("something has a cost and nothing is there")
    }

    private mutating func nextForgotten() -> Eviction? {
        // A key that would not have been kept by a window as large as the whole cache says nothing about its size.
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

    /// A key came back whose value had to go: a larger window, or a larger main part, would have kept it. The rarer of
    /// the two kinds of return counts for more.
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
