import InflightConcurrency

// How a fetch takes the pieces of a body: within the budget of all bodies in flight, and in bounded steps where a piece
// decodes to a lot. While it is paused, or at work on another thread, no piece comes, and the end of the exchange is held.

extension FetchJob {
    /// One that the budget has paused.
    struct Paused: Sendable {
        let job: FetchJob
        let exchange: Int
    }

    /// What one turn adds to the body.
    private static let turnBytes = 1 << 20

    func didTakePiece(_ work: Work) -> TransportDisposition {
        guard tellBody(work) else { return .cancel }
        return flows(work) ? .proceed : .pause
    }

    /// Tells whoever wants to know how much there is.
    ///
    /// - Returns: whether more is wanted.
    private func tellBody(_ work: Work) -> Bool {
        if work.exchange.verdict != nil {
            work.cache?.changes.keeping = .nothing
            return false
        }
        if engine.telemetry != nil { tellBytes(work) }
        if let cache = work.cache { keepPart(work, cache) }
        if plan.goal == .info { return !probe(work) }
        let progress = LoadProgress(
            receivedBytes: Int64(work.response.body.count), expectedBytes: work.response.expectedBytes)
        if let options = engine.didProgress(self, progress), !work.response.body.hasSpilled { preview(work, options) }
        return true
    }

    /// Adds what a coded piece decodes to, as far as the budget and one turn allow.
    ///
    /// - Parameters:
    ///   - bytes: the piece; `nil` for what is left of the last one.
    ///   - spills: whether all of it is added, with a file for what there is no room for: nothing can pause it.
    func decode(
        _ bytes: UnsafeRawBufferPointer?, by coded: CodedBody, _ work: Work, spills: Bool = false
    ) -> Verdict? {
        let limit = plan.request.limits.maximumBodyBytes
        var added = 0
        var verdict: Verdict?
        let body: (UnsafeRawBufferPointer) -> Bool = { [self] part in
            guard Int64(part.count) <= limit - Int64(work.response.body.count) else {
                verdict = .failure(codingFailure(.stopped))
                return false
            }
            unsafe work.response.body.append(part)
            added += part.count
            guard spills else { return holds(work) && added < Self.turnBytes }
            verdict = keepLimit(work)
            return verdict == nil
        }
        do throws(ContentCodingError) {
            if let bytes = unsafe bytes { unsafe try coded.decode(bytes, body) } else { try unsafe coded.goOn(body) }
            return verdict
        } catch {
            return .failure(codingFailure(error))
        }
    }

    /// Spills where there is no room: for bytes that nothing could pause.
    private func keepLimit(_ work: Work) -> Verdict? {
        holds(work) ? nil : spill(work)
    }

