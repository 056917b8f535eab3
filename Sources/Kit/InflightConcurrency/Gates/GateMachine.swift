/// What a gate decides, as a value: it is told what happened and answers what is to be done. No lock, no queue, no code
/// of a caller; what it lets go of it gives back, to be released outside the lock.
///
///     waiting ──(on the queue, with an outcome)──▶ delivering ──(the handler has returned)──▶ ended
///        │  └────────(the queue dropped the ending)──────────────────────────────────────────▲
///        └──cancelled──▶ cancelled
@usableFromInline
package struct GateMachine<Event, Outcome> {
    @usableFromInline
    package enum Passage {
        /// Nothing may pass now.
        case nothing
        case event(Event)
        case outcome(Outcome)
    }

    /// What is not needed any more.
    @usableFromInline
    package struct Leftovers {
        @usableFromInline package var events: ArraySlice<Event>
        @usableFromInline package var outcome: Outcome?
        /// Whether this was the end: nothing will be called any more.
        @usableFromInline package var isEnd: Bool

        @inlinable package init(events: ArraySlice<Event> = [], outcome: Outcome? = nil, isEnd: Bool = false) {
            self.events = events
            self.outcome = outcome
            self.isEnd = isEnd
        }
    }

    @usableFromInline package internal(set) var phase = GatePhase.waiting
    /// A delivery was handed to the queue, and has neither returned nor was dropped.
    @usableFromInline package internal(set) var isScheduled = false
    @usableFromInline let keepsLatestOnly: Bool
    @usableFromInline var events: ArraySlice<Event> = []
    @usableFromInline var outcome: Outcome?

    @inlinable
    package init(keepsLatestOnly: Bool) {
        self.keepsLatestOnly = keepsLatestOnly
    }

    /// - Returns: whether a delivery is to be submitted, and what is not needed any more.
    @inlinable
    package mutating func eventArrived(_ event: Event) -> (submits: Bool, replaced: ArraySlice<Event>) {
        guard phase == .waiting, outcome == nil else { return (false, [event]) }
        let replaced = keepsLatestOnly ? events : []
        if keepsLatestOnly { events = [] }
        events.append(event)
        return (schedule(), replaced)
    }

    /// - Returns: whether a delivery is to be submitted, and whether this was the first outcome.
    @inlinable
    package mutating func outcomeArrived(_ arrived: Outcome) -> (submits: Bool, wasTaken: Bool) {
        guard phase == .waiting, outcome == nil else { return (false, false) }
        outcome = arrived
        return (schedule(), true)
    }

    /// The delivery runs: here, on the queue, is decided what may pass.
    @inlinable
    package mutating func queueReached() -> Passage {
        guard phase == .waiting else {
            isScheduled = false
            return .nothing
        }
        if let event = events.popFirst() { return .event(event) }
        guard let outcome = outcome.take() else {
            isScheduled = false
            return .nothing
        }
        phase = .delivering
        return .outcome(outcome)
    }

    /// What passed has been handled.
    ///
    /// - Returns: whether a delivery is to be submitted for what comes next.
    @inlinable
    package mutating func callbackReturned() -> Bool {
        if phase == .delivering { phase = .ended }
        isScheduled = phase == .waiting && (!events.isEmpty || outcome != nil)
        return isScheduled
    }

    /// The queue let go of the delivery without running it: the event is lost, or the ending is one that nobody hears.
    @inlinable
    package mutating func deliveryDropped() -> (submits: Bool, leftovers: Leftovers) {
        guard phase == .waiting else {
            isScheduled = false
            return (false, Leftovers())
        }
        var leftovers = Leftovers()
        if let event = events.popFirst() {
            leftovers.events = [event]
        } else if let outcome = outcome.take() {
            leftovers = Leftovers(outcome: outcome, isEnd: true)
            phase = .ended
        }
        isScheduled = phase == .waiting && (!events.isEmpty || outcome != nil)
        return (isScheduled, leftovers)
    }

    /// - Returns: what nobody will hear, or `nil` where it was too late to cancel.
    @inlinable
    package mutating func cancelled() -> Leftovers? {
        guard phase == .waiting else { return nil }
        phase = .cancelled
        defer { events = [] }
        return Leftovers(events: events, outcome: outcome.take(), isEnd: true)
    }

    @inlinable mutating func schedule() -> Bool {
        if isScheduled { return false }
        isScheduled = true
        return true
    }
}

extension GateMachine: Sendable where Event: Sendable, Outcome: Sendable {}
extension GateMachine.Leftovers: Sendable where Event: Sendable, Outcome: Sendable {}
extension GateMachine.Passage: Sendable where Event: Sendable, Outcome: Sendable {}
