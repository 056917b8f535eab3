public import InflightCore

// The caller's own asynchronous code: `willSend`, sources, and `didReceive`. Each call occupies the slot of a fetch.
// Cancellation of a call is checked in the same way as cancellation of an exchange.

extension ContractModel {
    /// The request that `willSend` is called with.
    public struct WillSendArguments: Sendable {
        public var kind: RequestSpec.Kind
        public var resource: UInt8
        public var language: UInt8
        public var origin: UInt8
        public var isRedirected: Bool
        public var hasCredentials: Bool
        /// Whether this is the call after a 401.
        public var isAgain: Bool

        public init(
            kind: RequestSpec.Kind, resource: UInt8, language: UInt8, origin: UInt8, isRedirected: Bool,
            hasCredentials: Bool, isAgain: Bool
        ) {
            self.kind = kind
            self.resource = resource
            self.language = language
            self.origin = origin
            self.isRedirected = isRedirected
            self.hasCredentials = hasCredentials
            self.isAgain = isAgain
        }
    }

    /// `willSend` begins.
    ///
    /// - Parameters:
    ///   - isCancelled: whether the Swift task that it runs in is cancelled.
    ///   - askedAt: the time at which the call was requested.
    ///   - isOutermost: whether nothing else is running.
    /// - Returns: the number of the call.
    public func callsWillSend(
        _ arguments: WillSendArguments, isCancelled: Bool, askedAt: Int64, isOutermost: Bool
    ) -> Int {
        lastCall += 1
        if arguments.isAgain { return callsWillSendAgain(arguments, isCancelled: isCancelled) }
        startedExchanges += 1
        var job = queued(
            arguments.kind, arguments.resource, arguments.language, isRedirected: arguments.isRedirected,
            origin: arguments.origin)
        // A cancelled call belongs to a job without subscribers.
        if isCancelled {
            job = nil
        } else if job == nil, isOutermost {
            report(7, "willSend was called for resource \(arguments.resource) without a queued job")
        }
        if let job {
            checkCredentials(arguments.hasCredentials, of: job)
            begin(job, at: askedAt)
        }
        takeSlot(ExchangeRecord(serial: -1, job: job ?? -1, origin: arguments.origin, call: lastCall))
        return lastCall
    }

    private func callsWillSendAgain(_ arguments: WillSendArguments, isCancelled: Bool) -> Int {
        let fitting = exchanges.indices.filter { index in
            let record = exchanges[index]
            guard record.isBetween, record.job >= 0, record.origin == arguments.origin else { return false }
            let job = jobs[record.job]
            return job.spec.resource == arguments.resource && job.spec.language == arguments.language
                && Self.group(job.spec.kind) == Self.group(arguments.kind)
                && (job.redirects > 0) == arguments.isRedirected
        }
        let index = fitting.first { isCancelled != isLive(exchanges[$0].job) }
        // The total time of the job may have elapsed.
        let late = fitting.first
        if let index = index ?? late {
            exchanges[index].isBetween = false
            exchanges[index].isSecond = true
            exchanges[index].call = lastCall
        } else {
            if lateQuestions == 0 { report(7, "willSend was called again without a 401") }
            lateQuestions -= 1
            takeSlot(
                ExchangeRecord(serial: -1, job: -1, origin: arguments.origin, call: lastCall, isSecond: true))
        }
        return lastCall
    }