    /// Takes what is stored of a body, whose rest comes later.
    func takeStored(_ bytes: UnsafeRawBufferPointer, _ work: Work) -> Verdict? {
        for start in stride(from: 0, to: bytes.count, by: Self.turnBytes) {
            let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.turnBytes, bytes.count)])
            if let verdict = unsafe take(piece, work, spills: true) ?? keepLimit(work) { return verdict }
        }
        sleepBody(work)
        return nil
    }

    /// Says how much of the body is in memory.
    ///
    /// - Returns: whether there is room for more.
    private func holds(_ work: Work) -> Bool {
        let bytes = Int64(work.response.body.memoryCount) + Int64(work.cache?.raw.memoryCount ?? 0)
        if let id = work.bodyID { return engine.bodies.withLock { $0.holds(bytes, id) } }
        let (id, isRoom) = engine.bodies.withLock { budget in
            let id = budget.began()
            return (id, budget.holds(bytes, id))
        }
        stripe.lock.withLock { work.bodyID = id }
        return isRoom
    }

    /// Whether the transport goes on; if not, the fetch has paused, or works on what there is.
    private func flows(_ work: Work) -> Bool {
        let isRoom = holds(work)
        let hasMore = work.response.coded?.hasMore ?? false
        guard !isRoom || hasMore, let body = work.bodyID else { return true }
        let now = engine.clock.now()
        let priority = engine.priority(of: id) ?? .low
        // libcurl stops reading a connection while one of its streams is paused.
        let isMultiplexed = work.response.head?.version.isMultiplexed ?? false
        let number = work.sentExchanges - 1
        let answer: BodyBudget<Paused>.Answer? = stripe.lock.withLock {
            guard let mayPause = work.machine.mayPause else { return nil }
            let answer = engine.bodies.withLock {
                $0.asked(body, mayPause: mayPause && !isMultiplexed, priority: priority) {
                    Paused(job: self, exchange: number)
                }
            }
            if answer == .goOn, !hasMore { return nil }
            work.machine.stops(untilRoom: answer == .pause, at: now)
            return answer
        }
        guard let answer else { return true }
        if answer != .pause { schedule(number, spills: answer == .spill) }
        return false
    }

    /// The budget has room for a fetch that it had paused.
    func goOn(_ paused: Paused, spills: Bool) {
        let (work, hasTurn): (Work?, Bool) = stripe.lock.withLock {
            guard let work = self.work else { return (nil, false) }
            let hasTurn = spills || work.response.coded?.hasMore ?? false
            // It may have ended meanwhile.
            guard work.machine.granted(number: paused.exchange, needsTurn: hasTurn) else { return (nil, false) }
            return (work, hasTurn)
        }
        guard let work else { return }
        if hasTurn { schedule(paused.exchange, spills: spills) } else { flow(work, isWanted: true) }
    }

    private func schedule(_ exchange: Int, spills: Bool) {
        engine.turns.add(BodyTurns.Turn(job: self, exchange: exchange, spills: spills))
    }

    /// A turn on one of the engine's threads.
    func take(_ turn: BodyTurns.Turn) {
        // It may have ended meanwhile.
        let isDue = stripe.lock.withLock { work?.machine.turnCame(number: turn.exchange) ?? false }
        guard isDue, let work else { return }
        if turn.spills { work.exchange.verdict = spill(work) }
        if work.exchange.verdict == nil, let coded = work.response.coded, coded.hasMore {
            work.exchange.verdict = unsafe decode(nil, by: coded, work)
        }
        let isWanted = tellBody(work) && !stripe.lock.withLock { work.machine.isCancelled }
        if isWanted, !flows(work) { return }
        flow(work, isWanted: isWanted)
    }

    /// The transport goes on, or its end does that came meanwhile.
    func flow(_ work: Work, isWanted: Bool) {
        let now = engine.clock.now()
        let (next, rate) = stripe.lock.withLock { work.machine.flows(at: now) }
        if let rate { engine.rates.add(self, checkAt: rate.time ?? now) }
        switch next {
        case .ends(let ending): if let step = exchangeEnded(ending) { engine.jobsCameOn(CollectionOfOne(step)) }
        case .goesOn(let transfer): if isWanted { transfer.resume() } else { transfer.cancel() }
        case .goesOnWhenKnown: break
        }
    }

    /// An exchange has ended.
    func exchangeEnded(_ result: Result<TransportSummary, LoadError>) -> JobStep? {
        guard let work else { return nil }
        let ended = stripe.lock.withLock {
            let (ended, unpauses) = work.machine.exchangeEnded(result)
            if unpauses, let id = work.bodyID { engine.bodies.withLock { $0.unpause(id) } }
            return ended
        }
        switch ended {
        case .now(let wasWatched, let wasTooSlow):
            if wasWatched { engine.rates.remove(self) }
            let result = wasTooSlow ? .failure(tooSlow(work)) : result
            if engine.telemetry != nil { tellEnd(result, work) }
            return stepAfter(result, work)
        case .heldWhileSpilling(let number): schedule(number, spills: true)
        case .held, .nothing: break
        }
        return nil
    }

    // MARK: Spilling

    private func spill(_ work: Work) -> Verdict? {
        do throws(PosixError) {
            try work.response.body.spill(to: engine.temporaryFolder)
            try work.cache?.raw.spill(to: engine.temporaryFolder)
        } catch {
            return .failure(unspilled(error))
        }
        if let id = work.bodyID { engine.run(engine.bodies.withLock { $0.spilled(id) }) }
        return nil
    }

    /// Makes a body whole that is in a file.
    func seal(_ work: Work) -> LoadError? {
        do throws(PosixError) {
            try work.response.body.seal()
            try work.cache?.raw.seal()
            return nil
        } catch {
            return unspilled(error)
        }
    }

    private func unspilled(_ error: PosixError) -> LoadError {
        LoadError(
            .tooLarge, stage: .fetch,
            message:
                "The bodies in flight use up their memory, \(engine.bodyLimit) bytes, and no temporary file could be "
                + "written: \(error.text). Make room for temporary files, or raise the limit.")
    }

    /// Gives back what the body holds.
    func endBody(_ work: Work) { engine.run(grantsAfterBody(work)) }

    /// Gives back what the body holds.
    ///
    /// - Returns: the paused transfers for which there is room now.
    func grantsAfterBody(_ work: Work) -> [BodyBudget<Paused>.Grant] {
        guard let id = stripe.lock.withLock({ work.bodyID.take() }) else { return [] }
        return engine.bodies.withLock { $0.ended(id) }
    }

    /// The fetch keeps what it has, and goes on later, when it has a place. What there is no room for goes to a file at
    /// once, on this thread: others would wait for it.
    func sleepBody(_ work: Work) {
        // Where there is no file, it stays.
        _ = keepLimit(work)
        guard let id = work.bodyID else { return }
        engine.run(engine.bodies.withLock { $0.slept(id) })
    }
}

extension Engine {
    /// Lets paused transfers go on.
    func run(_ grants: [BodyBudget<FetchJob.Paused>.Grant]) {
        for grant in grants { grant.waiter.job.goOn(grant.waiter, spills: grant.spills) }
    }
}

extension RateMonitor.Verdict {
    fileprivate var time: MonotonicTime? {
        if case .checkAgain(let time) = self { time } else { nil }
    }
}
