import InflightConcurrency

/// The state of a fetch. Its inputs are past facts, and its outputs are the caller's next actions. ``Fetch`` keeps it
/// under a lock, and acts after releasing the lock.
///
///     queued ── started ─▶ preparing ── sent ─▶ exchanging ── exchangeEnded ─▶ preparing
///     preparing ── hookCalled ─▶ asking ── hookReturned ─▶ preparing
///     preparing ── startedWaiting ─▶ queued, or sleeping ── woke ─▶ queued
///     queued, sleeping, preparing ── finished ─▶ finished
///
/// The facts of the diagram occur one after the other. A cancel, a change of priority, a timer, and memory for the body
/// may arrive at any time, from any thread.
///
/// Noncopyable, because a copy retains and releases all that it refers to.
struct FetchState: ~Copyable {
    typealias Ending = Result<TransportSummary, LoadError>

    /// The event that a fetch without a slot waits for.
    enum Wait: Hashable {
        /// A slot.
        case slot
        /// The end of the wait before a retry.
        case time(MonotonicTime)
    }

    /// The state of the body's bytes. The end of an exchange is held until everything before it is processed.
    enum Intake {
        /// The transport delivers them.
        case flowing
        /// The transport is paused while `didReceive` decides about the head.
        case judging(ExtensionCall, held: Ending?)
        /// The transport is paused until the body fits into the budget of bodies in flight.
        case paused
        /// The transport is paused until a worker thread processes the received bytes.
        case scheduled(held: Ending?)
        /// A worker thread processes the received bytes.
        case working(held: Ending?)

        /// The end of the exchange, if it arrived before everything else was processed.
        var held: Ending? {
            switch self {
            case .judging(_, let held), .scheduled(let held), .working(let held): held
            case .flowing, .paused: nil
            }
        }
    }

    enum Link {
        /// `Transport.start` has not returned the transfer yet, but may already call the receiver.
        case pending(resumes: Bool)
        case known(any Transfer)
    }

    struct Exchange: ~Copyable {
        let number: Int
        var link = Link.pending(resumes: false)
        var intake = Intake.flowing
        /// The rate measurement, if the body has more than one piece.
        var rate: RateMonitor?
        /// The reason for which the fetch has stopped it.
        var stop: Stop?

        var transfer: (any Transfer)? {
            if case .known(let transfer) = link { transfer } else { nil }
        }
    }

    /// A limit of time because of which an exchange is stopped.
    enum Stop {
        case tooSlow
        /// The total time is over for all tasks.
        case outOfTime
    }

    enum State: ~Copyable {
        case queued
        case sleeping(until: MonotonicTime, (any ScheduledWork)?)
        /// It has a slot and no exchange: it reads the store, verifies a body, or decides.
        case preparing
        /// `willSend` is called with the request.
        case asking(ExtensionCall)
        case exchanging(Exchange)
        case finished
    }

    /// The states without their data.
    enum Phase: Hashable, CaseIterable {
        case queued, sleeping, preparing, asking, flowing, judging, paused, scheduled, working, finished
    }

    /// The facts that occur one after the other.
    enum Fact: Hashable, CaseIterable {
        case started, startedWaiting, woke, hookCalled, hookReturned, sent, stopped, processed, finished
    }

    /// Returns whether a fact is possible in a phase. Inputs from other threads are possible in all of them.
    static func isPossible(_ fact: Fact, in phase: Phase) -> Bool {
        switch (fact, phase) {
        case (.started, .queued), (.startedWaiting, .preparing), (.woke, .sleeping): true
        // The job may have been discarded at the same time.
        case (.woke, .finished): true
        case (.hookCalled, .preparing), (.hookCalled, .flowing), (.hookReturned, .asking): true
        case (.sent, .preparing), (.stopped, .flowing), (.stopped, .working): true
        case (.processed, .judging), (.processed, .working): true
        case (.finished, .queued), (.finished, .sleeping), (.finished, .preparing): true
        default: false
        }
    }

    private(set) var state = State.queued
    /// Whether the last subscriber has left.
    private(set) var isCancelled: Bool
    /// Whether the priority changed while there was no transfer to pass it to.
    private var hasMissedPriority: Bool
    /// Whether the tasks' limits changed while there was no transfer to pass them to.
    private var hasMissedLimits = false

    /// Whether `willSend` was cancelled because the total time was over.
    private var isAskedTooLate = false