    /// `willSend` is about to return, or to throw with this code.
    public func willSendEnds(_ call: Int, _ failure: LoadError.Code?) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        let job = exchanges[index].job
        if job < 0 || !isLive(job) {
            exchanges.remove(at: index)
        } else if let failure {
            exchanges.remove(at: index)
            failed(job, failure)
        }
    }

    /// The Swift task of a hook or a source is cancelled.
    public func callIsCancelled(_ call: Int) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        exchanges[index].isCancelled = true
        let job = exchanges[index].job
        if job >= 0, isLive(job) {
            report(7, "a hook or a source was cancelled although its job has subscribers")
        }
    }

    /// The Swift task in which `didReceive` runs is cancelled.
    public func didReceiveIsCancelled(exchange serial: Int) {
        guard let record = exchanges.first(where: { $0.serial == serial }), record.job >= 0, isLive(record.job),
            !record.isOutOfTime, !isLate(record.job)
        else { return }
        report(7, "didReceive was cancelled although exchange \(serial) has subscribers")
    }

    /// Returns whether the total time of all tasks was over, so that an exchange is cancelled.
    public func isOutOfTime(exchange serial: Int) -> Bool {
        guard let record = exchanges.first(where: { $0.serial == serial }), record.job >= 0 else { return false }
        return isLive(record.job) && (record.isOutOfTime || isLate(record.job))
    }

    /// Returns whether a 401 calls `willSend` again, which happens once for each URL of a load.
    public func callsWillSendAgain(exchange serial: Int) -> Bool {
        bounds.callsWillSend && exchanges.contains { $0.serial == serial && !$0.isSecond }
    }

    /// A receiver has received the head of a response, which may be paused for `didReceive` now.
    public func headWasReceived(exchange serial: Int, waits: Bool, isToWait: Bool) {
        if waits && !isToWait { report(7, "exchange \(serial) was paused without a call of didReceive") }
        if !waits && isToWait { report(7, "didReceive was not called for exchange \(serial)") }
    }

    // MARK: Sources

    /// A source begins.
    public func sourceBegins(_ resource: UInt8, isCancelled: Bool, isOutermost: Bool) -> Int {
        lastCall += 1
        startedExchanges += 1
        let job = isCancelled ? nil : queued(.image, resource, nil, isRedirected: false, origin: 2)
        if job == nil, !isCancelled, isOutermost {
            report(7, "source \(resource) was called without a queued job")
        }
        if let job { begin(job, at: now) }
        takeSlot(ExchangeRecord(serial: -1, job: job ?? -1, origin: 2, call: lastCall))
        return lastCall
    }

    /// A source is about to return the content that it numbered as an exchange, or to throw.
    public func sourceEnds(_ call: Int, exchange serial: Int, _ failure: LoadError.Code?) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        let job = exchanges.remove(at: index).job
        guard job >= 0, isLive(job) else { return }
        if let failure { failed(job, failure) } else { succeeded(job, exchange: serial) }
    }

    /// A source's image was converted to the requested form without a decoder.
    public func imageIsConverted(_ resource: UInt8) {
        let job = live.first {
            jobs[$0].stage == 1 && jobs[$0].spec.resource == resource && jobs[$0].state == .queued
        }
        guard let job else { return }
        keep(job)
        succeeded(job, exchange: jobs[job].exchange)
    }

    // MARK: The log

    /// The log hook receives the start of an exchange.
    public func logsExchange() { loggedExchanges += 1 }

    // MARK: Slots

    func begin(_ job: Int, at time: Int64) {
        jobs[job].state = .running
        jobs[job].startedAt = startTime(of: job, withSlotAt: time)
        jobs[job].waitsSince = -1
    }

    /// Returns the start of the total time of a job that gets a slot at `time`. Waits do not count.
    private func startTime(of job: Int, withSlotAt time: Int64) -> Int64 {
        if jobs[job].startedAt < 0 { return time }
        return jobs[job].waitsSince < 0 ? jobs[job].startedAt : jobs[job].startedAt + time - jobs[job].waitsSince
    }

    /// Checks that credentials are sent to their own origin only (rule 8).
    func checkCredentials(_ hasCredentials: Bool, of job: Int) {
        if hasCredentials != jobs[job].hasCredentials {
            let what = hasCredentials ? "were sent" : "were not sent"
            report(8, "credentials \(what) with resource \(jobs[job].spec.resource) to origin \(jobs[job].origin)")
        }
    }

    /// A fetch takes its slot.
    func takeSlot(_ record: ExchangeRecord) {
        exchanges.append(record)
        let origin = record.origin
        if exchanges.count > bounds.fetches { report(11, "\(exchanges.count) fetches run at once") }
        let ofOrigin = running(of: origin)
        if ofOrigin > limit(of: origin) { report(11, "\(ofOrigin) fetches of origin \(origin) run at once") }
    }

    /// Returns the maximum number of fetches of the origin.
    func limit(of origin: UInt8) -> Int {
        multiplexed & (1 << origin) != 0 ? bounds.streamsPerOrigin : bounds.fetchesPerOrigin
    }
}

// One token for all requests that need one. The first request creates it. After a refusal, the next request creates
// another.
extension ContractModel {
    public struct Tokens {
        enum State: Equatable {
            case none
            /// The creation with this number is running.
            case creation(Int)
            case good(Int)
        }

        var state = State.none
        var lastCreation = 0
    }

    /// A token is about to be created. Returns the number of the creation and of the token.
    ///
    /// - Parameter isCancelled: whether all its subscribers left before it began.
    public func tokenCreationBegins(isCancelled: Bool) -> Int {
        if isCancelled {
            tokens.lastCreation += 1
            return tokens.lastCreation
        }
        if case .good(let token) = tokens.state { report(7, "a token is created although token \(token) is valid") }
        if case .creation(let other) = tokens.state { report(7, "a token is created during creation \(other)") }
        tokens.lastCreation += 1
        tokens.state = .creation(tokens.lastCreation)
        return tokens.lastCreation
    }

    /// The creation was cancelled because its last subscriber left.
    public func tokenCreationIsCancelled(_ creation: Int) {
        if tokens.state == .creation(creation) { tokens.state = .none }
    }

    public func tokenCreationEnds(_ creation: Int, isGood: Bool) {
        if tokens.state == .creation(creation) { tokens.state = isGood ? .good(creation) : .none }
    }

    /// A server has refused a token, and a caller has reported it.
    public func tokenIsRefused(_ token: Int) {
        if tokens.state == .good(token) { tokens.state = .none }
    }

    /// An exchange is sent without the changes of `willSend`, or with those for another URL.
    public func wasSentUnchanged(_ serial: Int) {
        report(8, "exchange \(serial) was sent without the changes of willSend for its URL")
    }

    /// A caller got a response whose status is neither that of its exchange nor the one that `didReceive` gave it.
    public func gotStatus(_ status: Int, not expected: Int, exchange serial: Int) {
        if status != expected { report(8, "exchange \(serial) has status \(expected), but its caller got \(status)") }
    }
}
