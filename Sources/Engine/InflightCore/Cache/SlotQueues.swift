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
