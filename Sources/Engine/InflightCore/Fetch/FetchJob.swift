import InflightConcurrency
internal import Synchronization

/// Fetches the bytes of one URL and follows redirects, with one exchange at a time on the transport.
// Unchecked: `early`, `work`, and in it the machine, `bodyID` and `previews` are accessed only while the job's stripe
// of locks is held. The rest of `work` is accessed by the steps of the fetch, of which the machine allows one at a
// time: callbacks of the transport and of the store, the return of a hook, and a turn.
final class FetchJob: EngineJob, TransportReceiver, @unchecked Sendable {
    /// The maximum number of unneeded body bytes to receive so that the connection can be reused.
    private static let drainedBytes: Int64 = 64 * 1024

    // Indirect, because a verdict is rare, but its storage is moved with every exchange.
    indirect enum Verdict {
        /// Call `willSend` for other credentials, then send the request again.
        case again(ResponseHead)
        case redirect(RedirectPolicy.Exchange)
        case failure(LoadError)
        case info(ImageInfo)
        /// Serve a stored response.
        case stored(ServedResponse, LoadSource)
        /// The origin has confirmed the response that processed images were made from.
        case confirmed
        /// The first part of the body was already complete.
        case complete(StoredResponse)
        /// The body is complete, although the transport waits for more bytes.
        case decoded
        /// Send the request again, with these changes.
        case exchangeAgain(CacheExchange)
    }

    let stage: FetchStage
    let plan: RequestPlan
    let stripe: LockStripes.Stripe
    /// The progress last reported to subscribers. Guarded by the scheduler's lock.
    var progress: ImageTask.Progress?
    /// Whether a task that observes progress or previews has joined since the last report.
    let hasNewObserver = Atomic(false)
    /// The inputs that arrived before there was any `work`.
    private var early = Machine.EarlyInputs()
    var work: Work?

    init(stage: FetchStage, id: ID, plan: RequestPlan) {
        self.stage = stage
        self.plan = plan
        // The stripe is that of an object that lives as long as the job, because `self` is not initialized yet.
        stripe = LockStripes.stripe(for: plan)
        super.init(id: id)
    }

    override var scheduler: Scheduler { stage.scheduler }
    var clock: any EngineClock { stage.scheduler.clock }

    /// Returns the URL of the current request.
    func currentURL(_ work: Work) -> ResourceURL {
        work.redirected?.url ?? plan.url
    }

    override var logFields: [(name: String, value: String)] { [("job", "fetch"), ("url", plan.url.string)] }

    // MARK: Calls from the scheduler

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        let now = clock.now()
        let (work, isTooLate) = stripe.lock.withLock {
            let work = self.work ?? Work(startedAt: now, early)
            self.work = work
            work.machine.started()
            return (work, work.machine.isCancelled)
        }
        // The total time does not include waits.
        if let since = work.waitsSince.take() { work.startedAt = work.startedAt + (now - since) }
        if isTooLate {
            scheduler.jobEndedWithoutWork(self)
            return ending(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        }
        if let refusal = result?.error { return serveStaleResponse(work, instead: refusal) }
        guard let limits = limits(work) else {
            scheduler.jobEndedWithoutWork(self)
            return ending(.failure(timedOut()))
        }
        if work.cache == nil { work.cache = makeCacheTransaction(work) }
        if !work.isLookedUp, let cache = work.cache, looksUp(cache) {
            lookUp(work, cache)
            return nil
        }
        return send(work, limits: limits, priority: priority, reason: .first)
    }

