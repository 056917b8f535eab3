import InflightConcurrency
internal import Synchronization

// Receipt of a body's pieces, within the budget of all bodies in flight, and in bounded steps if a piece decodes to
// many bytes. While the fetch is paused, or a turn runs on another thread, no piece arrives, and the end is held.

extension FetchJob {
    /// A fetch that the budget has paused.
    struct Paused: Sendable {
        let job: FetchJob
        let exchange: Int
    }

    /// The number of bytes that one turn adds to the body.
    static let turnBytes = 1 << 20

    /// Applies the decision about a response's head, which is now known.
    func beginBody(_ work: Work, _ head: ResponseHead, _ expectedBytes: Int64?, _ decision: ImagePipeline.HeadDecision)
    {
        var head = head
        switch decision {
        case .byStatus: work.exchange.verdict = failure(on: head)
        case .accept: break
        case .rewrite(let other):
            // A stored response is served without calling the hook, so the rewritten one is not stored.
            work.cache?.changes.bodyStorage = .nothing
            head = other
            work.exchange.verdict = failure(on: head)
        case .refuse(let why):
            work.cache?.changes.bodyStorage = .nothing
            work.exchange.verdict = .failure(LoadError(.refused, stage: .fetch, message: why, status: head.status))
        }
        guard work.exchange.verdict == nil else { return }
        if !stage.fieldsExcludedFromKey.isEmpty { respectVary(head) }
        work.response.head = head
        work.response.expectedBytes = expectedBytes
        work.exchange.verdict = undoCoding(of: head, work)
        if plan.request.limits.stallTimeout == nil, work.exchange.verdict == nil { watchRate(work, receivedBytes: 0) }
        if let expectedBytes, work.response.coded == nil { work.response.body.expect(expectedBytes) }
    }

    func didTakePiece(_ work: Work) -> TransportDisposition {
        guard reportBody(work) else { return .cancel }
        return flows(work) ? .proceed : .pause
    }

    /// Reports the received bytes to observers, subscribers, the store and previews.
    ///
    /// - Returns: whether more bytes are needed.
    private func reportBody(_ work: Work) -> Bool {
        if work.exchange.verdict != nil {
            work.cache?.changes.bodyStorage = .nothing
            return false
        }
        if scheduler.telemetry != nil { reportBytes(work) }
        if let cache = work.cache { storePart(work, cache) }
        if plan.goal == .info { return !probe(work) }
        reportProgress(work)
        if let options = work.previewOptions, !work.response.body.hasSpilled { preview(work, options) }
        return true
    }

    /// The shortest time between two reports of progress, about that between two frames on a display.
    private static let reportInterval = Duration.milliseconds(16)

    /// Reports the progress to the tasks that observe it, unless the last report is recent. A task that has joined
    /// since then gets the next one in any case.
    private func reportProgress(_ work: Work) {
        let progress = ImageTask.Progress(
            receivedBytes: Int64(work.response.body.count), expectedBytes: work.response.expectedBytes)
        let now = clock.now()
        let isRecent = work.reportedAt.map { now - $0 < Self.reportInterval } ?? false
        if isRecent, !hasNewObserver.exchange(false, ordering: .relaxed) {
            work.unreported = progress
        } else {
            (work.reportedAt, work.unreported) = (now, nil)
            work.previewOptions = scheduler.didProgress(self, progress)
        }
    }

