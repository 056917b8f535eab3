import InflightConcurrency

/// Obtains the bytes of one URL, redirects included: one exchange after the other on the transport.
// Unchecked: `early`, `work`, and in it the machine, `bodyID` and `previews` are touched only while the job's stripe of
// locks is held; the rest of `work` by what the fetch does one after the other: the transport's calls, the store's, a
// hook's return and a turn, as the machine says.
final class FetchJob: EngineJob, TransportReceiver, @unchecked Sendable {
    /// What a body that nobody wants may cost, so that its connection can be used again.
    private static let drainedBytes: Int64 = 64 * 1024

    // Boxed: it is rare, and moved about with every exchange.
    indirect enum Verdict {
        /// Ask the hook for better proof, and send it again.
        case again(ResponseHead)
        case redirect(RedirectPolicy.Exchange)
        case failure(LoadError)
        case info(ImageInfo)
        /// What is stored is the answer.
        case stored(StoredAnswer, LoadSource)
        /// All of the body was there already.
        case complete(StoredResponse)
        /// Send it again, this way.
        case anotherWay(CacheExchange)
    }

    let plan: RequestPlan
    /// What subscribers were last told of the body. Guarded by the engine's lock.
    var progress: LoadProgress?
    /// What came before there was any work.
    private var early = Machine.Early()
    var work: Work?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    var stripe: LockStripes.Stripe { LockStripes.stripe(for: self) }

    /// The URL that is asked now.
    func currentURL(_ work: Work) -> ResourceURL {
        work.redirected?.url ?? plan.url
    }

    override var logFields: [(name: String, value: String)] { [("job", "fetch"), ("url", plan.url.string)] }

    // MARK: Told by the engine

    override func start(priority: LoadPriority) {
        let now = engine.clock.now()
        let (work, isTooLate, timer) = stripe.lock.withLock {
            let work = self.work ?? Work(startedAt: now, early)
            self.work = work
            return (work, work.machine.isCancelled, work.machine.started())
        }
        timer?.cancel()
        if isTooLate {
            engine.startWasInVain(self)
            return finish(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        }
        if let refusal = result?.error { return serveStandIn(work, instead: refusal) }
        guard let limits = limits(work) else {
            engine.startWasInVain(self)
            return finish(.failure(timedOut()))
        }
        if work.cache == nil { work.cache = makeCacheTransaction(work) }
        if !work.isLookedUp, let cache = work.cache, looksUp(cache) { return lookUp(work, cache) }
        send(work, limits: limits, priority: priority, reason: .first)
    }

    override func reprioritize(_ priority: LoadPriority) {
        passPriorityOn()
    }

    /// Tells the transfer, and the body that may have paused, the job's present priority.
    func passPriorityOn() {
        passPriorityOn { priority in
            let (transfer, body) = stripe.lock.withLock {
                if work == nil { early.hasMissedPriority = true }
                return (work?.machine.priorityChanged(), work?.bodyID)
            }
            if let body { engine.bodies.withLock { $0.priorityChanged(body, to: priority) } }
            transfer?.setPriority(priority)
        }
    }

    override func cancel() {
        let ((transfer, call), previews) = stripe.lock.withLock {
            early.isCancelled = true
            return (work?.machine.cancelled() ?? (nil, nil), work?.previews)
        }
        previews?.end()
        call?.cancel()
        transfer?.cancel()
    }

    override func waits() {
        guard let wait = stripe.lock.withLock({ work?.machine.wait }) else { return }
        let timer: any ScheduledWork
        switch wait {
        case .turn(deadline: nil): return
        case .turn(deadline: .some(let deadline)):
            timer = engine.clock.schedule(at: deadline) { [self] in
                engine.queuedJobFailed(self, with: JobResult(.failure(timedOut())))
            }
        case .time(let time):
            timer = engine.clock.schedule(at: time) { [self] in wake() }
        }
        // It may have been started meanwhile, or be over, on another thread.
        let useless = stripe.lock.withLock { work == nil ? timer : work?.machine.timerSet(timer, for: wait) }
        useless?.cancel()
    }

    /// Waits for its turn from now on, which may be at once.
    private func wake() {
        stripe.lock.withLock {
            if let work { work.machine.woke(deadline: deadline(work)) }
        }
        engine.jobsCameOn(CollectionOfOne(JobStep(job: self, event: .woke)))
        waits()
    }

    override func refuse(_ error: LoadError) {
        result = JobResult(.failure(error.about(url: plan.url.string)))
    }

    override func discard() {
        engine.run(letGo())
    }

    /// The job is over: nothing of it is needed any more.
    ///
    /// - Returns: the paused transfers for which there is room now.
    private func letGo() -> [BodyBudget<Paused>.Grant] {
        let (work, timer) = stripe.lock.withLock {
            let work = self.work.take()
            return (work, work?.machine.finished())
        }
        timer?.cancel()
        work?.previews?.end()
        let grants = work.map(grantsAfterBody) ?? []
        // Here, with no lock held: what a hook captured may run code of the caller when it goes.
        withExtendedLifetime(work) {}
        return grants
    }

    // MARK: Told by the transport

    func didReceive(interim head: ResponseHead) {
        guard let work else { return }
        work.exchange.interimHeads.append(head)
        noteAnswer(work)
    }

    func didReceive(_ timings: TransportTimings) {
        if let work { tell(timings, work) }
    }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        guard let work else { return .cancel }
        if head.version != .none { noteAnswer(work) }
        if head.version.isMultiplexed { engine.originMultiplexes(currentURL(work)) }
        tell(.answered(status: head.status))
        work.exchange.head = head
        work.exchange.responseTime = engine.wallTime
        noteInvalidation(by: head, work)
        work.response.goingOn = nil
        work.exchange.verdict = again(on: head, work: work)
        let head = work.exchange.verdict == nil ? judge(head, work) : head
        if work.response.goingOn != nil {
            // It was judged when its first part came.
            work.response.head = head
            return .proceed
        }
        if work.exchange.verdict == nil { work.exchange.verdict = follow(head, work) }
        if work.exchange.verdict == nil {
            if let didReceive = engine.hooks.didReceive, head.version != .none {
                askAbout(head, expectedBytes, work, didReceive)
                return .pause
            }
            goOn(work, head, expectedBytes, .byStatus)
            if work.exchange.verdict == nil { return .proceed }
        }
        // A short body that nobody wants costs less than a new connection.
        return (expectedBytes ?? 0) <= Self.drainedBytes ? .proceed : .cancel
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        guard let work else { return .cancel }
        if work.exchange.verdict != nil {
            guard offset + Int64(bytes.count) <= Self.drainedBytes else { return .cancel }
            if let cache = work.cache, cache.incoming != nil {
                work.exchange.receivedBytes += Int64(bytes.count)
                unsafe cache.raw.append(bytes)
            }
            return .proceed
        }
        work.exchange.verdict = unsafe take(bytes, work)
        noteRate(bytes.count, work)
        return didTakePiece(work)
    }