    /// Creates the state of a fetch that starts, with the inputs that arrived before.
    init(isCancelled: Bool, hasMissedPriority: Bool) {
        self.isCancelled = isCancelled
        self.hasMissedPriority = hasMissedPriority
    }

    var phase: Phase {
        switch state {
        case .queued: .queued
        case .sleeping: .sleeping
        case .preparing: .preparing
        case .asking: .asking
        case .finished: .finished
        case .exchanging(let exchange):
            switch exchange.intake {
            case .flowing: .flowing
            case .judging: .judging
            case .paused: .paused
            case .scheduled: .scheduled
            case .working: .working
            }
        }
    }

    private func require(_ fact: Fact) {
        precondition(Self.isPossible(fact, in: phase), "\(fact) is impossible for a fetch that is \(phase)")
    }

    /// Changes the exchange and returns the closure's result; returns `nil` without an exchange.
    private mutating func withExchange<Answer>(_ body: (inout Exchange) -> Answer) -> Answer? {
        switch take() {
        case .exchanging(var exchange):
            let answer = body(&exchange)
            state = .exchanging(exchange)
            return answer
        case let other:
            state = other
            return nil
        }
    }

    /// Moves the state out. The caller sets the next one.
    private mutating func take() -> State {
        var taken = State.preparing
        swap(&state, &taken)
        return taken
    }

    /// Changes the exchange. Traps if the fact is impossible.
    private mutating func change<Answer>(_ fact: Fact, _ body: (inout Exchange) -> Answer) -> Answer {
        require(fact)
        guard let answer = withExchange(body) else { preconditionFailure("\(fact) is impossible without an exchange") }
        return answer
    }

    private var timer: (any ScheduledWork)? {
        switch state {
        case .sleeping(_, let timer): timer
        default: nil
        }
    }

    // MARK: At any time

    /// The last subscriber has left.
    ///
    /// - Returns: the transfer and the hook's call to cancel. Work that begins later checks ``isCancelled``.
    mutating func cancelled() -> ((any Transfer)?, ExtensionCall?) {
        isCancelled = true
        switch state {
        case .asking(let call): return (nil, call)
        case .exchanging(let exchange):
            if case .judging(let call, _) = exchange.intake { return (exchange.transfer, call) }
            return (exchange.transfer, nil)
        default: return (nil, nil)
        }
    }

    /// The job's priority has changed.
    ///
    /// - Returns: the transfer to pass it to; if `nil`, ``transferKnown(_:number:)`` requests it later.
    mutating func priorityChanged() -> (any Transfer)? {
        let transfer = withExchange { $0.transfer } ?? nil
        if transfer == nil { hasMissedPriority = true }
        return transfer
    }

    /// The end of the wait before a retry; `nil` if the fetch does not wait for a time.
    var wakeTime: MonotonicTime? {
        switch state {
        case .sleeping(let time, _): time
        default: nil
        }
    }

    /// A timer for the end of the wait before a retry was scheduled.
    ///
    /// - Returns: the timer to cancel: this one if the wait is over, or the one that it replaces.
    mutating func timerSet(_ timer: any ScheduledWork) -> (any ScheduledWork)? {
        switch take() {
        case .sleeping(let time, let old):
            state = .sleeping(until: time, timer)
            return old
        case let other:
            state = other
            return timer
        }
    }

    /// The transport has returned the transfer of an exchange, which may already have ended.
    ///
    /// - Returns: the calls that the transfer has to receive.
    mutating func transferKnown(
        _ transfer: any Transfer, number: Int
    ) -> (cancels: Bool, resumes: Bool, passesPriority: Bool, passesLimits: Bool) {
        let pending: (resumes: Bool, isStopped: Bool)? =
            withExchange { exchange in
                guard exchange.number == number, case .pending(let resumes) = exchange.link else { return nil }
                exchange.link = .known(transfer)
                return (resumes, exchange.stop != nil)
            } ?? nil
        guard let (resumes, isStopped) = pending else { return (false, false, false, false) }
        defer { (hasMissedPriority, hasMissedLimits) = (false, false) }
        let cancels = isCancelled || isStopped
        return (cancels, resumes && !cancels, hasMissedPriority, hasMissedLimits)
    }

