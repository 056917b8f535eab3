import InflightConcurrency

/// The objects that a fetch deals with, so that tests may use numbers in their place.
protocol FetchParts {
    associatedtype Transfer
    associatedtype Call
    associatedtype Timer
}

/// What a fetch does when, as a value: it is told what happened, and answers what is to be done. No lock, clock or I/O:
/// ``FetchJob`` keeps it under a lock, and acts with the lock released.
///
///     queued ── started ─▶ preparing ── sends ─▶ exchanging ── ended ─▶ preparing
///     preparing ── asks ─▶ asking ── answered ─▶ preparing
///     preparing ── waits ─▶ queued, or sleeping ── woke ─▶ queued
///     queued, sleeping, preparing ── finished ─▶ finished
///
/// What the fetch itself does comes one after the other; a cancel, a priority, a timer, and room for the body may come at
/// any time, from any thread.
struct FetchMachine<Parts: FetchParts> {
    typealias Ending = Result<TransportSummary, LoadError>

    /// What a fetch without a place waits for.
    enum Wait: Hashable {
        /// Its turn; its whole time is up at the deadline, which no transport counts meanwhile.
        case turn(deadline: MonotonicTime?)
        /// A time to come.
        case time(MonotonicTime)
    }

    /// Who takes the bytes of the body now. The end of an exchange is held while anything before it is not dealt with.
    enum Intake {
        /// The transport's calls.
        case flowing
        /// A hook is asked about the head.
        case judging(Parts.Call, held: Ending?)
        /// Nobody, until the budget of bodies has room.
        case paused
        /// Nobody, until a turn on one of the engine's threads comes.
        case scheduled(held: Ending?)
        /// That turn.
        case working(held: Ending?)

        /// The end of the exchange, which has come before all else was dealt with.
        var held: Ending? {
            switch self {
            case .judging(_, let held), .scheduled(let held), .working(let held): held
            case .flowing, .paused: nil
            }
        }
    }

    enum Link {
        /// The transport has not returned the transfer yet, though it may call already.
        case pending(resumes: Bool)
        case known(Parts.Transfer)
    }

    struct Exchange {
        let number: Int
        var link = Link.pending(resumes: false)
        var intake = Intake.flowing
        /// Measures the exchange, where its body takes longer than one piece.
        var rate: RateMonitor?
        var isTooSlow = false

        var transfer: Parts.Transfer? {
            if case .known(let transfer) = link { transfer } else { nil }
        }
    }

    enum State {
        case queued(deadline: MonotonicTime?, Parts.Timer?)
        case sleeping(until: MonotonicTime, Parts.Timer?)
        /// It has a place and no exchange: it looks up, reads, checks or decides.
        case preparing
        /// A hook is asked about the request.
        case asking(Parts.Call)
        case exchanging(Exchange)
        case finished
    }

    /// What may come before the first start.
    struct Early {
        var isCancelled = false
        /// The priority has changed while no transfer was known to hear of it.
        var hasMissedPriority = false
    }

    /// What a fetch is at, for the table of what is possible.
    enum Phase: Hashable, CaseIterable {
        case queued, sleeping, preparing, asking, flowing, judging, paused, scheduled, working, finished
    }

    /// What the fetch itself does, one thing after the other.
    enum Fact: Hashable, CaseIterable {
        case started, waits, woke, asks, answered, sends, stops, flows, finished
    }

    /// When each fact is possible. What comes from other threads is possible at any time.
    static func isPossible(_ fact: Fact, in phase: Phase) -> Bool {
        switch (fact, phase) {
        case (.started, .queued), (.waits, .preparing), (.woke, .sleeping): true
        // It may have been let go of at the same time.
        case (.woke, .finished): true
        case (.asks, .preparing), (.asks, .flowing), (.answered, .asking): true
        case (.sends, .preparing), (.stops, .flowing), (.stops, .working): true
        case (.flows, .judging), (.flows, .working): true
        case (.finished, .queued), (.finished, .sleeping), (.finished, .preparing): true
        default: false
        }
    }

    private(set) var state = State.queued(deadline: nil, nil)
    private var early: Early

    init(_ early: Early) {
        self.early = early
    }

    var isCancelled: Bool { early.isCancelled }

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

    /// Changes the exchange, if there is one.
    private mutating func withExchange<Answer>(_ body: (inout Exchange) -> Answer) -> Answer? {
        guard case .exchanging(var exchange) = state else { return nil }
        // So that what it holds is moved, not copied.
        state = .preparing
        defer { state = .exchanging(exchange) }
        return body(&exchange)
    }

    /// Changes the exchange, without which the fact is impossible.
    private mutating func change<Answer>(_ fact: Fact, _ body: (inout Exchange) -> Answer) -> Answer {
        require(fact)
        guard let answer = withExchange(body) else { preconditionFailure("\(fact) is impossible without an exchange") }
        return answer
    }

