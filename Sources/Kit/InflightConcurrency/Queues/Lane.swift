/// A bounded set of slots for one kind of work, filled by priority. It only decides which element runs next.
///
/// A value without locks, clocks and I/O: its methods take events and times, and ``next(now:)`` returns the element
/// that may start. It does not inspect elements. `WorkLane` of `InflightPatterns` is the form for closures, with a lock
/// and a clock.
///
/// ```swift
/// var lane = Lane<Job, String>(.init(limit: 4))
/// let ticket = lane.enqueue(job, level: 2, group: "example.org", now: now)
/// while let job = lane.next(now: now) { start(job) }      // takes a slot
/// lane.release(group: "example.org", now: now)            // releases it
/// ```
///
/// - Elements wait in ``levelCount`` levels. A higher level goes first. Within a level, elements that were added ahead
///   go first, the newest of them before the others; then the rest, the oldest first.
/// - At most ``Configuration/limit`` elements hold a slot at once, and at most its own limit for each group (an
///   origin, for example). A full group does not delay other groups.
/// - Levels below ``Configuration/reservedFromLevel`` may not take the last ``Configuration/reserve`` slots. With
///   ``Configuration/reservesInGroups``, they also leave free a quarter of each group's slots.
/// - An element that has waited for ``Configuration/raiseAfter`` is raised by one level, behind those that wait there
///   in order of arrival, to prevent starvation.
///
/// Inserting, removing and moving take constant time. Finding the next element takes constant time for each element
/// that leaves, and logarithmic time in the number of groups that have just got a slot again.
public struct Lane<Element, Group: Hashable>: ~Copyable {
    /// The number of levels. They are numbered from 0, which is the least urgent.
    @inlinable public static var levelCount: Int { 5 }

    /// The limits of a lane.
    public struct Configuration: Sendable {
        /// The number of slots, at least 1.
        public var limit: Int
        /// The maximum number of slots for one group, unless ``Lane/setLimit(_:of:now:)`` sets another. By default
        /// unlimited.
        public var groupLimit: Int = .max
        /// The number of slots that the levels below ``reservedFromLevel`` leave free. If it is not less than
        /// ``limit``, it is ignored.
        public var reserve = 0
        /// Whether the levels below ``reservedFromLevel`` leave ``reserve(of:)`` the group's limit free in each group,
        /// so that urgent elements of a group do not wait for a group full of others.
        public var reservesInGroups = false
        /// The lowest level that may take the reserved slots.
        public var reservedFromLevel = 2
        /// The time that an element waits in a level before it is raised by one level. Elements are raised when a slot
        /// is released, by ``Lane/release(group:now:)``, so that adding an element never starts another one.
        public var raiseAfter: Duration = .seconds(10)

        /// Creates a configuration with `limit` slots, and defaults for everything else.
        ///
        /// - Parameter limit: The number of slots, at least 1.
        public init(limit: Int) {
            self.limit = limit
        }

        /// Returns the usual reserve of `limit` slots: a quarter of them, at least 1; 0 if there is only one slot.
        @inlinable
        public static func reserve(of limit: Int) -> Int {
            limit > 1 ? max(1, limit / 4) : 0
        }

        /// Returns how many of a group's `limit` slots the levels below ``reservedFromLevel`` may take.
        @inlinable
        func unreserved(of limit: Int) -> Int {
            reservesInGroups ? limit - Self.reserve(of: limit) : limit
        }
    }

    /// A reference to a waiting element. Valid until the element leaves the lane.
    public struct Ticket: Hashable, Sendable {
        @usableFromInline var index: Int32

        @inlinable
        init(index: Int32) {
            self.index = index
        }
    }

    @usableFromInline
    struct Node {
        // In this order, a small element leaves no gap.
        @usableFromInline var element: Element?
        /// The list of the element's level that it waits in; see ``Lane/rank(_:ahead:)``.
        @usableFromInline var rank: UInt8 = 0
        @usableFromInline var isParked = false
        @usableFromInline var group: Int32
        @usableFromInline var previous: Int32 = -1
        @usableFromInline var next: Int32 = -1
        @usableFromInline var sequence: Int64 = 0
        @usableFromInline var since = MonotonicTime.zero

        @inlinable
        init(element: Element, group: Int32) {
            self.element = element
            self.group = group
        }
    }

    @usableFromInline
    struct List {
        @usableFromInline var head: Int32 = -1
        @usableFromInline var tail: Int32 = -1

        @inlinable
        init(head: Int32 = -1, tail: Int32 = -1) {
            self.head = head
            self.tail = tail
        }
    }

