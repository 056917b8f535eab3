/// The backlog of a ``Gate``: all events in their order, or the latest alone.
@usableFromInline
package struct EventBacklog<Event>: GateBacklog {
    @usableFromInline package internal(set) var events: ArraySlice<Event> = []
    @usableFromInline let keepsLatestOnly: Bool

    @inlinable
    package init(keepsLatestOnly: Bool) {
        self.keepsLatestOnly = keepsLatestOnly
    }

    @inlinable package var isEmpty: Bool { events.isEmpty }

    @inlinable
    package mutating func eventArrived(_ event: Event) -> (wasTaken: Bool, unneeded: Event?) {
        let replaced = keepsLatestOnly ? events.first : nil
        if keepsLatestOnly { events = [] }
        events.append(event)
        return (true, replaced)
    }

    @inlinable
    package mutating func popFirst() -> Event? { events.popFirst() }

    @inlinable
    package mutating func takeDropped() -> EventBacklog {
        var dropped = EventBacklog(keepsLatestOnly: keepsLatestOnly)
        dropped.events = events.prefix(1)
        events = events.dropFirst()
        return dropped
    }

    @inlinable
    package mutating func takeAll() -> EventBacklog {
        defer { events = [] }
        return self
    }
}

extension EventBacklog: Sendable where Event: Sendable {}
