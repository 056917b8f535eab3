public import InflightCore

// The caller's own asynchronous code: `willSend`, sources, and `didReceive`. Its calls take a fetch's place, and whether
// they are cancelled is looked at as it is with exchanges.

extension ContractModel {
    /// What `willSend` is asked about.
    public struct Question: Sendable {
        public var kind: Wish.Kind
        public var resource: UInt8
        public var language: UInt8
        public var origin: UInt8
        public var isRedirected: Bool
        public var hasCredentials: Bool
        /// After a 401.
        public var isAgain: Bool

        public init(
            kind: Wish.Kind, resource: UInt8, language: UInt8, origin: UInt8, isRedirected: Bool,
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
    ///   - isCancelled: whether the task that it runs in is cancelled.
    ///   - askedAt: when it was asked for.
    ///   - jobsThen: ``jobCount`` then: it was not for one that came later.
    ///   - isOutermost: nothing else is on its way.
    /// - Returns: the number of the call.
    public func asksBefore(
        _ question: Question, isCancelled: Bool, askedAt: Int64, jobsThen: Int = .max, isOutermost: Bool
    ) -> Int {
        lastCall += 1
        if question.isAgain { return asksAgain(question, isCancelled: isCancelled) }
        startedExchanges += 1
        var job = wanting(
            question.kind, question.resource, question.language, isRedirected: question.isRedirected,
            origin: question.origin)
        // A call that is cancelled belongs to what nobody waits for any more, or came too late.
        if isCancelled, let found = job {
            let began = jobs[found].startedAt < 0 ? askedAt : jobs[found].startedAt
            let total = jobs[found].wish.totalTime
            if total == 0 || now - began < total || found >= jobsThen { job = nil }
        } else if job == nil, !isCancelled, isOutermost {
            broken(7, "willSend was asked about resource \(question.resource), but nobody waits for it")
        }
        if let job {
            checkProof(question.hasCredentials, of: job)
            begin(job, at: askedAt)
        }
        takePlace(ExchangeRecord(serial: -1, job: job ?? -1, origin: question.origin, call: lastCall))
        return lastCall
    }

    private func asksAgain(_ question: Question, isCancelled: Bool) -> Int {
        let fitting = exchanges.indices.filter { index in
            let record = exchanges[index]
            guard record.isBetween, record.job >= 0, record.origin == question.origin else { return false }
            let job = jobs[record.job]
            return job.wish.resource == question.resource && job.wish.language == question.language
                && Self.group(job.wish.kind) == Self.group(question.kind)
                && (job.redirects > 0) == question.isRedirected
        }
        let index = fitting.first { isCancelled != isLive(exchanges[$0].job) }
        // Its time may be up.
        let late = fitting.first
        if let index = index ?? late {
            exchanges[index].isBetween = false
            exchanges[index].isSecond = true
            exchanges[index].call = lastCall
        } else {
            if lateQuestions == 0 { broken(7, "willSend was asked again without a 401") }
            lateQuestions -= 1
            takePlace(
                ExchangeRecord(serial: -1, job: -1, origin: question.origin, call: lastCall, isSecond: true))
        }
        return lastCall
    }

    /// `willSend` is about to return: where it threw, with this code.
    public func answersBefore(_ call: Int, _ failure: LoadError.Code?) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        let job = exchanges[index].job
        if job < 0 || !isLive(job) {
            exchanges.remove(at: index)
        } else if isLate(job) {
            exchanges.remove(at: index)
            failed(job, .timedOut)
        } else if let failure {
            exchanges.remove(at: index)
            failed(job, failure)
        }
    }

    /// The task that a hook or a source runs in is cancelled.
    public func callIsCancelled(_ call: Int) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        exchanges[index].isCancelled = true
        let job = exchanges[index].job
        if job >= 0, isLive(job), !isLate(job) {
            broken(7, "a hook or a source was cancelled, though somebody waits for it")
        }
    }

    /// The task in which `didReceive` judges an answer is cancelled.
    public func questionIsCancelled(exchange serial: Int) {
        guard let job = exchanges.first(where: { $0.serial == serial })?.job, job >= 0, isLive(job), !isLate(job)
        else { return }
        broken(7, "didReceive was cancelled, though somebody waits for exchange \(serial)")
    }

    /// Whether the whole time is up of what an exchange was started for.
    public func isLate(exchange serial: Int) -> Bool {
        guard let job = exchanges.first(where: { $0.serial == serial })?.job, job >= 0 else { return false }
        return isLate(job)
    }

    /// Whether a 401 has `willSend` asked again: once for each URL of a load.
    public func asksAgain(exchange serial: Int) -> Bool {
        bounds.asksBefore && exchanges.contains { $0.serial == serial && !$0.isSecond }
    }

