/// A ``Lane`` for closures. It calls each closure when its turn comes.
///
/// ```swift
/// let lane = WorkLane<String>(.init(limit: 4))
/// let entry = lane.add(level: 2, group: "example.org") { slot in
///     fetch(url) { _ in slot.release() }       // releasing the closure releases the slot too
/// }
/// entry.move(toLevel: 4)                          // raises its priority
/// entry.cancel()                                  // removes it, unless it has begun
/// ```
///
/// - Thread: any thread may add. Work is called on a thread that adds or moves an entry or releases a slot, with no
///   lock held. It should continue elsewhere, because the next entry waits until it returns.
/// - Order: by level, the highest first; within a level those that were added ahead, the newest first, then the others,
///   the oldest first. An entry is called once, or never after its cancel.
/// - Cancellation: ``Entry/cancel()`` removes a waiting entry from the lane and releases its closure inside the call.
///   An entry that has begun keeps its slot until its work releases it.
/// - Locks: a group's `==` and `hash` run with the lane's lock held, so use a simple type such as a string.
/// - Bounds: at most ``Lane/Configuration/limit`` entries run at once, and of one group at most its limit. A slot is
///   released once, however often ``Slot/release()`` is called, and at the latest when it is deallocated.
/// - Cost: about 1 µs and 7 allocations for an entry, from adding it to releasing its slot, in an optimised build.
/// - Release: running work retains the lane. An entry only waits while others run, so none waits in an unretained lane.
public final class WorkLane<Group: Hashable & Sendable>: Sendable {
    /// A closure that begins one piece of work. It passes the slot on until the work has ended.
    public typealias Work = @Sendable (Slot) -> Void

    // Unchecked: accessed only with the lock around it held. A class, because `Lane` cannot be copied.
    @usableFromInline final class State: @unchecked Sendable {
        @usableFromInline var lane: Lane<Entry, Group>
        /// Whether a thread calls work and will call the next entries, so that work that ends at once does not recurse.
        @usableFromInline var isCalling = false

        @inlinable init(_ configuration: Lane<Entry, Group>.Configuration) {
            lane = Lane(configuration)
        }
    }

    @usableFromInline let state: Guarded<State>
    @usableFromInline let clock: any EngineClock

    /// Creates an empty lane.
    ///
    /// - Parameters:
    ///   - configuration: The limits of the lane.
    ///   - clock: The clock that measures how long entries wait.
    @inlinable
    public init(_ configuration: Lane<Entry, Group>.Configuration, clock: any EngineClock = SystemClock()) {
        state = Guarded(State(configuration))
        self.clock = clock
    }

    /// The number of slots that are taken, and the number of entries that wait, at one moment.
    @inlinable
    public var counts: (running: Int, waiting: Int) { state.withLock { ($0.lane.running, $0.lane.waiting) } }

    /// A piece of work that waits, runs or has run.
    public final class Entry: Cancelling, @unchecked Sendable {
        // Unchecked: `ticket` and `work` are accessed only with the lane's lock held.

        @usableFromInline let group: Group
        @usableFromInline var work: Work?
        @usableFromInline var ticket: Lane<Entry, Group>.Ticket?
        @usableFromInline let ahead: Bool
        @usableFromInline let lane: WorkLane

        @inlinable init(_ work: @escaping Work, group: Group, ahead: Bool, lane: WorkLane) {
            self.work = work
            self.group = group
            self.ahead = ahead
            self.lane = lane
        }

        /// Removes the entry from the lane, unless it has begun. Idempotent; any thread.
        @inlinable
        public func cancel() {
            lane.remove(self)
        }

        /// Moves the entry to another level, 0 to 4, as if newly added there, unless it has begun. Any thread.
        @inlinable
        public func move(toLevel level: Int) {
            lane.move(self, toLevel: level)
        }
    }

    /// A slot in the lane, held by work that has begun.
    public final class Slot: Sendable {
        @usableFromInline let lane: Guarded<WorkLane?>
        @usableFromInline let group: Group

        @inlinable init(_ lane: WorkLane, group: Group) {
            self.lane = Guarded(lane)
            self.group = group
        }

        @inlinable
        deinit {
            release()
        }

        /// Releases the slot after the work. Only the first call counts. The next entry may be called inside it.
        @inlinable
        public func release() {
            lane.withLock { $0.take() }?.release(group)
        }
    }

    /// Adds `work`, to be called in its turn: inside this call if a slot is free and no other thread is calling work.
    ///
    /// - Parameters:
    ///   - level: The level, 0 to 4. A higher level goes first.
    ///   - group: The group whose limit applies to the entry.
    ///   - ahead: Whether it goes before the others of its level, now and after ``Entry/move(toLevel:)``.
    ///   - work: Called with the entry's slot, which the lane takes back at the latest when it is deallocated.
    /// - Returns: The entry, to move or cancel it. It may be discarded.
    @discardableResult
    @inlinable
    public func add(level: Int, group: Group, ahead: Bool = false, _ work: @escaping Work) -> Entry {
        let entry = Entry(work, group: group, ahead: ahead, lane: self)
        let now = clock.now()
        state.withLock { entry.ticket = $0.lane.enqueue(entry, level: level, group: group, now: now, ahead: ahead) }
        callNext()
        return entry
    }

    @inlinable func remove(_ entry: Entry) {
        let released = state.withLock { state -> (Entry, Work?)? in
            guard let ticket = entry.ticket.take() else { return nil }
            return (state.lane.remove(ticket), entry.work.take())
        }
        withExtendedLifetime(released) {}
    }

    @inlinable func move(_ entry: Entry, toLevel level: Int) {
        let now = clock.now()
        state.withLock { state in
            if let ticket = entry.ticket { state.lane.move(ticket, toLevel: level, ahead: entry.ahead, now: now) }
        }
        callNext()
    }

    @inlinable func release(_ group: Group) {
        let now = clock.now()
        state.withLock { $0.lane.release(group: group, now: now) }
        callNext()
    }

    @inlinable func callNext() {
        let isOurs = state.withLock { state in
            defer { state.isCalling = true }
            return !state.isCalling
        }
        guard isOurs else { return }
        while let (entry, work) = takeNext() { work(Slot(self, group: entry.group)) }
    }

    @inlinable func takeNext() -> (Entry, Work)? {
        let now = clock.now()
        return state.withLock { state in
            while let entry = state.lane.next(now: now) {
                entry.ticket = nil
                if let work = entry.work.take() { return (entry, work) }
            }
            state.isCalling = false
            return nil
        }
    }
}