    /// The budget of bodies in flight allows a paused exchange to continue.
    ///
    /// - Parameter needsTurn: whether a worker thread processes the received bytes first. Asked only while the exchange
    ///   is paused: its end may reset the body.
    /// - Returns: the answer; nil if the exchange is not paused any more.
    mutating func granted(number: Int, needsTurn: @autoclosure () -> Bool) -> Bool? {
        withExchange { exchange in
            guard exchange.number == number, case .paused = exchange.intake else { return nil }
            let needsTurn = needsTurn()
            exchange.intake = needsTurn ? .scheduled(held: nil) : .working(held: nil)
            return needsTurn
        } ?? nil
    }

    /// A worker thread is ready to process the received bytes.
    ///
    /// - Returns: whether the exchange still waits for it.
    mutating func turnStarted(number: Int) -> Bool {
        withExchange { exchange in
            guard exchange.number == number, case .scheduled(let held) = exchange.intake else { return false }
            exchange.intake = .working(held: held)
            return true
        } ?? false
    }

    /// The time for a check of the rate has come.
    ///
    /// - Returns: the time of the next check, and the transfer to cancel if it is too slow.
    mutating func rateChecked(at now: MonotonicTime) -> (next: MonotonicTime?, tooSlow: (any Transfer)?) {
        withExchange { exchange in
            switch exchange.rate?.check(at: now) {
            case .checkAgain(let time): return (time, nil)
            case .paused, nil: return (nil, nil)
            case .tooSlow:
                exchange.stop = .tooSlow
                return (nil, exchange.transfer)
            }
        } ?? (nil, nil)
    }

    /// Whether the exchange was stopped because the total time was over for all tasks.
    var isOutOfTime: Bool {
        switch state {
        case .exchanging(let exchange): exchange.stop == .outOfTime
        default: false
        }
    }

    /// The total time is over for all tasks.
    ///
    /// - Returns: the transfer and the hook's call to cancel. Otherwise the next step finds that the time is over.
    mutating func timeIsOver() -> ((any Transfer)?, ExtensionCall?) {
        switch take() {
        case .asking(let call):
            state = .asking(call)
            isAskedTooLate = true
            return (nil, call)
        case .exchanging(var exchange):
            exchange.stop = .outOfTime
            let call: ExtensionCall? = if case .judging(let call, _) = exchange.intake { call } else { nil }
            let transfer = exchange.transfer
            state = .exchanging(exchange)
            return (transfer, call)
        case let other:
            state = other
            return (nil, nil)
        }
    }

    /// The limits of the tasks have changed.
    ///
    /// - Returns: the transfer to pass them to; if `nil`, ``transferKnown(_:number:)`` requests it later.
    mutating func limitsChanged() -> (any Transfer)? {
        let transfer = withExchange { $0.transfer } ?? nil
        if transfer == nil { hasMissedLimits = true }
        return transfer
    }

    // MARK: Slots

    /// The fetch has got a slot.
    mutating func started() {
        require(.started)
        state = .preparing
    }

    /// The fetch gives its slot back, and waits for another or before a retry.
    mutating func startedWaiting(for wait: Wait) {
        require(.startedWaiting)
        switch wait {
        case .slot: state = .queued
        case .time(let time): state = .sleeping(until: time, nil)
        }
    }

    /// The wait before a retry is over. The fetch waits for a slot.
    mutating func woke() {
        require(.woke)
        if phase == .sleeping { state = .queued }
    }

    /// The fetch has ended.
    ///
    /// - Returns: the timer of its wait, to be cancelled.
    mutating func finished() -> (any ScheduledWork)? {
        require(.finished)
        defer { state = .finished }
        return timer
    }

    // MARK: Hooks

    /// A hook is called: with the request, or with the head of a response, whose exchange pauses meanwhile.
    mutating func hookCalled(_ call: ExtensionCall) {
        require(.hookCalled)
        if withExchange({ $0.intake = .judging(call, held: nil) }) == nil { state = .asking(call) }
    }

    /// `willSend` has returned.
    ///
    /// - Returns: whether it was cancelled because the total time was over.
    mutating func hookReturned() -> Bool {
        require(.hookReturned)
        state = .preparing
        defer { isAskedTooLate = false }
        return isAskedTooLate
    }

    // MARK: Exchanges

    /// The request is about to be passed to the transport.
    mutating func sent(number: Int) {
        require(.sent)
        state = .exchanging(Exchange(number: number))
    }

    /// The rate of the exchange is measured from now on.
    mutating func rateMeasured(by rate: RateMonitor) {
        _ = withExchange { $0.rate = rate }
    }