    /// A receiver has heard an answer's head: whether the answer waits for `didReceive` now.
    public func heardHead(exchange serial: Int, waits: Bool, isToWait: Bool) {
        if waits && !isToWait { broken(7, "exchange \(serial) was paused, though nothing is to be asked about it") }
        if !waits && isToWait { broken(7, "didReceive was not asked about exchange \(serial)") }
    }

    // MARK: Sources

    /// A source begins.
    public func sourceBegins(_ resource: UInt8, isCancelled: Bool, isOutermost: Bool) -> Int {
        lastCall += 1
        startedExchanges += 1
        let job = isCancelled ? nil : wanting(.picture, resource, nil, isRedirected: false, origin: 2)
        if job == nil, !isCancelled, isOutermost {
            broken(7, "source \(resource) was asked, but nobody waits for it")
        }
        if let job { begin(job, at: now) }
        takePlace(ExchangeRecord(serial: -1, job: job ?? -1, origin: 2, call: lastCall))
        return lastCall
    }

    /// A source is about to return what it numbered as an exchange, or to throw.
    public func sourceEnds(_ call: Int, exchange serial: Int, _ failure: LoadError.Code?) {
        guard let index = exchanges.firstIndex(where: { $0.call == call }) else { return }
        let job = exchanges.remove(at: index).job
        guard job >= 0, isLive(job) else { return }
        if let failure { failed(job, failure) } else { succeeded(job, exchange: serial) }
    }

    /// A source's picture was brought into the form that is wanted: no decoder was needed.
    public func pictureIsFitted(_ resource: UInt8) {
        let job = live.first {
            jobs[$0].stage == 1 && jobs[$0].wish.resource == resource && jobs[$0].state == .wanting
        }
        guard let job else { return }
        keep(job)
        succeeded(job, exchange: jobs[job].exchange)
    }

    // MARK: The log

    /// The log hook hears that an exchange begins.
    public func logsExchange() { loggedExchanges += 1 }

    // MARK: Places

    private func begin(_ job: Int, at time: Int64) {
        jobs[job].state = .running
        if jobs[job].startedAt < 0 { jobs[job].startedAt = time }
    }

    /// What proves who asks is sent to its own origin alone (rule 8).
    func checkProof(_ hasCredentials: Bool, of job: Int) {
        if hasCredentials != jobs[job].hasCredentials {
            let what = hasCredentials ? "were sent" : "were not sent"
            broken(8, "credentials \(what) with resource \(jobs[job].wish.resource) to origin \(jobs[job].origin)")
        }
    }

    /// A fetch takes its place.
    func takePlace(_ record: ExchangeRecord) {
        exchanges.append(record)
        let origin = record.origin
        if exchanges.count > bounds.fetches { broken(11, "\(exchanges.count) fetches run at once") }
        let ofOrigin = running(of: origin)
        let limit = multiplexed & (1 << origin) != 0 ? bounds.streamsPerOrigin : bounds.fetchesPerOrigin
        if ofOrigin > limit { broken(11, "\(ofOrigin) fetches of origin \(origin) run at once") }
    }
}

// One token for all who need one: made by the first, made again when it was refused.
extension ContractModel {
    public struct Tokens {
        enum State: Equatable {
            case none
            /// By the making of this number.
            case making(Int)
            case good(Int)
        }

        var state = State.none
        var lastMaking = 0
    }

    /// Somebody begins to make a token: the number of the making, and of what it makes.
    ///
    /// - Parameter isCancelled: nobody waited for it any more before it began.
    public func tokenIsMade(isCancelled: Bool) -> Int {
        if isCancelled {
            tokens.lastMaking += 1
            return tokens.lastMaking
        }
        if case .good(let token) = tokens.state { broken(7, "a token is made, though token \(token) is good") }
        if case .making(let other) = tokens.state { broken(7, "a token is made, though making \(other) is under way") }
        tokens.lastMaking += 1
        tokens.state = .making(tokens.lastMaking)
        return tokens.lastMaking
    }

    /// The making was cancelled: nobody waits for it any more.
    public func tokenIsGivenUp(_ making: Int) {
        if tokens.state == .making(making) { tokens.state = .none }
    }

    public func tokenMakingEnds(_ making: Int, isGood: Bool) {
        if tokens.state == .making(making) { tokens.state = isGood ? .good(making) : .none }
    }

    /// A server has refused a token, and whoever heard of that says so.
    public func tokenIsRefused(_ token: Int) {
        if tokens.state == .good(token) { tokens.state = .none }
    }

    /// An exchange is to go out without what `willSend` has put in, or with what belongs to another URL.
    public func wasSentUnchanged(_ serial: Int) {
        broken(8, "exchange \(serial) goes out without what willSend has put in for its URL alone")
    }

    /// A caller got an answer with another status than its exchange had, or `didReceive` made of it.
    public func gotStatus(_ status: Int, not expected: Int, exchange serial: Int) {
        if status != expected { broken(8, "exchange \(serial) was answered \(expected), and its caller got \(status)") }
    }
}