    /// Appends the decoded bytes of a coded piece, within the budget and the limit of one turn.
    ///
    /// - Parameters:
    ///   - bytes: the piece; if `nil`, the rest of the last one.
    ///   - spills: whether to append all of it, and spill to a file beyond the budget, because the source cannot be
    ///     paused.
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
            if let bytes = unsafe bytes { unsafe try coded.decode(bytes, body) } else { try unsafe coded.resume(body) }
            return verdict ?? (hasDecodedLength(coded, work) ? .decoded : nil)
        } catch {
            return .failure(codingFailure(error))
        }
    }

    /// Returns whether the body is complete, and has the announced length only after decoding. Some servers compress a
    /// file and announce its own length, so that the end of the coded data is the end of the body.
    private func hasDecodedLength(_ coded: CodedBody, _ work: Work) -> Bool {
        guard let announced = work.response.expectedBytes, work.response.rawBytes < announced,
            Int64(work.response.body.count) == announced
        else { return false }
        return coded.isComplete
    }

    /// Spills the body if it exceeds the budget. For bytes from a source that cannot be paused.
    private func keepLimit(_ work: Work) -> Verdict? {
        holds(work) ? nil : spill(work)
    }

    /// Appends the stored first part of a body, whose rest is received later.
    func takeStored(_ bytes: UnsafeRawBufferPointer, _ work: Work) -> Verdict? {
        for start in stride(from: 0, to: bytes.count, by: Self.turnBytes) {
            let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.turnBytes, bytes.count)])
            if let verdict = unsafe take(piece, work, spills: true) ?? keepLimit(work) { return verdict }
        }
        sleepBody(work)
        return nil
    }

    /// Reports the number of the body's bytes in memory to the budget.
    ///
    /// - Returns: whether the budget allows more.
    private func holds(_ work: Work) -> Bool {
        let bytes = Int64(work.response.body.memoryCount) + Int64(work.cache?.raw.memoryCount ?? 0)
        if let id = work.bodyID { return stage.bodies.withLock { $0.holds(bytes, id) } }
        let (id, isRoom) = stage.bodies.withLock { budget in
            let id = budget.began()
            return (id, budget.holds(bytes, id))
        }
        stripe.lock.withLock { work.bodyID = id }
        return isRoom
    }

    /// Returns whether the transport continues. If not, the fetch has paused or has scheduled a turn.
    private func flows(_ work: Work) -> Bool {
        let isRoom = holds(work)
        let hasMore = work.response.coded?.hasMore ?? false
        guard !isRoom || hasMore, let body = work.bodyID else { return true }
        let now = clock.now()
        let priority = scheduler.priority(of: id) ?? .low
        // libcurl stops reading a connection while one of its streams is paused.
        let isMultiplexed = work.response.head?.version.isMultiplexed ?? false
        let number = work.sentExchanges - 1
        let answer: BodyBudget<Paused>.Answer? = stripe.lock.withLock {
            guard let mayPause = work.machine.mayPause(hasMore: hasMore) else { return nil }
            let answer = stage.bodies.withLock {
                $0.asked(body, mayPause: mayPause && !isMultiplexed, priority: priority) {
                    Paused(job: self, exchange: number)
                }
            }
            if answer == .proceed, !hasMore { return nil }
            work.machine.stops(untilRoom: answer == .pause, at: now)
            return answer
        }
        guard let answer else { return true }
        if answer != .pause { schedule(number, spills: answer == .spill) }
        return false
    }

    /// Resumes paused fetches.
    static func resume(_ grants: [BodyBudget<Paused>.Grant]) {
        for grant in grants { grant.waiter.job.resume(grant.waiter, spills: grant.spills) }
    }

    /// The budget allows a paused fetch to continue.
    private func resume(_ paused: Paused, spills: Bool) {
        let (work, hasTurn): (Work?, Bool) = stripe.lock.withLock {
            guard let work = self.work else { return (nil, false) }
            let hasTurn = spills || work.response.coded?.hasMore ?? false
            // The exchange may have ended meanwhile.
            guard work.machine.granted(number: paused.exchange, needsTurn: hasTurn) else { return (nil, false) }
            return (work, hasTurn)
        }
        guard let work else { return }
        if hasTurn { schedule(paused.exchange, spills: spills) } else { flow(work, isWanted: true) }
    }

    private func schedule(_ exchange: Int, spills: Bool) {
        stage.turns.add(BodyProcessingQueue.Turn(job: self, exchange: exchange, spills: spills))
    }

    /// Runs a turn on one of the decoding threads.
    func take(_ turn: BodyProcessingQueue.Turn) {
        // The exchange may have ended meanwhile.
        let isDue = stripe.lock.withLock { work?.machine.turnStarted(number: turn.exchange) ?? false }
        guard isDue, let work else { return }
        if turn.spills { work.exchange.verdict = spill(work) }
        if work.exchange.verdict == nil, let coded = work.response.coded, coded.hasMore {
            work.exchange.verdict = unsafe decode(nil, by: coded, work)
        }
        let isWanted = reportBody(work) && !stripe.lock.withLock { work.machine.isCancelled }
        if isWanted, !flows(work) { return }
        flow(work, isWanted: isWanted)
    }

    /// Resumes or cancels the transfer, or processes the held end of the exchange.
    func flow(_ work: Work, isWanted: Bool) {
        let now = clock.now()
        let (next, rate) = stripe.lock.withLock { work.machine.flows(at: now) }
        if let rate { stage.rates.add(self, checkAt: rate.time ?? now) }
        switch next {
        case .ends(let ending): if let step = exchangeEnded(ending) { scheduler.jobAdvanced(step) }
        case .continues(let transfer): if isWanted { transfer.resume() } else { transfer.cancel() }
        case .resumesWhenKnown: break
        }
    }

    /// An exchange has ended.
    func exchangeEnded(_ result: Result<TransportSummary, LoadError>) -> JobStep? {
        guard let work else { return nil }
        let ended = stripe.lock.withLock {
            let (ended, unpauses) = work.machine.exchangeEnded(result, isCoded: work.response.coded != nil)
            if unpauses, let id = work.bodyID { stage.bodies.withLock { $0.unpause(id) } }
            return ended
        }
        switch ended {
        case .now(let wasWatched, let wasTooSlow):
            if wasWatched { stage.rates.remove(self) }
            let result = wasTooSlow ? .failure(tooSlow(work)) : result
            if scheduler.telemetry != nil { reportEnd(result, work) }
            return stepAfter(result, work)
        case .heldWhileSpilling(let number): schedule(number, spills: true)
        case .held, .nothing: break
        }
        return nil
    }

    // MARK: Spilling

    private func spill(_ work: Work) -> Verdict? {
        do throws(PosixError) {
            try work.response.body.spill(to: stage.temporaryFolder)
            try work.cache?.raw.spill(to: stage.temporaryFolder)
        } catch {
            return .failure(unspilled(error))
        }
        if let id = work.bodyID { Self.resume(stage.bodies.withLock { $0.spilled(id) }) }
        return nil
    }

    /// Completes a body that is in a file.
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
                "Response bodies in flight use all \(stage.bodyLimit) bytes of their memory, and no temporary file can be "
                + "written and read: \(error.text). Free disk space, or raise maximumBodyBytesInFlight.")
    }

    /// Releases the body's share of the budget, and resumes the paused transfers that fit now.
    func endBody(_ work: Work) {
        guard let id = stripe.lock.withLock({ work.bodyID.take() }) else { return }
        Self.resume(stage.bodies.withLock { $0.ended(id) })
    }

    /// Keeps the received bytes until the fetch resumes in a slot. Bytes beyond the budget are spilled at once, on this
    /// thread, because other fetches would wait for their memory.
    func sleepBody(_ work: Work) {
        // If no file can be written, the bytes stay in memory.
        _ = keepLimit(work)
        guard let id = work.bodyID else { return }
        Self.resume(stage.bodies.withLock { $0.slept(id) })
    }

    // MARK: The minimum rate, measured from the first piece of a body that does not end with it

    /// Counts the bytes of a received piece.
    func noteRate(_ bytes: Int, _ work: Work) {
        if work.exchange.isWatched { return stripe.lock.withLock { work.machine.received(bytes) } }
        if work.response.expectedBytes.map({ work.response.rawBytes < $0 }) ?? true {
            watchRate(work, receivedBytes: bytes)
        }
    }

    func watchRate(_ work: Work, receivedBytes: Int) {
        let now = clock.now()
        guard var rate = RateMonitor(plan.request.limits, at: now), case .checkAgain(let time) = rate.check(at: now)
        else { return }
        rate.received(receivedBytes)
        work.exchange.isWatched = true
        stripe.lock.withLock { work.machine.watches(rate) }
        stage.rates.add(self, checkAt: time)
    }

    /// Cancels the transfer if it is too slow.
    ///
    /// - Returns: the time of the next check.
    func checkRate(at now: MonotonicTime) -> MonotonicTime? {
        let (next, transfer) = stripe.lock.withLock { work?.machine.rateChecked(at: now) ?? (nil, nil) }
        transfer?.cancel()
        return next
    }

    /// Returns the error of an exchange that was stopped because it was too slow.
    func tooSlow(_ work: Work) -> LoadError {
        let limits = plan.request.limits
        let host = currentURL(work).origin?.description ?? "the source"
        return LoadError(
            .timedOut, stage: .fetch,
            message: "The transfer was too slow: \(host) sent less than \(limits.minimumBytesPerSecond) bytes per "
                + "second over \((limits.minimumRatePeriod as Duration?).text). Lower minimumBytesPerSecond.")
    }
}

extension RateMonitor.Verdict {
    fileprivate var time: MonotonicTime? {
        if case .checkAgain(let time) = self { time } else { nil }
    }
}