    /// Bytes were received from the transport.
    mutating func received(_ bytes: Int) {
        _ = withExchange { $0.rate?.received(bytes) }
    }

    /// Returns whether the transport may be paused if the body has to wait; `nil` if it need not wait because the
    /// exchange failed.
    ///
    /// - Parameter hasMore: whether received bytes are left to decode.
    func mayPause(hasMore: Bool) -> Bool? {
        require(.stopped)
        switch state {
        case .exchanging(let exchange):
            guard let held = exchange.intake.held else { return true }
            // No further bytes arrive that a pause could hold back.
            if case .success = held { return false }
            return hasMore && Self.isCutOff(held) ? false : nil
        default: return true
        }
    }

    /// The transport pauses until the body fits into the budget of bodies in flight, or until a worker thread is ready.
    mutating func stopped(untilRoom: Bool, at now: MonotonicTime) {
        change(.stopped) { exchange in
            exchange.intake = untilRoom ? .paused : .scheduled(held: exchange.intake.held)
            exchange.rate?.paused(at: now)
        }
    }

    /// The next step after a hook has returned or the received bytes were processed.
    enum Flow {
        /// The exchange has ended meanwhile.
        case ends(Ending)
        /// Resume the transfer, or cancel it if the rest is not needed.
        case continues(any Transfer)
        /// ``transferKnown(_:number:)`` will resume it.
        case resumesWhenKnown
    }

    /// `didReceive` has returned, or the received bytes were processed.
    ///
    /// - Returns: the next step, and the result of a rate check, if its measurement was paused.
    mutating func processed(at now: MonotonicTime) -> (Flow, rate: RateMonitor.Verdict?) {
        change(.processed) { exchange in
            let held = exchange.intake.held
            // A rate that is measured from the hook's decision on has not been paused.
            let isHook = if case .judging = exchange.intake { true } else { false }
            exchange.intake = .flowing
            if !isHook { exchange.rate?.resumed(at: now) }
            let rate = isHook ? nil : exchange.rate?.check(at: now)
            if let held { return (.ends(held), rate) }
            if let transfer = exchange.transfer { return (.continues(transfer), rate) }
            exchange.link = .pending(resumes: true)
            return (.resumesWhenKnown, rate)
        }
    }

    /// The consequence of an exchange's end.
    enum Ended {
        /// The fetch continues from it.
        case now(wasWatched: Bool, stoppedFor: Stop?)
        /// It is held, and is reported again when everything before it is processed.
        case held
        /// It is held too. A worker thread first writes the received bytes to a file.
        case heldWhileSpilling(number: Int)
        /// There is no exchange.
        case nothing
    }

    /// Returns whether the connection ended within the body. What is left to decode may complete it, if its announced
    /// length was that of the decoded file.
    private static func isCutOff(_ ending: Ending) -> Bool {
        if case .failure(let error) = ending { error.code == .truncated } else { false }
    }

    /// The exchange has ended, or its held end is reported again.
    ///
    /// - Parameter isCoded: whether the body has a content coding, so that a scheduled turn may complete it. Asked only
    ///   then: while a hook runs, its thread may set the coding.
    /// - Returns: the consequence, and whether the exchange no longer waits for the budget of bodies in flight.
    mutating func exchangeEnded(
        _ ending: Ending, isCoded: @autoclosure () -> Bool = false
    ) -> (Ended, unpauses: Bool) {
        let hasFailed = if case .failure = ending { true } else { false }
        let isCancelled = isCancelled
        let answer: (Ended, unpauses: Bool)? = withExchange { exchange in
            switch exchange.intake {
            case .judging(let call, _): exchange.intake = .judging(call, held: ending)
            case .working: exchange.intake = .working(held: ending)
            case .scheduled where !hasFailed || Self.isCutOff(ending) && isCoded():
                exchange.intake = .scheduled(held: ending)
            case .paused where !hasFailed:
                exchange.intake = .scheduled(held: ending)
                return (.heldWhileSpilling(number: exchange.number), true)
            case .flowing, .scheduled, .paused:
                let wasPaused = if case .paused = exchange.intake { true } else { false }
                let stop = hasFailed && !isCancelled ? exchange.stop : nil
                return (.now(wasWatched: exchange.rate != nil, stoppedFor: stop), wasPaused)
            }
            return (.held, false)
        }
        if case .now? = answer?.0 { state = .preparing }
        return answer ?? (.nothing, false)
    }
}