    func preview(_ work: Work, _ options: PreviewOptions) {
        if work.previews == nil {
            let previews = PreviewMaker(engine: engine, job: id, options)
            stripe.lock.withLock {
                if !work.machine.isCancelled { work.previews = previews }
            }
        }
        work.previews?.bytesCame(&work.response.body)
    }

    func didReceive(trailers: HTTPFields) {
        work?.exchange.trailers = trailers
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        if let step = exchangeEnded(result) { engine.jobsCameOn(CollectionOfOne(step)) }
    }

    static func didEnd(_ endings: [TransportEnding]) {
        var steps: [JobStep] = []
        steps.reserveCapacity(endings.count)
        for ending in endings {
            // `tell` gives a type its own receivers alone, and this one is final.
            let job = unsafe unsafeDowncast(ending.receiver, to: FetchJob.self)
            if let last = steps.last, last.job.engine !== job.engine {
                last.job.engine.jobsCameOn(steps)
                steps.removeAll(keepingCapacity: true)
            }
            if let step = job.exchangeEnded(ending.result) { steps.append(step) }
        }
        if let last = steps.last { last.job.engine.jobsCameOn(steps) }
    }

    // MARK: Deciding

    /// What an answer means that says to ask again with better proof.
    private func again(on head: ResponseHead, work: Work) -> Verdict? {
        guard head.status == 401, head.version != .none, engine.hooks.willSend != nil, !work.attempts.hasAskedAgain
        else { return nil }
        return .again(head)
    }

    /// What an answer means that says to ask elsewhere.
    func follow(_ head: ResponseHead, _ work: Work) -> Verdict? {
        guard (300..<400).contains(head.status), head.version != .none, plan.request.followsRedirects else {
            return nil
        }
        let policy = RedirectPolicy(maximumRedirects: plan.request.limits.maximumRedirects)
        switch policy.decide(work.redirected ?? plan.firstExchange(), head: head) {
        case .follow(let next): return .redirect(next)
        case .refuse(let error): return .failure(error)
        case .none: return nil
        }
    }

    /// What a status means that says that the body is not what was asked for.
    func failure(on head: ResponseHead) -> Verdict? {
        guard head.version != .none, head.status != 200, plan.goal != .response else { return nil }
        return StatusPolicy.error(for: head, request: plan.request, now: engine.wallTime).map { .failure($0) }
    }