    /// Passes the job's current priority to the transfer, and to the body, which may be paused.
    override func reprioritize() {
        passPriorityOn { priority in
            let (transfer, body) = stripe.lock.withLock {
                if work == nil { early.hasMissedPriority = true }
                return (work?.machine.priorityChanged(), work?.bodyID)
            }
            if let body { stage.bodies.withLock { $0.priorityChanged(body, to: priority) } }
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

    override func didSuspend() {
        guard let time = stripe.lock.withLock({ work?.machine.wakeTime }) else { return }
        let timer = clock.schedule(at: time) { [self] in wake() }
        // Another thread may have woken or ended the job meanwhile.
        let useless: (any ScheduledWork)? = stripe.lock.withLock {
            guard let work else { return timer }
            return work.machine.timerSet(timer)
        }
        useless?.cancel()
    }

    /// Queues the job, which may start at once.
    private func wake() {
        stripe.lock.withLock { work?.machine.woke() }
        scheduler.jobAdvanced(JobStep(job: self, event: .woke))
    }

    override func refuse(_ error: LoadError) {
        result = JobResult(.failure(error.about(url: plan.url.string)))
    }

    override func discard() {
        Self.resume(releaseWork())
    }

    /// Releases everything that an ended job holds.
    ///
    /// - Returns: the paused transfers that fit into the budget now.
    private func releaseWork() -> [BodyBudget<Paused>.Grant] {
        let (work, timer, body) = stripe.lock.withLock {
            let work = self.work.take()
            return (work, work?.machine.finished(), work?.bodyID)
        }
        timer?.cancel()
        work?.previews?.end()
        let grants = body.map { id in stage.bodies.withLock { $0.ended(id) } } ?? []
        // Released here, with no lock held, because releasing a hook's captures may run code of the caller.
        withExtendedLifetime(work) {}
        return grants
    }

    // MARK: Calls from the transport

    func didReceive(interim head: ResponseHead) {
        guard let work else { return }
        work.exchange.interimHeads.append(head)
        scheduler.originAnswered(self, at: currentURL(work))
    }

    func didReceive(_ timings: TransportTimings) {
        if let work { tell(timings, work) }
    }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        guard let work else { return .cancel }
        if head.version != .none { scheduler.originAnswered(self, at: currentURL(work)) }
        if head.version.isMultiplexed { scheduler.originMultiplexes(currentURL(work)) }
        tell(.responded(status: head.status))
        work.exchange.head = head
        work.exchange.responseTime = clock.wallTime
        noteInvalidation(by: head, work)
        work.response.continuation = nil
        work.exchange.verdict = again(on: head, work: work)
        let head = work.exchange.verdict == nil ? judge(head, work) : head
        if work.response.continuation != nil {
            // The head was checked when the first part of the body arrived.
            work.response.head = head
            return .proceed
        }
        if work.exchange.verdict == nil { work.exchange.verdict = follow(head, work) }
        if work.exchange.verdict == nil {
            if let didReceive = stage.didReceive, head.version != .none {
                askAbout(head, expectedBytes, work, didReceive)
                return .pause
            }
            beginBody(work, head, expectedBytes, .byStatus)
            if work.exchange.verdict == nil { return .proceed }
        }
        // Receiving a short body that is not needed costs less than a new connection.
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
        if let verdict = unsafe take(bytes, work) { work.exchange.verdict = verdict }
        noteRate(bytes.count, work)
        return didTakePiece(work)
    }

    func preview(_ work: Work, _ options: ImageRequest.PreviewOptions) {
        if work.previews == nil {
            let previews = PreviewProducer(stage: stage.decoding, job: id, options)
            stripe.lock.withLock {
                if !work.machine.isCancelled { work.previews = previews }
            }
        }
        work.previews?.bytesReceived(&work.response.body)
    }

    func didReceive(trailers: HTTPFields) {
        work?.exchange.trailers = trailers
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        if let step = exchangeEnded(result) { scheduler.jobAdvanced(step) }
    }

    static func didEnd(_ endings: [TransportEnding]) {
        var steps: [JobStep] = []
        steps.reserveCapacity(endings.count)
        for ending in endings {
            // `tell` passes to a type only its own receivers, and this class is final.
            let job = unsafe unsafeDowncast(ending.receiver, to: FetchJob.self)
            if let last = steps.last, last.job.scheduler !== job.scheduler {
                last.job.scheduler.jobsAdvanced(steps)
                steps.removeAll(keepingCapacity: true)
            }
            if let step = job.exchangeEnded(ending.result) { steps.append(step) }
        }
        if let last = steps.last { last.job.scheduler.jobsAdvanced(steps) }
    }

    // MARK: Deciding

    /// Returns the verdict on a response that requires other credentials.
    private func again(on head: ResponseHead, work: Work) -> Verdict? {
        guard head.status == 401, head.version != .none, stage.willSend != nil, !work.attempts.hasReauthenticated
        else { return nil }
        return .again(head)
    }

    /// Returns the verdict on a redirect; `nil` if the response is not one.
    func follow(_ head: ResponseHead, _ work: Work) -> Verdict? {
        guard (300..<400).contains(head.status), head.version != .none, plan.request.followsRedirects else {
            return nil
        }
        let exchange = work.redirected ?? plan.firstExchange()
        let transport = stage.transports[exchange.url.scheme]
        let policy = RedirectPolicy(
            maximumRedirects: plan.request.limits.maximumRedirects, now: clock.wallTime,
            isPublicSuffix: { transport?.isPublicSuffix($0) ?? nil })
        switch policy.decide(exchange, head: head) {
        case .follow(let next):
            return .redirect(next)
        case .refuse(let error):
            // A stored redirect that leads nowhere would fail later loads without a request.
            work.cache?.changes.bodyStorage = .nothing
            return .failure(error)
        case .none: return nil
        }
    }

    /// Returns the failure, if the status means that the body is not the requested resource.
    func failure(on head: ResponseHead) -> Verdict? {
        guard head.version != .none, head.status != 200, plan.goal != .response else { return nil }
        return StatusPolicy.error(for: head, request: plan.request, now: clock.wallTime).map { .failure($0) }
    }

    /// Separates tasks that share this fetch but differ in a header field by which the response varies. They fetch on
    /// their own (RFC 9110 section 12.5.5).
    func respectVary(_ head: ResponseHead) {
        let concerned = head.namesVaried(among: stage.fieldsExcludedFromKey).subtracting(plan.varying)
        if concerned.isEmpty { return }
        // Close the job, because each new subscriber would have to be compared too. New subscribers fetch for
        // themselves.
        let tasks = scheduler.close(id)
        tasks.first?.task.driver.separate(tasks, from: plan, by: concerned)
    }

    /// Returns whether the received bytes suffice to read the image's header, or to know why it cannot be read.
    func probe(_ work: Work) -> Bool {
        guard work.response.body.count >= work.response.neededBytes else { return false }
        work.exchange.verdict = info(work) { () throws(LoadError) in
            switch try stage.codecs.probe(work.response.body.copy(), isComplete: false) {
            case .info(let info): return info
            case .needsMoreBytes(let count):
                work.response.neededBytes = count
                return nil
            }
        }
        return work.exchange.verdict != nil
    }

    /// Reads the image's header from the complete body, or determines why it cannot be read.
    func probeWhole(_ work: Work) {
        work.exchange.verdict = info(work) { () throws(LoadError) in
            try stage.codecs.info(of: work.response.body.copy())
        }
    }

    private func info(_ work: Work, _ read: () throws(LoadError) -> ImageInfo?) -> Verdict? {
        do throws(LoadError) {
            return try read().map { .info($0) }
        } catch {
            return .failure(error.naming(work.response.head))
        }
    }

    /// Discards the ended exchange and its body before another exchange.
    func startOver(_ work: Work) {
        work.exchange = Exchange()
        work.forgetBody()
        endBody(work)
        scheduler.clearProgress(self)
    }

    func redirect(_ work: Work, to next: RedirectPolicy.Exchange) -> JobStep {
        // Without its cookie, a stored redirect leads to another response.
        work.redirectEntries.append(work.cache?.entry)
        for number in Set(next.cookies.map(\.response)) { stage.storage.reject(work.redirectEntries[number]) }
        startOver(work)
        work.redirected = next
        work.attempts = Attempts()
        work.isLookedUp = false
        work.cache = makeCacheTransaction(work)
        tell(.redirected(to: next.url.string))
        scheduler.log(.debug, "redirected") { [("url", plan.url.string), ("to", next.url.string)] }
        return waitForTurn(work, in: work.cache.map { looksUp($0) } ?? false ? .store : .fetch, ahead: true)
    }

    /// Gives the job's slot back, and queues the job in a lane.
    func waitForTurn(
        _ work: Work, in lane: Scheduler.Machine.LaneName, ahead: Bool, hasStaleResponse: Bool = false
    ) -> JobStep {
        guard limits(work) != nil else { return ending(.failure(timedOut())) }
        work.waitsSince = clock.now()
        stripe.lock.withLock { work.machine.waits(for: .turn) }
        let group = lane == .store ? OriginKey.none : currentURL(work).originKey
        return JobStep(job: self, event: .moved(lane, group, ahead: ahead, hasStaleResponse: hasStaleResponse))
    }

    /// Ends the job.
    ///
    /// - Parameter fromStore: whether the stored response turned out to be unusable.
    func finish(_ value: JobResult.Value, fromStore: Bool = false) {
        scheduler.jobAdvanced(ending(value, fromStore: fromStore))
    }

    /// Ends a job that was cancelled while it waited for an event.
    ///
    /// - Returns: whether it was.
    func endsAsCancelled(_ work: Work) -> Bool {
        guard stripe.lock.withLock({ work.machine.isCancelled }) else { return false }
        finish(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        return true
    }

    func ending(_ value: JobResult.Value, fromStore: Bool = false) -> JobStep {
        let isFollowed = work?.isFollowed ?? false
        let lastProgress = work?.unreported
        let grants = releaseWork()
        if case .failure(let error) = value {
            result = JobResult(.failure(error.about(url: plan.url.string)), isFromStore: fromStore)
        } else {
            result = JobResult(value, isFollowed: isFollowed)
        }
        return JobStep(ended: self, grants: grants, lastProgress: lastProgress)
    }

    func remoteInfo(_ info: ImageInfo, _ work: Work) -> RemoteImageInfo {
        // Without codings of its own, the pipeline does not know whether the transport decodes the body.
        let isCoded =
            work.response.coded != nil
            || stage.codings.accepted == nil && work.response.head?.fields["content-encoding"] != nil
        return RemoteImageInfo(
            info: info, url: currentURL(work).string, contentLength: isCoded ? nil : work.response.expectedBytes,
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
                + "Raise totalTimeout, or try again later.")
    }
}
