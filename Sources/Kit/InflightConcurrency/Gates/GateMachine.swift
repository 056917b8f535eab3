/// What a gate decides, as a value: it is told what happened and answers what is to be done. No lock, no queue, no code
/// of a caller; what it lets go of it gives back, to be released outside the lock.
///
///     waiting ──(on the queue, with an outcome)──▶ delivering ──(the handler has returned)──▶ ended
///        │  ├────────(the queue dropped the ending, or it was pulled)──────────────────────────▲
///        └──cancelled──▶ cancelled
///
/// What waits for it is handed out on a queue (``queueReached()``), or to whoever asks (``pulled()``): a gate uses one of
/// the two.
@usableFromInline
package struct GateMachine<Backlog: GateBacklog, Outcome> {
    @usableFromInline
    package enum Passage {
        /// Nothing may pass now.
        case nothing
        case event(Backlog.Event)
        case outcome(Outcome)
    }

    /// What is not needed any more.
    @usableFromInline
    package struct Leftovers {
        @usableFromInline package var backlog: Backlog?
        @usableFromInline package var outcome: Outcome?
        /// Whether this was the end: nothing will be called any more.
        @usableFromInline package var isEnd: Bool

        @inlinable package init(backlog: Backlog? = nil, outcome: Outcome? = nil, isEnd: Bool = false) {
            self.backlog = backlog
            self.outcome = outcome
            self.isEnd = isEnd
        }
    }

    @usableFromInline var outcome: Outcome?
    @usableFromInline package var backlog: Backlog
    @usableFromInline package internal(set) var phase = GatePhase.waiting
    /// A delivery was handed to the queue, and has neither returned nor was dropped; or whoever asks is to be woken.
    @usableFromInline package internal(set) var isScheduled = false

    @inlinable
    package init(backlog: Backlog) {
        self.backlog = backlog
    }

    /// - Returns: whether a delivery is to be submitted, whether there is something new to pass, and what is not needed any
    ///   more.
    @inlinable
    package mutating func eventArrived(
        _ event: Backlog.Event
    ) -> (submits: Bool, wasTaken: Bool, unneeded: Backlog.Event?) {
        guard isOpen else { return (false, false, event) }
        let (wasTaken, unneeded) = backlog.eventArrived(event)
        return (wasTaken && schedule(), wasTaken, unneeded)
    }

    /// - Returns: whether a delivery is to be submitted, and whether this was the first outcome.
    @inlinable
    package mutating func outcomeArrived(_ arrived: Outcome) -> (submits: Bool, wasTaken: Bool) {
        guard isOpen else { return (false, false) }
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
        if let event = backlog.popFirst() { return .event(event) }
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
        isScheduled = hasMore
        return isScheduled
    }

    /// Somebody asks for what is next, instead of a queue. Nothing is called with it, so the outcome ends the gate at once.
    /// Whoever got nothing is to be woken when a delivery is to be submitted.
    @inlinable
    package mutating func pulled() -> Passage {
        let passage = queueReached()
        if phase == .delivering { phase = .ended }
        isScheduled = false
        return passage
    }

    /// The queue let go of the delivery without running it: what it would have told is lost, or the ending is one that
    /// nobody hears.
    @inlinable
    package mutating func deliveryDropped() -> (submits: Bool, leftovers: Leftovers) {
        var leftovers = Leftovers()
        if phase == .waiting {
            if !backlog.isEmpty {
                leftovers.backlog = backlog.takeDropped()
            } else if let outcome = outcome.take() {
                leftovers = Leftovers(outcome: outcome, isEnd: true)
                phase = .ended
            }
        }
        isScheduled = hasMore
        return (isScheduled, leftovers)
    }

    /// - Returns: what nobody will hear, or `nil` where it was too late to cancel.
    @inlinable
    package mutating func cancelled() -> Leftovers? {
        guard phase == .waiting else { return nil }
        phase = .cancelled
        return Leftovers(backlog: backlog.takeAll(), outcome: outcome.take(), isEnd: true)
    }

    /// Whether something may still arrive.
    @inlinable var isOpen: Bool { phase == .waiting && outcome == nil }

    /// Whether something waits to pass.
    @inlinable var hasMore: Bool { phase == .waiting && (!backlog.isEmpty || outcome != nil) }

    @inlinable mutating func schedule() -> Bool {
        if isScheduled { return false }
        isScheduled = true
        return true
    }
}

extension GateMachine: Sendable where Backlog: Sendable, Outcome: Sendable {}
extension GateMachine.Leftovers: Sendable where Backlog: Sendable, Outcome: Sendable {}
extension GateMachine.Passage: Sendable where Backlog.Event: Sendable, Outcome: Sendable {}