    @usableFromInline
    struct GroupState {
        @usableFromInline var name: Group?
        @usableFromInline var running = 0
        @usableFromInline var limit: Int
        /// The number of slots that the levels below the reserved ones may take.
        @usableFromInline var unreserved: Int
        @usableFromInline var waiting = 0
        /// The entries that reached the front while the group had no slot for them, by rank.
        @usableFromInline var parked: [List] = []
        /// The ranks of `parked` that have entries.
        @usableFromInline var parkedRanks = Ranks()
        /// The entry that was parked last, or -1. The next entry to be parked mostly belongs right behind it.
        @usableFromInline var latestParked: Int32 = -1
        /// The ranks in which this group is in `ready`.
        @usableFromInline var readyRanks = Ranks()

        @inlinable
        init(name: Group, limit: Int, unreserved: Int) {
            self.name = name
            self.limit = limit
            self.unreserved = unreserved
        }
    }

    /// A group with parked entries that has a free slot again.
    @usableFromInline
    struct Ready {
        @usableFromInline var sequence: Int64
        @usableFromInline var group: Int32

        @inlinable
        init(sequence: Int64, group: Int32) {
            self.sequence = sequence
            self.group = group
        }
    }

    /// The configuration with which the lane was created.
    public let configuration: Configuration
    /// The number of slots that are taken.
    public var running: Int { takenPlaces }
    /// The number of elements that wait.
    public var waiting: Int { waitingCount }

    @usableFromInline var takenPlaces = 0
    @usableFromInline var waitingCount = 0
    @usableFromInline var nodes: [Node] = []
    @usableFromInline var freeNode: Int32 = -1
    @usableFromInline var fresh = [List](repeating: List(), count: Self.rankCount)
    /// The ranks of `fresh` and of `ready` that have entries.
    @usableFromInline var freshRanks = Ranks(), readyRanks = Ranks()
    @usableFromInline var groups: [GroupState] = []
    @usableFromInline var freeGroups: [Int32] = []
    @usableFromInline var groupIndices: [Group: Int32] = [:]
    /// The group that was looked up last, or -1. The next lookup is mostly for the same group.
    @usableFromInline var latestGroup: Int32 = -1
    @usableFromInline var ready = [[Ready]](repeating: [], count: Self.rankCount)
    @usableFromInline var lastSequence: Int64 = 0

    /// In nanoseconds, because comparing durations costs more than everything else that is done for an element.
    @usableFromInline let raiseAfter: Int64
    /// When to look again for parked entries that have waited long. Looking costs a step for each group.
    @usableFromInline var nextRaiseOfParked: Int64 = .min