    private var timer: Parts.Timer? {
        switch state {
        case .queued(_, let timer), .sleeping(_, let timer): timer
        case .preparing, .asking, .exchanging, .finished: nil
        }
    }

    // MARK: At any time

    /// Nobody wants it any more.
    ///
    /// - Returns: what is to be cancelled. What is begun later asks ``isCancelled``.
    mutating func cancelled() -> (Parts.Transfer?, Parts.Call?) {
        early.isCancelled = true
        switch state {
        case .asking(let call): return (nil, call)
        case .exchanging(let exchange):
            if case .judging(let call, _) = exchange.intake { return (exchange.transfer, call) }
            return (exchange.transfer, nil)
        case .queued, .sleeping, .preparing, .finished: return (nil, nil)
        }
    }

    /// - Returns: the transfer that hears of it; if `nil`, ``transferKnown(_:number:)`` will ask for it.
    mutating func priorityChanged() -> Parts.Transfer? {
        if case .exchanging(let exchange) = state, let transfer = exchange.transfer { return transfer }
        early.hasMissedPriority = true
        return nil
    }

    /// What the fetch waits for, if it does.
    var wait: Wait? {
        switch state {
        case .queued(let deadline, _): .turn(deadline: deadline)
        case .sleeping(let time, _): .time(time)
        case .preparing, .asking, .exchanging, .finished: nil
        }
    }

    /// A timer ends the wait from now on.
    ///
    /// - Returns: the timer that is not needed: this one, where the wait is over, or another that it replaces.
    mutating func timerSet(_ timer: Parts.Timer, for wait: Wait) -> Parts.Timer? {
        switch (state, wait) {
        case (.queued(let deadline, let old), .turn):
            state = .queued(deadline: deadline, timer)
            return old
        case (.sleeping(let time, let old), .time):
            state = .sleeping(until: time, timer)
            return old
        case (.queued, _), (.sleeping, _), (.preparing, _), (.asking, _), (.exchanging, _), (.finished, _): return timer
        }
    }

    /// The transport has returned the transfer of an exchange, which may have ended already.
    ///
    /// - Returns: what the transfer has to be told.
    mutating func transferKnown(
        _ transfer: Parts.Transfer, number: Int
    ) -> (cancels: Bool, resumes: Bool, passesPriority: Bool) {
        guard case .exchanging(var exchange) = state, exchange.number == number,
            case .pending(let resumes) = exchange.link
        else { return (false, false, false) }
        exchange.link = .known(transfer)
        state = .exchanging(exchange)
        defer { early.hasMissedPriority = false }
        return (isCancelled, resumes && !isCancelled, early.hasMissedPriority)
    }

    /// The budget of bodies has room for an exchange that had paused for it.
    ///
    /// - Parameter needsTurn: whether what it has is dealt with on one of the engine's threads first.
    /// - Returns: whether the exchange still waits for that.
    mutating func granted(number: Int, needsTurn: Bool) -> Bool {
        withExchange { exchange in
            guard exchange.number == number, case .paused = exchange.intake else { return false }
            exchange.intake = needsTurn ? .scheduled(held: nil) : .working(held: nil)
            return true
        } ?? false
    }

    /// A turn on one of the engine's threads has come.
    ///
    /// - Returns: whether the exchange still waits for it.
    mutating func turnCame(number: Int) -> Bool {
        withExchange { exchange in
            guard exchange.number == number, case .scheduled(let held) = exchange.intake else { return false }
            exchange.intake = .working(held: held)
            return true
        } ?? false
    }

    /// It is time to look whether the exchange is fast enough.
    ///
    /// - Returns: when to look again, and the transfer that is to be cancelled because it is too slow.
    mutating func rateChecked(at now: MonotonicTime) -> (next: MonotonicTime?, tooSlow: Parts.Transfer?) {
        withExchange { exchange in
            switch exchange.rate?.check(at: now) {
            case .checkAgain(let time): return (time, nil)
            case .paused, nil: return (nil, nil)
            case .tooSlow:
                exchange.isTooSlow = true
                return (nil, exchange.transfer)
            }
        } ?? (nil, nil)
    }

    // MARK: Places

    /// It has a place.
    ///
    /// - Returns: the timer of its wait, which is over.
    mutating func started() -> Parts.Timer? {
        require(.started)
        defer { state = .preparing }
        return timer
    }

    /// It gives its place back, and waits for another, or for a time to come.
    mutating func waits(for wait: Wait) {
        require(.waits)
        switch wait {
        case .turn(let deadline): state = .queued(deadline: deadline, nil)
        case .time(let time): state = .sleeping(until: time, nil)
        }
    }

    /// The time has come that it slept for: it waits for its turn.
    mutating func woke(deadline: MonotonicTime?) {
        require(.woke)
        if case .sleeping = state { state = .queued(deadline: deadline, nil) }
    }