    /// Tasks that share this fetch, but differ in a field that the answer varies by, fetch for themselves (RFC 9110
    /// section 12.5.5).
    func respectVary(_ head: ResponseHead) {
        let concerned = head.namesVaried(among: engine.harmlessFields).subtracting(plan.varying)
        if !concerned.isEmpty { engine.answerVaries(id, of: plan, by: concerned) }
    }

    /// Looks whether enough has come to tell what picture it is, or why that cannot be told.
    func probe(_ work: Work) -> Bool {
        guard work.response.body.count >= work.response.neededBytes else { return false }
        work.exchange.verdict = info(work) { () throws(LoadError) in
            switch try engine.codecs.probe(work.response.body.copy(), isComplete: false) {
            case .info(let info): return info
            case .needsMoreBytes(let count):
                work.response.neededBytes = count
                return nil
            }
        }
        return work.exchange.verdict != nil
    }

    /// What picture the whole body is, or why that cannot be told.
    func probeWhole(_ work: Work) {
        work.exchange.verdict = info(work) { () throws(LoadError) in
            try engine.codecs.info(of: work.response.body.copy())
        }
    }

    private func info(_ work: Work, _ read: () throws(LoadError) -> ImageInfo?) -> Verdict? {
        do throws(LoadError) {
            return try read().map { .info($0) }
        } catch {
            return .failure(error.naming(contentType: work.response.head?.fields["content-type"]))
        }
    }

    /// Forgets the exchange that has ended, and what came of it: another follows.
    func beginAnew(_ work: Work) {
        work.exchange = Exchange()
        work.forgetBody()
        endBody(work)
        engine.forgetProgress(self)
    }

    func redirect(_ work: Work, to next: RedirectPolicy.Exchange) -> JobStep {
        beginAnew(work)
        work.redirected = next
        work.attempts = Attempts()
        work.isLookedUp = false
        work.cache = makeCacheTransaction(work)
        tell(.redirected(to: next.url.string))
        engine.log(.debug, "redirected") { [("url", plan.url.string), ("to", next.url.string)] }
        return waitForTurn(work, in: work.cache.map { looksUp($0) } ?? false ? .store : .fetch, ahead: true)
    }

    /// When its whole time is up.
    private func deadline(_ work: Work) -> MonotonicTime? {
        plan.request.limits.totalTimeout.map { work.startedAt + $0 }
    }

    /// The job gives its place back and goes on when its turn comes.
    func waitForTurn(
        _ work: Work, in lane: Engine.Machine.LaneName, ahead: Bool, hasStandIn: Bool = false
    ) -> JobStep {
        let deadline = deadline(work)
        if let deadline, engine.clock.now() >= deadline { return ending(.failure(timedOut())) }
        stripe.lock.withLock { work.machine.waits(for: .turn(deadline: deadline)) }
        let group = lane == .store ? OriginKey.none : currentURL(work).originKey
        return JobStep(job: self, event: .moved(lane, group, ahead: ahead, hasStandIn: hasStandIn))
    }

    /// The job is over before any exchange was.
    ///
    /// - Parameter ofStored: whether what is stored turned out to be of no use.
    func finish(_ value: JobResult.Value, ofStored: Bool = false) {
        engine.jobsCameOn(CollectionOfOne(ending(value, ofStored: ofStored)))
    }

    /// Ends a job that was cancelled while it waited for something.
    ///
    /// - Returns: whether it was.
    func endsAsCancelled(_ work: Work) -> Bool {
        guard stripe.lock.withLock({ work.machine.isCancelled }) else { return false }
        finish(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        return true
    }

    func ending(_ value: JobResult.Value, ofStored: Bool = false) -> JobStep {
        let isFollowed = work?.isFollowed ?? false
        let grants = letGo()
        if case .failure(let error) = value {
            result = JobResult(.failure(error.about(url: plan.url.string)), isOfStored: ofStored)
        } else {
            result = JobResult(value, isFollowed: isFollowed)
        }
        return JobStep(ended: self, grants: grants)
    }

    func remoteInfo(_ info: ImageInfo, _ work: Work) -> RemoteImageInfo {
        RemoteImageInfo(
            info: info, url: currentURL(work).string,
            contentLength: work.response.head?.fields["content-encoding"] == nil ? work.response.expectedBytes : nil,
            readBytes: Int64(work.response.body.count), source: source(plan.url))
    }

    func source(_ url: ResourceURL) -> LoadSource {
        switch url.scheme {
        case "file": .file
        case "data": .data
        default: .network
        }
    }

    func timedOut() -> LoadError {
        LoadError(
            .timedOut, stage: .fetch, url: plan.url.string,
            message: "The request timed out after \(plan.request.limits.totalTimeout.text). "
                + "Allow more time, or try again later.")
    }
}
