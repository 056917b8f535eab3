/// The backlog of a ``Gate``: all events in their order, or the latest alone.
@usableFromInline
package struct EventBacklog<Event>: GateBacklog {
    /// Slots before `head` are `nil`, so that an event is released when it passes and not by a later change.
    @usableFromInline var slots: [Event?] = []
    @usableFromInline var head = 0
    @usableFromInline let keepsLatestOnly: Bool

    @inlinable
    package init(keepsLatestOnly: Bool) {
        self.keepsLatestOnly = keepsLatestOnly
    }

    @inlinable package var isEmpty: Bool { head == slots.count }

    @inlinable
    package mutating func eventArrived(_ event: Event) -> (wasTaken: Bool, unneeded: Event?) {
        let replaced = keepsLatestOnly ? popFirst() : nil
        if head > slots.count / 2 {
            slots.removeFirst(head)
            head = 0
        }
        slots.append(event)
        return (true, replaced)
    }

    @inlinable
    package mutating func popFirst() -> Event? {
        guard !isEmpty else { return nil }
        defer { head += 1 }
        return slots[head].take()
    }

    @inlinable
    package mutating func takeDropped() -> EventBacklog {
        var dropped = EventBacklog(keepsLatestOnly: keepsLatestOnly)
        if let first = popFirst() { dropped.slots = [first] }
        return dropped
    }

    @inlinable
    package mutating func takeAll() -> EventBacklog {
        defer { (slots, head) = ([], 0) }
        return self
    }
}

extension EventBacklog: Sendable where Event: Sendable {}
