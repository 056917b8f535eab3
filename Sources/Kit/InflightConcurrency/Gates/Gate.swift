/// The one place where a caller is told something: events in their order, then one ending, or nothing any more after a
/// cancel.
///
/// ```swift
/// let gate = Gate<Int, Result<[UInt8], any Error>>(on: queue)
/// gate.setEventHandler { percent in … }       // at any time, also later, also again
/// gate.setEndHandler { result in … }
/// gate.send(50)                                // from the working thread
/// gate.end(with: .success(bytes))
/// gate.cancel()                                // silence, unless the ending has passed
/// ```
///
/// - Thread: every method may be called from any thread. Handlers are called on the gate's callback queue and nowhere
///   else, never inside a call of yours, and with no lock held: they may call back into anything, this gate included.
/// - Order: that of ``send(_:)``, on a concurrent queue too: the next is submitted when the last handler has returned or
///   was dropped. Nothing follows the ending.
/// - Cancellation: decided on the callback queue. After a ``cancel()`` on it, where it is serial, no handler starts. After
///   one from elsewhere, a handler that has passed the gate may finish and none passes later.
/// - Release: handlers are released on the callback queue, or inside the call of yours that cancels or replaces them. The
///   gate is kept alive while a delivery is on its way.
/// - Dropping: a queue that drops a delivery (see ``CallbackQueue/mayDrop``) loses that event, or makes the ending one
///   that nobody hears. What comes after it is delivered.
/// - Cost: about 0.1 µs for an event over what its queue costs; 1 µs and 7 allocations for a gate that is made, ended and
///   let go of, its queue included. In an optimised build, where it is specialised for its types; else four times as much.
public final class Gate<Event: Sendable, Outcome: Sendable>: Sendable {
    public typealias EventHandler = @Sendable (Event) -> Void
    public typealias EndHandler = @Sendable (Outcome) -> Void

    /// What happens to events that come quicker than the handler returns.
    public enum Backlog: Sendable {
        /// All are kept.
        case all
        /// The latest replaces those that were not handled yet: for progress, so that nothing piles up.
        case latest
    }

    @usableFromInline struct Handlers: Sendable {
        @usableFromInline var event: EventHandler?
        @usableFromInline var end: EndHandler?

        @inlinable init() {}

        @inlinable var isEmpty: Bool { event == nil && end == nil }
    }

    @usableFromInline struct State: Sendable {
        @usableFromInline var machine: GateMachine<EventBacklog<Event>, Outcome>
        @usableFromInline var handlers = Handlers()

        @inlinable init(keepsLatestOnly: Bool) {
            machine = GateMachine(backlog: EventBacklog(keepsLatestOnly: keepsLatestOnly))
        }

        @inlinable mutating func takeHandlers() -> Handlers {
            defer { handlers = Handlers() }
            return handlers
        }
    }

    public let queue: CallbackQueue
    @usableFromInline let state: Guarded<State>

    @inlinable
    public init(on queue: CallbackQueue, keeping backlog: Backlog = .all) {
        self.queue = queue
        state = Guarded(State(keepsLatestOnly: backlog == .latest))
    }

    @inlinable
    deinit {
        // Nothing ended it: what the handlers captured goes where they would have been called.
        if state.withLock({ $0.handlers.isEmpty }) { return }
        queue.release(ReleaseBox(state.withLock { $0.takeHandlers() }))
    }

    @inlinable
    public var phase: GatePhase { state.withLock { $0.machine.phase } }

    /// Whether ``cancel()`` came before the ending passed.
    @inlinable
    public var isCancelled: Bool { phase == .cancelled }

    // MARK: Handlers

    /// Sets, replaces or, with `nil`, clears what is called with events. The one that is set when an event passes the gate
    /// is called with it. After the end it is let go of at once.
    @inlinable
    public func setEventHandler(_ handler: EventHandler?) {
        change { $0.event = handler }
    }

    /// Sets, replaces or, with `nil`, clears what is called with the ending. The one that is set when the gate opens is
    /// called; one that comes later is not, and is let go of at once.
    @inlinable
    public func setEndHandler(_ handler: EndHandler?) {
        change { $0.end = handler }
    }

    @inlinable func change(_ body: (inout Handlers) -> Void) {
        // What was there is released after the lock.
        let old = state.withLock { state -> Handlers in
            let old = state.handlers
            if state.machine.phase == .waiting { body(&state.handlers) }
            return old
        }
        withExtendedLifetime(old) {}
    }

    // MARK: Told by the work

    /// Something happened. Without effect after ``end(with:)`` or ``cancel()``.
    @inlinable
    public func send(_ event: Event) {
        let (submits, _, unneeded) = state.withLock { $0.machine.eventArrived(event) }
        if submits { submit() }
        withExtendedLifetime(unneeded) {}
    }

    /// The work has ended. The first call counts.
    ///
    /// - Returns: whether this is the ending that will be told, unless it is cancelled on the way.
    @discardableResult
    @inlinable
    public func end(with outcome: Outcome) -> Bool {
        let (submits, wasTaken) = state.withLock { $0.machine.outcomeArrived(outcome) }
        if submits { submit() }
        return wasTaken
    }

    /// No handler is wanted any more. Idempotent, latched and visible at once; without effect when the ending has passed.
    /// The handlers, and what they captured, are released inside this call.
    ///
    /// - Returns: whether this call is the one that cancelled.
    @discardableResult
    @inlinable
    public func cancel() -> Bool {
        let left = state.withLock { state -> (GateMachine<EventBacklog<Event>, Outcome>.Leftovers, Handlers)? in
            state.machine.cancelled().map { ($0, state.takeHandlers()) }
        }
        return withExtendedLifetime(left) { left != nil }
    }

    // MARK: On the callback queue

    @inlinable func submit() {
        if queue.mayDrop {
            let delivery = DroppableWork(run: { self.deliver() }, dropped: { self.deliveryDropped() })
            queue.submit { delivery.run() }
        } else {
            queue.submit { self.deliver() }
        }
    }

    @usableFromInline enum Call {
        case nothing
        case event(Event, EventHandler?)
        case end(Outcome, Handlers)
    }

    @inlinable func deliver() {
        let call = state.withLock { state -> Call in
            switch state.machine.queueReached() {
            case .nothing: .nothing
            case .event(let event): .event(event, state.handlers.event)
            case .outcome(let outcome): .end(outcome, state.takeHandlers())
            }
        }
        switch call {
        case .nothing: return
        case .event(let event, let handler): handler?(event)
        case .end(let outcome, let handlers): handlers.end?(outcome)
        }
        if state.withLock({ $0.machine.callbackReturned() }) { submit() }
    }

    @inlinable func deliveryDropped() {
        let (submits, left) = state.withLock { state in
            let (submits, leftovers) = state.machine.deliveryDropped()
            return (submits, (leftovers, leftovers.isEnd ? state.takeHandlers() : Handlers()))
        }
        withExtendedLifetime(left) {}
        if submits { submit() }
    }
}
