// The storage of a lane: nodes in one array, linked into lists; the groups; and a heap of the ready groups.

extension Lane {
    // MARK: Lists

    @inlinable
    mutating func insertFresh(_ index: Int32, level: Int, ahead: Bool, now: MonotonicTime) {
        precondition(0..<Self.levelCount ~= level, "there is no level \(level)")
        let rank = Self.rank(level, ahead: ahead)
        lastSequence += 1
        nodes[Int(index)].sequence = ahead ? -lastSequence : lastSequence
        nodes[Int(index)].since = now
        nodes[Int(index)].rank = UInt8(rank)
        nodes[Int(index)].isParked = false
        Self.insert(index, into: &fresh[rank], nodes: &nodes, atFront: ahead)
        freshRanks.insert(rank)
    }

    @inlinable
    mutating func park(_ index: Int32) {
        let group = Int(nodes[Int(index)].group)
        let rank = Int(nodes[Int(index)].rank)
        if groups[group].parked.isEmpty {
            groups[group].parked = [List](repeating: List(), count: Self.rankCount)
        }
        // Keep the sequence order: an entry parked earlier may have been enqueued later.
        var following = groups[group].parked[rank].head
        let latest = groups[group].latestParked
        if latest >= 0, Int(nodes[Int(latest)].rank) == rank,
            nodes[Int(latest)].sequence < nodes[Int(index)].sequence
        {
            following = nodes[Int(latest)].next
        }
        while following >= 0, nodes[Int(following)].sequence < nodes[Int(index)].sequence {
            following = nodes[Int(following)].next
        }
        Self.insert(index, into: &groups[group].parked[rank], nodes: &nodes, before: following)
        groups[group].parkedRanks.insert(rank)
        nodes[Int(index)].isParked = true
        groups[group].latestParked = index
    }

    @inlinable
    mutating func unlink(_ index: Int32) {
        let node = nodes[Int(index)]
        let rank = Int(node.rank)
        if node.isParked {
            if groups[Int(node.group)].latestParked == index { groups[Int(node.group)].latestParked = -1 }
            Self.remove(index, from: &groups[Int(node.group)].parked[rank], nodes: &nodes)
            if groups[Int(node.group)].parked[rank].head < 0 { groups[Int(node.group)].parkedRanks.remove(rank) }
        } else {
            Self.remove(index, from: &fresh[rank], nodes: &nodes)
            if fresh[rank].head < 0 { freshRanks.remove(rank) }
        }
    }

    @inlinable
    static func insert(_ index: Int32, into list: inout List, nodes: inout [Node], atFront: Bool) {
        if list.head < 0 {
            list = List(head: index, tail: index)
            nodes[Int(index)].previous = -1
            nodes[Int(index)].next = -1
        } else if atFront {
            nodes[Int(index)].previous = -1
            nodes[Int(index)].next = list.head
            nodes[Int(list.head)].previous = index
            list.head = index
        } else {
            nodes[Int(index)].previous = list.tail
            nodes[Int(index)].next = -1
            nodes[Int(list.tail)].next = index
            list.tail = index
        }
    }

    /// - Parameter following: An entry of the list, or -1 to insert at its end.
    @inlinable
    static func insert(_ index: Int32, into list: inout List, nodes: inout [Node], before following: Int32) {
        guard following >= 0, following != list.head else {
            return insert(index, into: &list, nodes: &nodes, atFront: following >= 0)
        }
        let preceding = nodes[Int(following)].previous
        nodes[Int(index)].previous = preceding
        nodes[Int(index)].next = following
        nodes[Int(preceding)].next = index
        nodes[Int(following)].previous = index
    }

    @inlinable
    static func remove(_ index: Int32, from list: inout List, nodes: inout [Node]) {
        let previous = nodes[Int(index)].previous
        let next = nodes[Int(index)].next
        if previous >= 0 { nodes[Int(previous)].next = next } else { list.head = next }
        if next >= 0 { nodes[Int(next)].previous = previous } else { list.tail = previous }
    }

    // MARK: Storage

    @inlinable
    mutating func makeNode(_ node: Node) -> Int32 {
        if freeNode >= 0 {
            let index = freeNode
            freeNode = nodes[Int(index)].next
            nodes[Int(index)] = node
            return index
        }
        nodes.append(node)
        return Int32(nodes.count - 1)
    }

    /// Frees the node of an element that is in no list any more, and returns the element.
    @inlinable
    mutating func forget(_ index: Int32) -> Element {
        guard let element = nodes[Int(index)].element else { preconditionFailure("this ticket was already used") }
        let group = nodes[Int(index)].group
        nodes[Int(index)].element = nil
        nodes[Int(index)].next = freeNode
        freeNode = index
        waitingCount -= 1
        groups[Int(group)].waiting -= 1
        freeIfUnused(group)
        return element
    }

    @inlinable
    mutating func groupIndex(_ name: Group) -> Int32 {
        if let index = find(name) { return index }
        let limit = configuration.groupLimit
        let state = GroupState(name: name, limit: limit, unreserved: configuration.unreserved(of: limit))
        let index: Int32
        if let free = freeGroups.popLast() {
            index = free
            groups[Int(free)] = state
        } else {
            index = Int32(groups.count)
            groups.append(state)
        }
        groupIndices[name] = index
        latestGroup = index
        return index
    }

    @inlinable
    mutating func find(_ name: Group) -> Int32? {
        if latestGroup >= 0, groups[Int(latestGroup)].name == name { return latestGroup }
        guard let index = groupIndices[name] else { return nil }
        latestGroup = index
        return index
    }

    @inlinable
    mutating func freeIfUnused(_ index: Int32) {
        guard groups[Int(index)].running == 0, groups[Int(index)].waiting == 0, groups[Int(index)].readyRanks.isEmpty,
            let name = groups[Int(index)].name
        else { return }
        groupIndices[name] = nil
        groups[Int(index)].name = nil
        freeGroups.append(index)
    }

    // MARK: Binary heap of the ready groups, best first

    @inlinable
    mutating func pushReady(_ item: Ready, rank: Int) {
        ready[rank].append(item)
        readyRanks.insert(rank)
        var child = ready[rank].count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard ready[rank][child].sequence < ready[rank][parent].sequence else { break }
            ready[rank].swapAt(child, parent)
            child = parent
        }
    }

    @inlinable
    mutating func popReady(rank: Int) {
        let last = ready[rank].removeLast()
        guard !ready[rank].isEmpty else { return readyRanks.remove(rank) }
        ready[rank][0] = last
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < ready[rank].count {
                if ready[rank][child].sequence < ready[rank][best].sequence { best = child }
            }
            if best == parent { return }
            ready[rank].swapAt(parent, best)
            parent = best
        }
    }
}
