/// The state machine of a gate. Its methods take events and return the required actions. It has no lock and no queue,
/// and calls no foreign code. It returns the values that it no longer needs, to be released outside the lock.
///
///     waiting ──(on the queue, with an outcome)──▶ delivering ──(the handler has returned)──▶ ended
///        │  ├────────(the queue dropped the ending, or it was pulled)──────────────────────────▲
///        └──cancelled──▶ cancelled
///
/// A gate hands out its pending events and outcome either on a queue (``queueReached()``) or on demand (``pulled()``).
@usableFromInline
package struct GateMachine<Backlog: GateBacklog, Outcome> {
    @usableFromInline
    package enum NextCallback {
        /// Nothing may pass now.
        case nothing
        case event(Backlog.Event)
        case outcome(Outcome)
    }

    /// The values that are no longer needed.
    @usableFromInline
    package struct ReleasedValues {
        @usableFromInline package var backlog: Backlog?
        @usableFromInline package var outcome: Outcome?
        /// Whether the gate has ended, so that no more handlers are called.
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
    /// Whether a submitted delivery has neither returned nor been dropped, or a pulling consumer is to be woken.
    @usableFromInline package internal(set) var isScheduled = false

    @inlinable
    package init(backlog: Backlog) {
        self.backlog = backlog
    }

    /// - Returns: Whether to submit a delivery, whether there is something new to pass, and the event that is no longer
    ///   needed.
    @inlinable
    package mutating func eventArrived(
        _ event: Backlog.Event
    ) -> (submits: Bool, wasTaken: Bool, unneeded: Backlog.Event?) {
        guard isOpen else { return (false, false, event) }
        let (wasTaken, unneeded) = backlog.eventArrived(event)
        return (wasTaken && schedule(), wasTaken, unneeded)
    }

    /// - Returns: Whether to submit a delivery, and whether this was the first outcome.
    @inlinable
    package mutating func outcomeArrived(_ arrived: Outcome) -> (submits: Bool, wasTaken: Bool) {
        guard isOpen else { return (false, false) }
        outcome = arrived
        return (schedule(), true)
    }

    /// The delivery has reached its queue, where the gate decides what may pass.
    @inlinable
    package mutating func queueReached() -> NextCallback {
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

    /// The event or outcome that passed has been handled.
    ///
    /// - Returns: Whether to submit a delivery for the next one.
    @inlinable
    package mutating func callbackReturned() -> Bool {
        if phase == .delivering { phase = .ended }
        isScheduled = hasMore
        return isScheduled
    }

    /// A consumer has requested the next event. No queue and no handler are involved, so the outcome ends the gate at
    /// once. If nothing passed, wake the consumer when the gate returns that a delivery is to be submitted.
    @inlinable
    package mutating func pulled() -> NextCallback {
        let passage = queueReached()
        if phase == .delivering { phase = .ended }
        isScheduled = false
        return passage
    }

    /// The queue has released the delivery without running it. Its event is lost, or the ending is not delivered.
    @inlinable
    package mutating func deliveryDropped() -> (submits: Bool, leftovers: ReleasedValues) {
        var leftovers = ReleasedValues()
        if phase == .waiting {
            if !backlog.isEmpty {
                leftovers.backlog = backlog.takeDropped()
            } else if let outcome = outcome.take() {
                leftovers = ReleasedValues(outcome: outcome, isEnd: true)
                phase = .ended
            }
        }
        isScheduled = hasMore
        return (isScheduled, leftovers)
    }

    /// - Returns: The values that will not be delivered, or nil if it was too late to cancel.
    @inlinable
    package mutating func cancelled() -> ReleasedValues? {
        guard phase == .waiting else { return nil }
        phase = .cancelled
        return ReleasedValues(backlog: backlog.takeAll(), outcome: outcome.take(), isEnd: true)
    }

    /// Whether something may still arrive.
    @inlinable package var isOpen: Bool { phase == .waiting && outcome == nil }

    /// Whether an event or the outcome waits to pass.
    @inlinable var hasMore: Bool { phase == .waiting && (!backlog.isEmpty || outcome != nil) }

    @inlinable mutating func schedule() -> Bool {
        if isScheduled { return false }
        isScheduled = true
        return true
    }
}

extension GateMachine: Sendable where Backlog: Sendable, Outcome: Sendable {}
extension GateMachine.ReleasedValues: Sendable where Backlog: Sendable, Outcome: Sendable {}
extension GateMachine.NextCallback: Sendable where Backlog.Event: Sendable, Outcome: Sendable {}