    /// Nothing comes after this.
    ///
    /// - Returns: the timer of a wait that is over.
    mutating func finished() -> Parts.Timer? {
        require(.finished)
        defer { state = .finished }
        return timer
    }

    // MARK: Hooks

    /// A hook is asked about the request, or about the head of the answer, whose exchange pauses meanwhile.
    mutating func asks(_ call: Parts.Call) {
        require(.asks)
        if withExchange({ $0.intake = .judging(call, held: nil) }) == nil { state = .asking(call) }
    }

    /// The hook has answered about the request.
    mutating func answered() {
        require(.answered)
        state = .preparing
    }

    // MARK: Exchanges

    /// The request is about to go to the transport.
    mutating func sends(number: Int) {
        require(.sends)
        state = .exchanging(Exchange(number: number))
    }

    /// Measures the exchange from now on.
    mutating func watches(_ rate: RateMonitor) {
        _ = withExchange { $0.rate = rate }
    }

    /// So many bytes came off the wire.
    mutating func received(_ bytes: Int) {
        _ = withExchange { $0.rate?.received(bytes) }
    }

    /// Whether the transport may be paused, where the body has to wait; `nil` where it need not, for the exchange has failed.
    var mayPause: Bool? {
        require(.stops)
        guard case .exchanging(let exchange) = state, let held = exchange.intake.held else { return true }
        // Nothing else comes for which it could make room.
        if case .success = held { return false }
        return nil
    }

    /// The transport pauses: until the budget of bodies has room, or else until a turn on one of the engine's threads.
    mutating func stops(untilRoom: Bool, at now: MonotonicTime) {
        change(.stops) { exchange in
            exchange.intake = untilRoom ? .paused : .scheduled(held: exchange.intake.held)
            exchange.rate?.paused(at: now)
        }
    }

    /// What follows when the head was judged, or the body was dealt with as far as it has come.
    enum Flow {
        /// The exchange had ended meanwhile.
        case ends(Ending)
        /// The transfer resumes, or is cancelled where no more is wanted.
        case goesOn(Parts.Transfer)
        /// ``transferKnown(_:number:)`` will say so.
        case goesOnWhenKnown
    }

    /// The head was judged, or the body was dealt with as far as it has come.
    ///
    /// - Returns: what follows, and when the rate is to be looked at, where that had stopped.
    mutating func flows(at now: MonotonicTime) -> (Flow, rate: RateMonitor.Verdict?) {
        change(.flows) { exchange in
            let held = exchange.intake.held
            exchange.intake = .flowing
            exchange.rate?.resumed(at: now)
            let rate = exchange.rate?.check(at: now)
            if let held { return (.ends(held), rate) }
            if let transfer = exchange.transfer { return (.goesOn(transfer), rate) }
            exchange.link = .pending(resumes: true)
            return (.goesOnWhenKnown, rate)
        }
    }

    /// What the end of an exchange means.
    enum Ended {
        /// The fetch goes on from it.
        case now(wasWatched: Bool, wasTooSlow: Bool)
        /// It is told once more when what came before it is dealt with.
        case held
        /// The same, and all that there is of the body goes to a file in a turn on one of the engine's threads.
        case heldWhileSpilling(number: Int)
        /// There is no exchange.
        case nothing
    }

    /// The exchange has ended, or its end that was held is told once more.
    ///
    /// - Returns: what that means, and whether the budget of bodies need not look for room any more.
    mutating func exchangeEnded(_ ending: Ending) -> (Ended, unpauses: Bool) {
        let hasFailed = if case .failure = ending { true } else { false }
        let isCancelled = isCancelled
        let answer: (Ended, unpauses: Bool)? = withExchange { exchange in
            switch exchange.intake {
            case .judging(let call, _): exchange.intake = .judging(call, held: ending)
            case .working: exchange.intake = .working(held: ending)
            case .scheduled where !hasFailed: exchange.intake = .scheduled(held: ending)
            case .paused where !hasFailed:
                exchange.intake = .scheduled(held: ending)
                return (.heldWhileSpilling(number: exchange.number), true)
            case .flowing, .scheduled, .paused:
                let wasPaused = if case .paused = exchange.intake { true } else { false }
                let wasTooSlow = exchange.isTooSlow && hasFailed && !isCancelled
                return (.now(wasWatched: exchange.rate != nil, wasTooSlow: wasTooSlow), wasPaused)
            }
            return (.held, false)
        }
        if case .now? = answer?.0 { state = .preparing }
        return answer ?? (.nothing, false)
    }
}

extension FetchMachine: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
extension FetchMachine.State: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
extension FetchMachine.Exchange: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
extension FetchMachine.Link: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
extension FetchMachine.Intake: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
extension FetchMachine.Flow: Sendable where Parts.Transfer: Sendable, Parts.Call: Sendable, Parts.Timer: Sendable {}