    /// Creates an empty lane.
    @inlinable
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        raiseAfter = configuration.raiseAfter.saturatedNanoseconds
    }

    // MARK: Entering and leaving

    /// Adds `element` to its level, behind the others or before them.
    ///
    /// - Parameters:
    ///   - element: The element, returned when its turn comes.
    ///   - level: The level, from 0 to ``levelCount`` − 1. Any other traps.
    ///   - name: The group whose limit applies to the element.
    ///   - now: The current time, from which the element's wait is measured.
    ///   - ahead: Whether it goes before all others of its level: because it had a slot and released it, or because the
    ///     newest is the most urgent, as for scrolling lists.
    /// - Returns: The ticket by which the element can be moved or removed while it waits.
    @inlinable
    public mutating func enqueue(
        _ element: Element, level: Int, group name: Group, now: MonotonicTime, ahead: Bool = false
    ) -> Ticket {
        let group = groupIndex(name)
        let index = makeNode(Node(element: element, group: group))
        groups[Int(group)].waiting += 1
        waitingCount += 1
        insertFresh(index, level: level, ahead: ahead, now: now)
        return Ticket(index: index)
    }

    /// Removes a waiting element and returns it. The ticket must be valid.
    @discardableResult
    @inlinable
    public mutating func remove(_ ticket: Ticket) -> Element {
        unlink(ticket.index)
        return forget(ticket.index)
    }

    /// Moves a waiting element to another level, as if it had just been added there. No effect if it is in that level.
    /// The ticket must be valid.
    ///
    /// - Parameters:
    ///   - ticket: The element's ticket.
    ///   - level: The level, from 0 to ``levelCount`` − 1. Any other traps.
    ///   - ahead: Whether it goes before all others of the level.
    ///   - now: The current time, from which the element's wait is measured again.
    @inlinable
    public mutating func move(_ ticket: Ticket, toLevel level: Int, ahead: Bool = false, now: MonotonicTime) {
        guard self.level(of: ticket) != level else { return }
        unlink(ticket.index)
        insertFresh(ticket.index, level: level, ahead: ahead, now: now)
    }

    /// Returns the next element to run, or nil if no waiting element may run now. The element holds a slot until
    /// ``release(group:now:)``.
    @inlinable
    public mutating func next(now: MonotonicTime) -> Element? {
        guard waiting > 0, running < configuration.limit else { return nil }
        var ranks = freshRanks.union(readyRanks)
        while let rank = ranks.popHighest() {
            if isLow(rank), running >= configuration.limit - configuration.reserve {
                // A reserve of all slots is ignored. Otherwise these levels would never run.
                if configuration.limit > configuration.reserve { return nil }
            }
            guard let index = best(rank: rank) else { continue }
            let group = Int(nodes[Int(index)].group)
            unlink(index)
            takenPlaces += 1
            groups[group].running += 1
            return forget(index)
        }
        return nil
    }

    /// Releases a slot that an element of the group held, and raises elements that have waited long. Traps if the group
    /// holds none.
    @inlinable
    public mutating func release(group name: Group, now: MonotonicTime) {
        guard let group = find(name) else { preconditionFailure("the group \(name) occupies no slot") }
        takenPlaces -= 1
        groups[Int(group)].running -= 1
        precondition(running >= 0 && groups[Int(group)].running >= 0, "more slots were released than occupied")
        raiseFresh(now: now)
        raiseParked(group, now: now)
        raiseParked(now: now)
        markReady(group)
        freeIfUnused(group)
    }

    /// Takes a slot for work that was not enqueued and belongs to no group, if one is free and no element waits.
    ///
    /// - Returns: Whether a slot was taken. ``vacate()`` releases it.
    public mutating func occupy() -> Bool {
        guard waiting == 0, running < configuration.limit else { return false }
        takenPlaces += 1
        return true
    }

    /// Releases a slot that ``occupy()`` took. Traps if no slot is taken.
    public mutating func vacate() {
        precondition(running > 0, "more slots were released than occupied")
        takenPlaces -= 1
    }

    /// Sets the maximum number of slots for one group, until no element of the group waits or runs. No effect if none
    /// does now. Slots that are taken beyond the limit stay taken.
    @inlinable
    public mutating func setLimit(_ limit: Int, of name: Group, now: MonotonicTime) {
        guard let group = groupIndices[name] else { return }
        groups[Int(group)].limit = limit
        groups[Int(group)].unreserved = configuration.unreserved(of: limit)
        markReady(group)
    }

    /// Returns the maximum number of slots for the group.
    @inlinable
    public func limit(of name: Group) -> Int {
        groupIndices[name].map { groups[Int($0)].limit } ?? configuration.groupLimit
    }

    /// Returns the number of slots that the group holds.
    @inlinable
    public func running(of name: Group) -> Int {
        groupIndices[name].map { groups[Int($0)].running } ?? 0
    }

    /// Returns the level in which an element waits now.
    @inlinable
    public func level(of ticket: Ticket) -> Int {
        Int(nodes[Int(ticket.index)].rank) / 2
    }

    // MARK: Ranks

    /// Each level has two lists: the elements that were added ahead, which go first, and the others.
    @inlinable static var rankCount: Int { 2 * levelCount }

    /// A set of ranks.
    @usableFromInline
    struct Ranks {
        @usableFromInline var bits: UInt16 = 0

        @inlinable init(bits: UInt16 = 0) { self.bits = bits }

        /// All ranks but those of the highest level.
        @inlinable static var raisable: Ranks { Ranks(bits: 1 << UInt16(rankCount - 2) - 1) }

        @inlinable var isEmpty: Bool { bits == 0 }
        @inlinable func contains(_ rank: Int) -> Bool { bits & 1 << UInt16(rank) != 0 }
        @inlinable mutating func insert(_ rank: Int) { bits |= 1 << UInt16(rank) }
        @inlinable mutating func remove(_ rank: Int) { bits &= ~(1 << UInt16(rank)) }
        @inlinable func union(_ other: Ranks) -> Ranks { Ranks(bits: bits | other.bits) }
        @inlinable func intersection(_ other: Ranks) -> Ranks { Ranks(bits: bits & other.bits) }

        @inlinable
        mutating func popHighest() -> Int? {
            guard bits != 0 else { return nil }
            let rank = UInt16.bitWidth - 1 - bits.leadingZeroBitCount
            remove(rank)
            return rank
        }
    }

    @inlinable
    static func rank(_ level: Int, ahead: Bool) -> Int { 2 * level + (ahead ? 1 : 0) }

    @inlinable
    static func isAhead(_ rank: Int) -> Bool { rank & 1 == 1 }

    @inlinable
    func isLow(_ rank: Int) -> Bool { rank / 2 < configuration.reservedFromLevel }

    /// Returns the element of a list that has waited longest, or -1. The newest of those added ahead is the first.
    @inlinable
    static func oldest(_ list: List, rank: Int) -> Int32 { isAhead(rank) ? list.tail : list.head }

    // MARK: Choosing

    /// Returns whether the group has a slot for an element of the rank.
    @inlinable
    func hasSlot(_ group: Int, rank: Int) -> Bool {
        groups[group].running < (isLow(rank) ? groups[group].unreserved : groups[group].limit)
    }

    @inlinable
    mutating func best(rank: Int) -> Int32? {
        let parked = bestParked(rank: rank)
        var candidate: Int32?
        while fresh[rank].head >= 0 {
            let index = fresh[rank].head
            let group = Int(nodes[Int(index)].group)
            if hasSlot(group, rank: rank) {
                candidate = index
                break
            }
            unlink(index)
            park(index)
        }
        guard let parked else { return candidate }
        guard let candidate else { return parked }
        return nodes[Int(candidate)].sequence < nodes[Int(parked)].sequence ? candidate : parked
    }

    /// Returns the first parked entry among the groups that have a free slot.
    @inlinable
    mutating func bestParked(rank: Int) -> Int32? {
        while let top = ready[rank].first {
            let group = Int(top.group)
            let head = groups[group].parked.isEmpty ? -1 : groups[group].parked[rank].head
            if head < 0 || !hasSlot(group, rank: rank) {
                popReady(rank: rank)
                groups[group].readyRanks.remove(rank)
                freeIfUnused(top.group)
            } else if nodes[Int(head)].sequence != top.sequence {
                // The group's first entry has changed since the push. Push the group again with the current sequence.
                popReady(rank: rank)
                pushReady(Ready(sequence: nodes[Int(head)].sequence, group: top.group), rank: rank)
            } else {
                return head
            }
        }
        return nil
    }

    @inlinable
    mutating func markReady(_ group: Int32) {
        var ranks = groups[Int(group)].parkedRanks
        while let rank = ranks.popHighest() {
            guard hasSlot(Int(group), rank: rank), !groups[Int(group)].readyRanks.contains(rank) else { continue }
            groups[Int(group)].readyRanks.insert(rank)
            let head = groups[Int(group)].parked[rank].head
            pushReady(Ready(sequence: nodes[Int(head)].sequence, group: group), rank: rank)
        }
    }

    // MARK: Raising

    @inlinable
    func hasWaitedLong(_ index: Int32, now: MonotonicTime) -> Bool {
        let waited = now.nanoseconds.subtractingReportingOverflow(nodes[Int(index)].since.nanoseconds)
        return waited.overflow || waited.partialValue >= raiseAfter
    }

    @inlinable
    mutating func raiseFresh(now: MonotonicTime) {
        var ranks = freshRanks.intersection(.raisable)
        while let rank = ranks.popHighest() {
            while fresh[rank].head >= 0 {
                let oldest = Self.oldest(fresh[rank], rank: rank)
                guard hasWaitedLong(oldest, now: now) else { break }
                // Entries of the group that were parked have waited longer, and must not be overtaken.
                raiseParked(nodes[Int(oldest)].group, now: now)
                raise(oldest, now: now)
            }
        }
    }

    /// Raises the parked entries of all groups that have free slots. Those below ``Configuration/reservedFromLevel``
    /// would else wait until their own group releases a slot, however long that takes.
    @inlinable
    mutating func raiseParked(now: MonotonicTime) {
        guard configuration.reservesInGroups, now.nanoseconds >= nextRaiseOfParked else { return }
        nextRaiseOfParked = now.nanoseconds.addingReportingOverflow(raiseAfter / 8).partialValue
        for group in groups.indices where groups[group].waiting > 0 && groups[group].running < groups[group].limit {
            raiseParked(Int32(group), now: now)
        }
    }

    @inlinable
    mutating func raiseParked(_ group: Int32, now: MonotonicTime) {
        var ranks = groups[Int(group)].parkedRanks.intersection(.raisable)
        while let rank = ranks.popHighest() {
            while true {
                let oldest = Self.oldest(groups[Int(group)].parked[rank], rank: rank)
                guard oldest >= 0, hasWaitedLong(oldest, now: now) else { break }
                raise(oldest, now: now)
            }
        }
    }

    /// Raises an element by a level. It does not go ahead there, or the last one that is raised would go first.
    @inlinable
    mutating func raise(_ index: Int32, now: MonotonicTime) {
        let ticket = Ticket(index: index)
        move(ticket, toLevel: level(of: ticket) + 1, now: now)
    }
}
