/// The point where callbacks are delivered or dropped: events in order, then one ending, or nothing after a cancel.
///
/// ```swift
/// let gate = Gate<Int, Result<[UInt8], any Error>>(on: queue)
/// gate.setEventHandler { percent in … }       // at any time, any number of times
/// gate.setEndHandler { result in … }
/// gate.send(50)                                // from the working thread
/// gate.end(with: .success(bytes))
/// gate.cancel()                                // silence, unless the ending has passed
/// ```
///
/// - Thread: every method may be called from any thread. Handlers are called only on the gate's callback queue, never
///   inside a call to the gate, and with no lock held, so they may call back into anything, including this gate.
/// - Order: that of ``send(_:)``, on a concurrent queue too: the next is submitted when the last handler has returned
///   or was dropped. Nothing follows the ending.
/// - Cancellation: decided on the callback queue. After ``cancel()`` on that queue, if it is serial, no handler starts.
///   After ``cancel()`` elsewhere, a handler that has passed the gate may finish, and none passes later.
/// - Release: handlers are released on the callback queue, or inside the call that cancels or replaces them. A pending
///   delivery retains the gate.
/// - Dropping: if the queue drops a delivery (see ``CallbackQueue/mayDrop``), that event or ending is not delivered.
///   Later events and the ending still are.
/// - Cost: about 0.1 µs for an event on top of its queue's cost; 1 µs and 7 allocations to create, end and release a
///   gate, its queue included. In an optimised build that specialises it for its types; else four times as much.
public final class Gate<Event: Sendable, Outcome: Sendable>: Sendable {
    /// A closure that handles one event, called on the gate's callback queue.
    public typealias EventHandler = @Sendable (Event) -> Void
    /// A closure that handles the ending, called once on the gate's callback queue.
    public typealias EndHandler = @Sendable (Outcome) -> Void

    /// The policy for events that arrive faster than the handler returns.
    public enum Backlog: Sendable {
        /// Keeps all events.
        case all
        /// Keeps only the latest event that was not handled yet. For progress, so that events do not pile up.
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

    /// The callback queue on which handlers are called.
    public let queue: CallbackQueue
    @usableFromInline let state: Guarded<State>

    /// Creates a gate without handlers, in the phase ``GatePhase/waiting``.
    ///
    /// - Parameters:
    ///   - queue: The callback queue on which handlers are called.
    ///   - backlog: The policy for events that arrive faster than the handler returns.
    @inlinable
    public init(on queue: CallbackQueue, keeping backlog: Backlog = .all) {
        self.queue = queue
        state = Guarded(State(keepsLatestOnly: backlog == .latest))
    }

    @inlinable
    deinit {
        // If the gate has not ended, release the handlers' captures where the handlers would have been called.
        if state.withLock({ $0.handlers.isEmpty }) { return }
        queue.release(ReleaseBox(state.withLock { $0.takeHandlers() }))
    }

    /// The current phase. Any thread; the phase may change as soon as it was read.
    @inlinable
    public var phase: GatePhase { state.withLock { $0.machine.phase } }

    /// Whether ``cancel()`` was called before the ending passed.
    @inlinable
    public var isCancelled: Bool { phase == .cancelled }

    // MARK: Handlers

    /// Sets, replaces or, with nil, clears the event handler.
    ///
    /// An event calls the handler that is set when it passes the gate. If none is set then, the event is discarded.
    /// After the end a new handler is released at once.
    @inlinable
    public func setEventHandler(_ handler: EventHandler?) {
        change { $0.event = handler }
    }

    /// Sets, replaces or, with nil, clears the end handler.
    ///
    /// The ending calls the handler that is set when it passes the gate. If none is set then, the ending is discarded.
    /// A later handler is not called, and is released at once.
    @inlinable
    public func setEndHandler(_ handler: EndHandler?) {
        change { $0.end = handler }
    }

    @inlinable func change(_ body: (inout Handlers) -> Void) {
        // The old handlers are released after unlocking.
        let old = state.withLock { state -> Handlers in
            let old = state.handlers
            if state.machine.phase == .waiting { body(&state.handlers) }
            return old
        }
        withExtendedLifetime(old) {}
    }

    // MARK: Input from the work

    /// Sends an event. No effect after ``end(with:)`` or ``cancel()``.
    @inlinable
    public func send(_ event: Event) {
        let (submits, _, unneeded) = state.withLock { $0.machine.eventArrived(event) }
        if submits { submit() }
        withExtendedLifetime(unneeded) {}
    }

    /// Ends the gate with an outcome. Only the first call counts.
    ///
    /// - Returns: Whether this outcome will be delivered, unless a cancel comes first.
    @discardableResult
    @inlinable
    public func end(with outcome: Outcome) -> Bool {
        let (submits, wasTaken) = state.withLock { $0.machine.outcomeArrived(outcome) }
        if submits { submit() }
        return wasTaken
    }

    /// Stops all further callbacks. Idempotent, final and visible at once. No effect after the ending has passed. The
    /// handlers, pending events and their captures are released inside this call.
    ///
    /// - Returns: Whether this call cancelled the gate.
    @discardableResult
    @inlinable
    public func cancel() -> Bool {
        let left = state.withLock { state -> (GateMachine<EventBacklog<Event>, Outcome>.ReleasedValues, Handlers)? in
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
