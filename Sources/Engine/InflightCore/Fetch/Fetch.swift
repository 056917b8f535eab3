import InflightConcurrency
internal import Synchronization

/// The job of a fetch, as the graph of jobs sees it. A ``Fetch`` exists from its first start to its end.
// Unchecked: `fetch` and `early` are accessed only while the job's stripe of locks is held.
final class FetchJob: Job, @unchecked Sendable {
    private(set) var fetch: Fetch?
    /// Guarded by the engine's lock.
    var totalTimes: TotalTimes?
    /// Whether a task that observes progress or previews has joined since the last report.
    let hasNewObserver = Atomic(false)
    /// Whether the tasks' limits differ, besides their total times, or have differed. If not, they are the request's.
    let hasMixedLimits = Atomic(false)
    /// Whether a task besides the first may have a total time.
    let hasTimedTasks = Atomic(false)
    /// What arrived before the first start.
    private var early = EarlyInput.none
    /// The number of redirects behind the result.
    var followedRedirects: Int32 = 0

    private enum EarlyInput {
        case none, priority, cancel
    }

    var stripe: LockStripes.Stripe { LockStripes.stripe(for: self) }

    override var logFields: [(name: String, value: String)] { [("job", "fetch"), ("url", plan.url.string)] }

    override var mayExceedLimits: Bool { hasMixedLimits.load(ordering: .relaxed) }
    override func excess(of limits: ImageRequest.Limits) -> LoadError? { excess(in: result?.value, of: limits) }

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        let now = engine.clock.now()
        let (fetch, isCancelled) = stripe.lock.withLock {
            let fetch =
                self.fetch
                ?? Fetch(
                    self, startedAt: now,
                    FetchState(isCancelled: early == .cancel, hasMissedPriority: early == .priority))
            self.fetch = fetch
            fetch.state.started()
            fetch.active.slotTaken(at: now)
            return (fetch, fetch.state.isCancelled)
        }
        return fetch.start(at: now, priority: priority, isCancelled: isCancelled)
    }

    /// Passes the job's current priority to the transfer, and to the body, which may be paused.
    override func reprioritize() {
        passPriorityOn { priority in
            let (transfer, body) = stripe.lock.withLock {
                if fetch == nil, early == .none { early = .priority }
                return (fetch?.state.priorityChanged(), fetch?.bodyID)
            }
            if let body { engine.bodies.withLock { $0.priorityChanged(body, to: priority) } }
            transfer?.setPriority(priority)
        }
    }

    override func cancel() {
        let ((transfer, call), previews) = stripe.lock.withLock {
            early = .cancel
            return (fetch?.state.cancelled() ?? (nil, nil), fetch?.previews)
        }
        previews?.end()
        call?.cancel()
        transfer?.cancel()
    }

    override func didSuspend() {
        stripe.lock.withLock { fetch }?.scheduleWake()
    }

    override func refuse(_ error: LoadError) {
        result = JobResult(.failure(error.about(url: plan.url.string)))
    }

    override func discard() {
        guard let fetch = stripe.lock.withLock({ fetch }) else { return }
        BodyBudget.resume(fetch.release())
    }

    /// Releases the fetch. Called with the stripe's lock held.
    fileprivate func forgetFetch() { fetch = nil }
}

/// Fetches the bytes of one URL and follows redirects, with one exchange at a time on the transport.
///
/// This file tells a fetch from its start to its end. ``FetchState`` says which step may follow which; the body's bytes
/// are in `Fetch+Body.swift`, and everything about stored responses in `Fetch+Cache.swift`.
// Unchecked: `state` is accessed only while the job's stripe of locks is held. The rest is accessed by the steps of the
// fetch, of which `state` allows one at a time: callbacks of the transport and of the store, the return of a hook, and
// a turn of the `BodyProcessingQueue`. `bodyID` and `previews` are also read by the job, so that steps write them with
// the lock held.
final class Fetch: TransportReceiver, @unchecked Sendable {
    /// The maximum number of unneeded body bytes to receive so that the connection can be reused.
    static let drainedBytes: Int64 = 64 * 1024

    /// A decision that makes the rest of a response irrelevant.
    // Indirect, because a verdict is rare, but its storage is moved with every exchange.
    indirect enum Verdict {
        /// Call `willSend` for other credentials, then send the request again.
        case reauthenticate(ResponseHead)
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
        case resend(CacheExchange)
    }

    /// The current exchange. ``FetchState`` tracks how far it is.
    struct Exchange {
        /// The time at which the request was sent, and the wall-clock times of the request and of the response's head.
        var sentAt = MonotonicTime.zero
        var requestTime = WallTime(milliseconds: 0)
        var responseTime = WallTime(milliseconds: 0)
        /// The header fields sent, if `willSend` may have changed them.
        var sentFields = HTTPFields()
        /// The URL sent to, if `willSend` has changed it.
        var sentURL: ResourceURL?
        /// The interim responses. The transport bounds their number.
        var interimHeads: [ResponseHead] = []
        /// The head of the final response, even if its body is not used.
        var head: ResponseHead?
        var trailers = HTTPFields()
        /// The number of body bytes received.
        var receivedBytes: Int64 = 0
        /// The number of body bytes reported to observers.
        var reportedBytes: Int64 = 0
        /// Whether the exchange's rate is measured.
        var isWatched = false
        /// The decision that makes the rest of the response irrelevant.
        var verdict: Verdict?
        /// The number of the body's bytes, if no task allowed so many.
        var exceedingBytes: Int64?
    }

    /// The response whose body is received, by one exchange or by several that resume it.
    struct ReceivedResponse {
        var head: ResponseHead?
        /// The decoder of the body's content coding, if it has one.
        var coded: CodedBody?
        /// The number of bytes received, before content decoding.
        var rawBytes: Int64 = 0
        var expectedBytes: Int64?
        /// The number of bytes needed before the image's header can be parsed.
        var neededBytes = 0
        /// The partial response that resumes the body, if the body is resumed.
        var continuation: IncomingResponse?
        /// The stored entry of the first part, if it came from the store. The complete body replaces it.
        var storedPart: StoredEntry.ID?
        /// The folder of the body's file, if only downloads to files wait for it.
        var downloadFolder: String?
    }

    let job: FetchJob
    let stripe: LockStripes.Stripe
    var state: FetchState
    /// Guarded by the job's stripe of locks, too.
    var active: ActiveTime
    /// Whether the fetch has released what it held. A transport that breaks its contract may still call.
    var hasEnded = false
    /// The request of the last redirect; `nil` before the first.
    var redirected: RedirectPolicy.Exchange?
    /// The stored entry of each followed redirect, if it has one. A redirect whose cookie the load sends is not
    /// stored, because a later load would follow it without the cookie.
    var redirectEntries: [StoredEntryReference?] = []
    /// The time at which the first of the followed redirects becomes stale.
    var redirectExpiry: WallTime?
    /// Whether a request after a redirect has sent cookies of the pipeline that the keys do not contain.
    var hasSentOtherCookies = false
    /// The transaction with the store; `nil` without a store, and before the first lookup.
    var cache: CacheTransaction?
    /// Whether the store was looked up for the current URL.
    var isLookedUp = false
    /// Whether the response is stored and stale.
    var isStale = false
    /// Whether its revalidation is already in flight.
    var isBeingRevalidated = false
    /// The error because of which a stored response is served instead of sending the request.
    var refusal: LoadError?
    /// The range request that is to resume a body.
    var resumption: Resumption?
    var attempts = Attempts()
    /// The number of requests sent.
    var sentExchanges = 0
    var exchange = Exchange()
    var response = ReceivedResponse()
    /// The body of ``response`` as far as it was received, decoded.
    let bodyBuffer = BodyBuffer()
    /// The body's ID in the budget of bodies in flight, once it holds bytes.
    var bodyID: BodyBudget.ID?
    /// The progress last reported to subscribers. Guarded by the engine's lock.
    var progress: ImageTask.Progress?
    /// Makes previews, if a subscriber requests them.
    var previews: PreviewProducer?
    /// The options of the previews that subscribers requested when progress was last reported.
    var previewOptions: ImageRequest.PreviewOptions?
    /// The time of the last report of progress to subscribers; `nil` if the body has none.
    var reportedAt: MonotonicTime?
    /// Progress since then.
    var unreported: ImageTask.Progress?

    init(_ job: FetchJob, startedAt: MonotonicTime, _ state: consuming FetchState) {
        self.job = job
        stripe = job.stripe
        active = ActiveTime(since: startedAt)
        self.state = state
    }

    var engine: Engine { job.engine }
    var plan: RequestPlan { job.plan }
    var id: Job.ID { job.id }
    var codecs: CodecRegistry { job.codecs }
    var clock: any EngineClock { job.engine.clock }

    /// The URL of the current request.
    var currentURL: ResourceURL { redirected?.url ?? plan.url }
    /// Whether the body is in the file of a download. It is not stored.
    var isBodyInFile: Bool { response.downloadFolder != nil && bodyBuffer.hasSpilled }

    // MARK: Start

    /// The job has a slot.
    func start(at now: MonotonicTime, priority: ImageRequest.Priority, isCancelled: Bool) -> JobStep? {
        if isCancelled {
            engine.jobEndedWithoutWork(job)
            return end(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        }
        if let refusal = job.result?.error { return serveStaleResponse(instead: refusal) }
        guard !isOutOfTime else {
            engine.jobEndedWithoutWork(job)
            return end(.failure(timedOut()))
        }
        checkTimeLater()
        if cache == nil { cache = makeCacheTransaction() }
        if !isLookedUp, let cache, looksUp(cache) {
            lookUp(cache)
            return nil
        }
        return send(priority: priority, reason: .first)
    }

    /// Gives the job's slot back, and queues the job in a lane.
    func waitForTurn(
        in lane: JobGraph.LaneName, ahead: Bool, hasStaleResponse: Bool = false
    ) -> JobStep {
        if isOutOfTime { return end(.failure(timedOut())) }
        startWaiting(for: .slot, at: clock.now())
        return JobStep(
            job: job,
            event: .moved(lane, currentURL.originKey, ahead: ahead, hasStaleResponse: hasStaleResponse))
    }

    // MARK: Send

    /// Sends the current request, after `willSend` has changed it.
    ///
    /// - Returns: the end of the fetch if nothing can be sent.
    func send(
        priority: ImageRequest.Priority, reason: ImagePipeline.OutgoingRequest.Reason
    ) -> JobStep? {
        var request = plan.outgoing(
            after: redirected, defaultFields: engine.defaultFields, limits: transportLimits, priority: priority)
        if attempts.failed == 0, sentExchanges == 0, request.url.origin != nil,
            let error = engine.retries.firstAttempt(at: request.url, policy: plan.request.cachePolicy)
        {
            return end(.failure(error))
        }
        guard let willSend = engine.willSend, request.url.origin != nil else { return send(&request) }
        callWillSend(request, reason, willSend)
        return nil
    }

    /// Calls `willSend` to change a request, then sends the request.
    private func callWillSend(
        _ request: TransportRequest, _ reason: ImagePipeline.OutgoingRequest.Reason,
        _ willSend: @escaping @Sendable (inout ImagePipeline.OutgoingRequest) async throws -> Void
    ) {
        let outgoing = ImagePipeline.OutgoingRequest(request, reason: reason, userInfo: plan.request.userInfo)
        callHook {
            var changed = outgoing
            try await willSend(&changed)
            return changed
        } then: { [self] result in
            let wasTooLate = stripe.lock.withLock { state.hookReturned() }
            if endsAsCancelled() { return }
            // The hook used some of the total time.
            if isOutOfTime { return finish(.failure(timedOut())) }
            // A task has joined since the time was over for the others.
            if wasTooLate { return resend(reason: reason) }
            switch result {
            case .success(let changed):
                var request = request
                request.fields = changed.fields
                if changed.url != request.url {
                    guard changed.url.origin == request.url.origin else { return finish(.failure(sentElsewhere())) }
                    request.url = changed.url
                    exchange.sentURL = changed.url
                }
                // Subscribers may have joined or left meanwhile or, after a 401, since the first request.
                request.limits = transportLimits
                request.priority = engine.priority(of: id) ?? request.priority
                exchange.sentFields = changed.fields
                if let step = send(&request) { engine.advance(step) }
            case .failure(let error):
                finish(.failure(.thrown(error, by: "hook willSend", url: plan.url.string, stage: .request)))
            }
        }
    }

    private func sentElsewhere() -> LoadError {
        LoadError(
            .invalidRequest, stage: .request, url: currentURL.string,
            message: "The hook willSend changed the URL to another origin. Change only its path and its query.")
    }

    /// Returns the error, naming the URL before `willSend` has changed it.
    private func unsigned(_ error: LoadError) -> LoadError {
        guard let sent = exchange.sentURL, error.url == sent.string else { return error }
        return LoadError(
            error.code, stage: error.stage, url: currentURL.string, message: error.message, status: error.status,
            underlying: error.underlying)
    }

    /// Sends a request, with the header fields that the store or the resumed body requires.
    ///
    /// - Returns: the end of the fetch if nothing can be sent.
    func send(_ request: inout TransportRequest) -> JobStep? {
        guard let transport = engine.transports[request.url.scheme] else {
            return end(.failure(engine.transports.unsupported(request.url)))
        }
        engine.log(.debug, "exchange started") {
            [("method", request.method), ("url", currentURL.string), ("exchange", "\(sentExchanges)")]
        }
        let number = sentExchanges
        sentExchanges += 1
        stripe.lock.withLock { state.sent(number: number) }
        request.needsNewConnection = attempts.isRepeatOfLoss
        exchange.requestTime = clock.wallTime
        if let cache {
            cache.requestTime = exchange.requestTime
            if resumption == nil { request.fields = cache.exchange.fields(from: request.fields) }
        }
        if let resumption { request.fields = resumption.fields(from: request.fields) }
        if engine.telemetry != nil || engine.hasCircuitBreaker { exchange.sentAt = clock.now() }
        if engine.telemetry != nil {
            request.wantsTimings = true
            emit(
                .sent(method: request.method, url: currentURL.string, resumesAt: resumption?.offset ?? 0))
        }
        let transfer = transport.start(request, receiver: self)
        let next = stripe.lock.withLock { state.transferKnown(transfer, number: number) }
        if next.cancels { transfer.cancel() }
        if next.resumes { transfer.resume() }
        if next.passesPriority { job.reprioritize() }
        if next.passesLimits { job.limitsChanged() }
        return nil
    }

    /// Sends the request again, with other header fields for the cache.
    func resend(as exchange: CacheExchange) {
        startOver()
        cache?.exchange = exchange
        emit(.resent(why: "The stored response cannot be used."))
        engine.log(.debug, "request sent again with other header fields") { [("url", currentURL.string)] }
        resend(reason: .first)
    }

    /// Sends the current request again in the same slot, so that no other fetch goes first.
    func resend(reason: ImagePipeline.OutgoingRequest.Reason) {
        if isOutOfTime { return finish(.failure(timedOut())) }
        if endsAsCancelled() { return }
        let priority = engine.priority(of: id) ?? plan.request.priority
        if let step = send(priority: priority, reason: reason) { engine.advance(step) }
    }

    /// Calls a hook off the transport's thread. If the fetch is cancelled meanwhile, or its total time is over, so is
    /// the hook; `body` runs only after the hook has returned.
    private func callHook<Output: Sendable>(
        _ question: @escaping @Sendable () async throws -> Output,
        then body: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        let call = ExtensionCall()
        let isTooLate = stripe.lock.withLock {
            state.hookCalled(call)
            return state.isCancelled
        }
        if isTooLate { call.cancel() }
        call.start(on: engine.taskExecutor, question, completion: body)
    }

    // MARK: Head

    func didReceive(interim head: ResponseHead) {
        guard !hasEnded else { return }
        // Not by `append`, which would make every access to `exchange` one that is checked at run time.
        exchange.interimHeads = exchange.interimHeads + [head]
        engine.originAnswered(job, at: currentURL)
    }

    func didReceive(_ timings: TransportTimings) {
        if !hasEnded { emit(timings) }
    }

    // The body's bytes are received in `Fetch+Body.swift`.

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        guard !hasEnded else { return .cancel }
        if head.version != .none { engine.originAnswered(job, at: currentURL) }
        if head.version.isMultiplexed { engine.originMultiplexes(currentURL) }
        emit(.responded(status: head.status))
        exchange.head = head
        exchange.responseTime = clock.wallTime
        noteInvalidation(by: head)
        storeCookies(of: head)
        response.continuation = nil
        exchange.verdict = reauthentication(on: head)
        let head = exchange.verdict == nil ? judge(head) : head
        if response.continuation != nil {
            // The head was checked when the first part of the body arrived.
            response.head = head
            return .proceed
        }
        if exchange.verdict == nil { exchange.verdict = redirect(in: head) }
        if exchange.verdict == nil {
            if let didReceive = engine.didReceive, head.version != .none {
                callDidReceive(head, expectedBytes, didReceive)
                return .pause
            }
            beginBody(head, expectedBytes, .byStatus)
            watchRateFromStart()
            if exchange.verdict == nil { return .proceed }
        }
        // Receiving a short body that is not needed costs less than a new connection.
        return (expectedBytes ?? 0) <= Self.drainedBytes ? .proceed : .cancel
    }

    /// Stores the cookies that a response sets, whatever its status, if the pipeline keeps any.
    private func storeCookies(of head: ResponseHead) {
        guard let cookies = engine.cookies, head.version != .none, head.fields.contains("set-cookie") else { return }
        let url = exchange.sentURL ?? currentURL
        let transport = engine.transports[url.scheme]
        cookies.store(head.fields, from: url, sentAfter: plan.cookies) { transport?.isPublicSuffix($0) ?? nil }
    }

    /// Returns the verdict on a response that requires other credentials.
    private func reauthentication(on head: ResponseHead) -> Verdict? {
        guard head.status == 401, head.version != .none, engine.willSend != nil, !attempts.hasReauthenticated
        else { return nil }
        return .reauthenticate(head)
    }

    /// Returns the verdict on a redirect; `nil` if the response is not one.
    func redirect(in head: ResponseHead) -> Verdict? {
        guard (300..<400).contains(head.status), head.version != .none, plan.request.followsRedirects else {
            return nil
        }
        var exchange = redirected ?? plan.firstExchange()
        if let sent = self.exchange.sentURL { exchange.url = sent }
        let transport = engine.transports[exchange.url.scheme]
        let policy = RedirectPolicy(
            now: clock.wallTime, isPublicSuffix: { transport?.isPublicSuffix($0) ?? nil },
            cookies: engine.cookies.map { store in { store.cookies(for: $0) } })
        switch policy.decide(exchange, head: head) {
        case .follow(let next): return .redirect(next)
        case .refuse(let error):
            // A stored redirect that leads nowhere would fail later loads without a request.
            cache?.changes.bodyStorage = .nothing
            return .failure(unsigned(error))
        case .none: return nil
        }
    }

    /// Returns the failure, if the status means that the body is not the requested resource.
    func failure(on head: ResponseHead) -> Verdict? {
        guard head.version != .none, head.status != 200, plan.goal != .response else { return nil }
        return StatusPolicy.error(for: head, request: plan.request, now: clock.wallTime).map { .failure($0) }
    }

    /// Calls `didReceive` with the head of a response, whose exchange is paused meanwhile.
    private func callDidReceive(
        _ head: ResponseHead, _ expectedBytes: Int64?,
        _ didReceive: @escaping @Sendable (ImagePipeline.ReceivedHead) async throws -> ImagePipeline.HeadDecision
    ) {
        let received = ImagePipeline.ReceivedHead(
            url: currentURL, head: head, expectedBytes: expectedBytes, userInfo: plan.request.userInfo)
        callHook {
            try await didReceive(received)
        } then: { [self] result in
            // Synchronizes with the thread that started and paused the exchange, too.
            let wasTooLate = stripe.lock.withLock { state.isOutOfTime }
            switch result {
            case .success(let decision):
                beginBody(head, expectedBytes, decision)
                watchRateFromStart()
            // The end of the exchange tells that the time was over.
            case .failure(let error) where wasTooLate && error is CancellationError: break
            case .failure(let error):
                exchange.verdict = .failure(
                    .thrown(error, by: "hook didReceive", url: plan.url.string, stage: .fetch))
            }
            continueExchange(isWanted: true)
        }
    }

    /// Applies the decision about a response's head, which is now known.
    func beginBody(_ head: ResponseHead, _ expectedBytes: Int64?, _ decision: ImagePipeline.HeadDecision) {
        var head = head
        switch decision {
        case .byStatus: exchange.verdict = failure(on: head)
        case .accept: break
        case .rewrite(let other):
            // A stored response is served without calling the hook, so the rewritten one is not stored.
            cache?.changes.bodyStorage = .nothing
            head = other
            exchange.verdict = failure(on: head)
        case .refuse(let why):
            cache?.changes.bodyStorage = .nothing
            exchange.verdict = .failure(LoadError(.refused, stage: .fetch, message: why, status: head.status))
        }
        guard exchange.verdict == nil else { return }
        if !engine.fieldsExcludedFromKey.isEmpty { respectVary(head) }
        response.head = head
        response.expectedBytes = expectedBytes
        response.downloadFolder = downloadFolder
        exchange.verdict =
            expectedBytes.flatMap { excess($0) }.map { .failure($0) }
            ?? undoCoding(of: head)
        if let expectedBytes, response.coded == nil { bodyBuffer.expect(expectedBytes) }
    }

    /// The folder for the body's file, if all tasks are downloads.
    private var downloadFolder: String? {
        guard let folder = plan.request.downloadFolder, !engine.anyTask(of: id, { $0.downloadFolder == nil }) else {
            return nil
        }
        return folder
    }

    /// Separates tasks that share this fetch but differ in a header field by which the response varies. They fetch on
    /// their own (RFC 9110 section 12.5.5).
    func respectVary(_ head: ResponseHead) {
        let concerned = head.namesVaried(among: engine.fieldsExcludedFromKey).subtracting(plan.varying)
        if concerned.isEmpty { return }
        // Close the job, because each new subscriber would have to be compared too. New subscribers fetch for
        // themselves.
        let tasks = engine.close(id)
        engine.splitByVary(tasks, from: plan, by: concerned)
    }

    /// Prepares the decoding of the content codings that the head names.
    ///
    /// - Returns: the failure, if the body cannot be decoded.
    func undoCoding(of head: ResponseHead) -> Verdict? {
        guard isCoded(head) else { return nil }
        switch engine.codings.decoderChain(for: head.fields) {
        case .plain: return nil
        case .coded(let decoders):
            response.coded = CodedBody(decoders, limit: transportLimits.maximumBodyBytes)
            return nil
        case .tooMany(let limit):
            return .failure(
                LoadError(
                    .badResponse, stage: .fetch,
                    message: "The body has more than \(limit) nested content codings. The server may be malicious. "
                        + "The response was discarded.", status: head.status))
        case .outOfMemory: return .failure(codingFailure(.outOfMemory))
        }
    }

    /// Returns whether the body of this response is decoded. A part of a body is not, because the content coding is
    /// that of the whole.
    func isCoded(_ head: ResponseHead) -> Bool {
        head.version != .none && !head.isPart && engine.codings.isCoded(head.fields)
    }

    // MARK: End

    func didReceive(trailers: HTTPFields) {
        exchange.trailers = trailers
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        if let step = exchangeEnded(result) { engine.advance(step) }
    }

    static func didEnd(_ endings: [TransportEnding]) {
        var steps: [JobStep] = []
        steps.reserveCapacity(endings.count)
        for ending in endings {
            // ``TransportEnding/deliver(_:)`` passes to a type only its own receivers, and this class is final.
            let fetch = unsafe unsafeDowncast(ending.receiver, to: Fetch.self)
            if let last = steps.last, last.job.engine !== fetch.engine {
                last.job.engine.advance(steps)
                steps.removeAll(keepingCapacity: true)
            }
            if let step = fetch.exchangeEnded(ending.result) { steps.append(step) }
        }
        if let last = steps.last { last.job.engine.advance(steps) }
    }

    /// An exchange has ended.
    func exchangeEnded(_ result: Result<TransportSummary, LoadError>) -> JobStep? {
        let ended = stripe.lock.withLock {
            let (ended, unpauses) = state.exchangeEnded(result, isCoded: response.coded != nil)
            if unpauses, let id = bodyID { engine.bodies.withLock { $0.unpause(id) } }
            return ended
        }
        switch ended {
        case .now(let wasWatched, let stop):
            if wasWatched, !job.isTimed { engine.checker.remove(self) }
            var result = result
            if stop == .tooSlow { result = .failure(tooSlow()) }
            if stop == .outOfTime { result = .failure(timedOut()) }
            if engine.telemetry != nil { reportEnd(result) }
            if suitsNewcomer(stop) {
                startOver()
                resumption = nil
                emit(.resent(why: "A task has joined whose limits allow more."))
                resend(reason: .first)
                return nil
            }
            return stepAfter(result)
        case .heldWhileSpilling(let number): schedule(number, spills: true)
        case .held, .nothing: break
        }
        return nil
    }

    /// Returns the job's step after the end of an exchange; `nil` if another call continues the job.
    private func stepAfter(_ result: Result<TransportSummary, LoadError>) -> JobStep? {
        let result = result.mapError { unsigned($0) }
        if case .failure(let error) = result, isConnectionFailure(error) {
            engine.connectionFailed(job, to: currentURL)
        }
        let isWhole = (try? result.get()) != nil
        switch (exchange.verdict, result) {
        case (.reauthenticate(let head), _):
            let sent = exchange.sentFields
            startOver()
            attempts.hasReauthenticated = true
            engine.log(.notice, "retrying with new credentials") { [("url", currentURL.string)] }
            emit(.resent(why: "The server requires other credentials: status \(head.status)."))
            resend(reason: .unauthorized(head, sent: sent))
            return nil
        case (.redirect(let next), _):
            let excess = excess(redirects: next.redirectCount)
            // A stored redirect that is not followed would fail later loads without a request.
            if excess != nil { cache?.changes.bodyStorage = .nothing }
            limitLifetime(by: exchange.head.map { received($0) })
            if let cache {
                cache.entry = StoredEntryReference(key: cache.key)
                if next.sendsCookies(of: next.redirectCount - 1) { cache.changes.dropBody() }
            }
            updateStore(isWhole: isWhole)
            return excess.map { failed($0, nil) } ?? redirect(to: next)
        case (.failure(let error), _):
            updateStore(isWhole: isWhole)
            return failed(error, error.code == .badStatus ? exchange.head : nil)
        case (.info(let info), _): return end(.info(remoteInfo(info)))
        case (.stored(let answer, let source), _):
            if source == .revalidated { emit(.revalidated) }
            guard case .revalidation = plan.purpose else {
                updateStore(isWhole: false)
                readAndServe(answer, from: source)
                return nil
            }
            updateStore(isWhole: false) { [self] in readAndServe(answer, from: source) }
            return nil
        case (.confirmed, _):
            emit(.revalidated)
            confirmImages()
            return nil
        case (.complete(let stored), _):
            response.head = stored.head
            return succeed(wireBytes: 0)
        case (.decoded, _):
            exchange.verdict = nil
            return succeed(wireBytes: response.rawBytes)
        case (.resend(let exchange), _):
            updateStore(isWhole: false)
            resend(as: exchange)
            return nil
        case (nil, .failure(let error)): return broke(error)
        case (nil, .success(let summary)): return succeed(wireBytes: summary.wireBytes)
        }
    }

    func redirect(to next: RedirectPolicy.Exchange) -> JobStep {
        // Without its cookie, a stored redirect leads to another response.
        redirectEntries.append(cache?.entry)
        for number in Set(next.cookies.compactMap(\.response)) { engine.storage.reject(redirectEntries[number]) }
        if plan.hasNoKey(for: next, fieldsExcludedFromKey: engine.fieldsExcludedFromKey) { hasSentOtherCookies = true }
        startOver()
        redirected = next
        attempts = Attempts()
        isLookedUp = false
        cache = makeCacheTransaction()
        emit(.redirected(to: next.url.string))
        engine.log(.debug, "redirected") { [("url", plan.url.string), ("to", next.url.string)] }
        return waitForTurn(in: cache.map { looksUp($0) } ?? false ? .store : .fetch, ahead: true)
    }

    /// Discards the ended exchange and its body before another exchange.
    func startOver() {
        exchange = Exchange()
        forgetBody()
        endBody()
        engine.clearProgress(self)
    }

    /// Discards the received body.
    func forgetBody() {
        response = ReceivedResponse()
        bodyBuffer.reset()
        (reportedAt, unreported) = (nil, nil)
        cache?.raw.reset()
        exchange.receivedBytes = 0
        previews?.restarted()
    }

    // MARK: Failures and retries

    /// Serves a stale response after a broken exchange, if allowed. Otherwise returns the step after the failure.
    private func broke(_ error: LoadError) -> JobStep? {
        // The transport knows only the remaining time.
        let error = error.code == .timedOut && isOutOfTime ? timedOut() : error
        if let cache, error.code != .cancelled,
            let stale = ResponseCacheDecision.answer(
                after: error.code, found: cache.found, request: cache.request, now: clock.wallTime)
        {
            // The broken response must not change the stored one that is served instead.
            cache.changes = StoreChanges()
            readAndServe(stale, from: .disk)
            return nil
        }
        return failed(error, nil)
    }

    /// Returns the step after a failure: a retry if that may help, and the end of the fetch otherwise.
    private func failed(_ error: LoadError, _ head: ResponseHead?) -> JobStep {
        if let step = retry(after: error, head) { return step }
        updateStore(isWhole: false)
        return end(.failure(error))
    }

    /// Prepares a retry after a failure, if there is one.
    ///
    /// - Parameters:
    ///   - error: the error with which the load would fail.
    ///   - head: the head of the response, if the failure is a response.
    /// - Returns: the step of the job, which was reset; nil if the load fails.
    private func retry(after error: LoadError, _ head: ResponseHead?) -> JobStep? {
        let url = currentURL
        guard url.origin != nil, error.code != .cancelled, !isOutOfTime, let policy = engine.retryPolicy(of: job)
        else { return nil }
        let isCutOff = head == nil && exchange.verdict == nil
        let resumption = isCutOff ? receivedPart().flatMap { Resumption(of: $0) } : nil
        // A timeout is the caller's own limit. A server that stalls again and again must not exceed it a hundred times.
        let madeProgress = error.code != .timedOut && attempts.makesProgress(resumption)
        if !madeProgress { attempts.failed += 1 }
        attempts.isRepeatOfLoss = error.code == .connectionLost
        guard
            let delay = engine.retries.delay(
                by: policy, after: error, head, method: redirected?.method ?? plan.request.method, url: url,
                failedAttempts: max(1, attempts.failed), madeProgress: madeProgress)
        else { return nil }
        emit(.retryScheduled(after: delay, why: head.map { "status \($0.status)" } ?? error.message))
        engine.log(.notice, "retrying later") {
            [
                ("url", url.string), ("because", error.description),
                ("after", "\(delay.saturatedNanoseconds / 1_000_000) ms"),
            ]
        }
        return sleep(for: delay, resumption)
    }

    /// Returns the received part of a broken body, as if it were stored.
    private func receivedPart() -> StoredResponse? {
        guard let head = response.head, head.version != .none else { return nil }
        let now = clock.wallTime
        return StoredResponse(
            method: redirected?.method ?? plan.request.method, url: currentURL.string,
            varyFields: HTTPFields(), head: head, requestTime: cache?.requestTime ?? now,
            responseTime: cache?.responseTime ?? now, bodyRange: 0..<response.rawBytes,
            totalLength: Resumption.announcedLength(head.fields))
    }

    private func sleep(for wait: Duration, _ resumption: Resumption?) -> JobStep {
        if var resumption {
            exchange = Exchange()
            sleepBody()
            resumption.id = response.storedPart
            self.resumption = resumption
        } else {
            startOver()
        }
        // The clock may be the program's own code, so it is read without the lock.
        let now = clock.now()
        startWaiting(for: .time(now + wait), at: now)
        return JobStep(job: job, event: .slept)
    }

    /// The fetch gives its slot back. Until it has another, no total time passes.
    private func startWaiting(for wait: FetchState.Wait, at now: MonotonicTime) {
        stripe.lock.withLock {
            state.startedWaiting(for: wait)
            active.slotGiven(at: now)
        }
        if job.isTimed { engine.checker.remove(self) }
    }

    /// The job has given its slot back: sets the timer for the end of the wait.
    fileprivate func scheduleWake() {
        guard let time = stripe.lock.withLock({ state.wakeTime }) else { return }
        let timer = clock.schedule(at: time) { [self] in wake() }
        // Another thread may have woken or ended the job meanwhile.
        stripe.lock.withLock { state.timerSet(timer) }?.cancel()
    }

    /// Queues the job, which may start at once.
    private func wake() {
        stripe.lock.withLock { state.woke() }
        engine.advance(JobStep(job: job, event: .woke))
    }

    /// The shortest wait that counts as a connection failure. A shorter timeout is no evidence about the origin.
    private static let shortestTimeout = Duration.seconds(1)

    /// Returns whether an exchange ended without a connection, or timed out before any response.
    private func isConnectionFailure(_ error: LoadError) -> Bool {
        guard engine.hasCircuitBreaker, exchange.head == nil, exchange.interimHeads.isEmpty else {
            return false
        }
        switch error.code {
        case .cannotConnect: return true
        case .timedOut: return clock.now() - exchange.sentAt >= Self.shortestTimeout
        default: return false
        }
    }

    // MARK: Success

    private func succeed(wireBytes: Int64) -> JobStep? {
        guard let head = response.head else {
            let message = "The server closed the connection without a response. Try again."
            return end(.failure(LoadError(.badResponse, stage: .fetch, message: message)))
        }
        if let continuation = response.continuation,
            continuation.ended(after: exchange.receivedBytes, isWhole: true)?.isComplete != true
        {
            let message = "The resumed body ended before its announced length. Try again."
            return failed(LoadError(.truncated, stage: .fetch, message: message), nil)
        }
        if plan.goal != .response, head.status == 206, !head.isPart, plan.request.method == "GET",
            ContentRange(head.fields)?.total != response.rawBytes
        {
            let message = "The body ended before the length in Content-Range. Try again."
            return failed(LoadError(.truncated, stage: .fetch, message: message), nil)
        }
        if let failure = finishCoding() {
            cache?.changes.bodyStorage = .nothing
            return failed(failure, nil)
        }
        // Reading a long body from its temporary file, or hashing it, would block the transport's thread for too long.
        let hasSpilled = bodyBuffer.hasSpilled || cache?.raw.hasSpilled ?? false
        let isLong = max(bodyBuffer.count, cache?.raw.count ?? 0) > Self.turnBytes
        guard (hasSpilled && isLong) || (plan.checksum != nil && plan.goal != .info) else {
            return conclude(head, wireBytes: wireBytes)
        }
        engine.workers.run { [self] in
            if let step = conclude(head, wireBytes: wireBytes) { engine.advance(step) }
        }
        return nil
    }

    /// The body is complete: checks it, passes it to the store, and ends the job.
    private func conclude(_ head: ResponseHead, wireBytes: Int64) -> JobStep? {
        if isBodyInFile, let step = concludeInFile(head, wireBytes: wireBytes) { return step }
        if let failure = seal() {
            cache?.changes.bodyStorage = .nothing
            return failed(failure, nil)
        }
        if plan.goal == .info {
            probeWhole()
            return stepAfter(.success(TransportSummary(wireBytes: wireBytes, bodyBytes: 0)))
        }
        let body = bodyBuffer.take()
        if let failure = plan.checksum.flatMap({ Self.failure(of: body, $0) }) {
            cache?.changes.bodyStorage = .nothing
            updateStore(isWhole: false)
            return end(.failure(failure))
        }
        let loaded = loadedResponse(head, body, wireBytes: wireBytes)
        guard let cache else { return end(.response(loaded)) }
        let raw = response.coded == nil ? body : cache.raw.take()
        guard case .revalidation = plan.purpose else {
            updateStore(cache, raw, isWhole: true)
            return end(.response(loaded))
        }
        // A revalidation ends when its response is stored, so that later lookups find it and send no request.
        updateStore(cache, raw, isWhole: true) { [self] in finish(.response(loaded)) }
        return nil
    }

    /// The complete body is in a file. Ends the job, if only downloads wait for it.
    ///
    /// - Returns: nil if a task that wants the bytes in memory has joined.
    private func concludeInFile(_ head: ResponseHead, wireBytes: Int64) -> JobStep? {
        cache?.changes.bodyStorage = .nothing
        // A task that joined after this could want the bytes in memory.
        let tasks = engine.close(id)
        guard tasks.allSatisfy({ $0.task.downloadFolder != nil }) else { return nil }
        let file: BodyFile?
        let sum: Checksum?
        do throws(PosixError) {
            file = try bodyBuffer.takeFile(isShared: tasks.count > 1)
            sum = try plan.checksum == nil ? nil : file.map { (file) throws(PosixError) in try Checksum(of: file) }
        } catch {
            return failed(unspilled(error), nil)
        }
        if let failure = plan.checksum.flatMap({ Self.failure(of: sum, $0) }) {
            updateStore(isWhole: false)
            return end(.failure(failure))
        }
        var loaded = loadedResponse(head, .empty, wireBytes: wireBytes)
        loaded.file = file
        updateStore(isWhole: true)
        return end(.response(loaded))
    }

    /// Returns an error if the body does not match the checksum.
    static func failure(of body: Bytes, _ checksum: Checksum) -> LoadError? {
        failure(of: Checksum(of: body), checksum)
    }

    private static func failure(of sum: Checksum?, _ checksum: Checksum) -> LoadError? {
        guard let sum, sum != checksum else { return nil }
        return LoadError(
            .damaged, stage: .fetch,
            message: "Checksum mismatch: expected \(checksum), received \(sum). Check both, or try another source.")
    }

    private func loadedResponse(
        _ head: ResponseHead, _ body: Bytes, wireBytes: Int64
    ) -> LoadedResponse {
        let url = currentURL
        var loaded = LoadedResponse(
            head: head, body: body, url: url.string, wireBytes: wireBytes, source: source(url),
            redirectCount: redirected?.redirectCount ?? 0)
        if !exchange.interimHeads.isEmpty { loaded.interimHeads = exchange.interimHeads }
        if !exchange.trailers.isEmpty { loaded.trailers = exchange.trailers }
        if let cache, let incoming = cache.incoming {
            loaded.storable = storable(incoming.response, cache)
            cache.entry = StoredEntryReference(key: cache.key)
            loaded.entry = cache.entry
        } else if let cache, case .complete = exchange.verdict, let part = response.storedPart {
            loaded.entry = StoredEntryReference(key: cache.key, id: part)
        }
        if let lifetime = lifetime(of: received(head), from: .origin) { loaded.lifetime = lifetime }
        return loaded
    }

    func source(_ url: ResourceURL) -> LoadSource {
        switch url.scheme {
        case "file": .file
        case "data": .data
        default: .network
        }
    }

    private func remoteInfo(_ info: ImageInfo) -> RemoteImageInfo {
        // Without codings of its own, the pipeline does not know whether the transport decodes the body.
        let codings = response.head.map { $0.fields["content-encoding"] != nil } ?? false
        let isCoded = response.coded != nil || engine.codings.accepted == nil && codings
        return RemoteImageInfo(
            info: info, url: currentURL.string, contentLength: isCoded ? nil : response.expectedBytes,
            readBytes: Int64(bodyBuffer.count), source: source(plan.url))
    }

    // MARK: Conclude

    /// Ends the job.
    ///
    /// - Parameter fromStore: whether the stored response turned out to be unusable.
    func finish(_ value: JobResult.Value, fromStore: Bool = false) {
        engine.advance(end(value, fromStore: fromStore))
    }

    /// Ends a job that was cancelled while it waited for an event.
    ///
    /// - Returns: whether it was.
    func endsAsCancelled() -> Bool {
        guard stripe.lock.withLock({ state.isCancelled }) else { return false }
        finish(.failure(.cancelled(url: plan.url.string, stage: .fetch)))
        return true
    }

    /// Ends the fetch with a result, and releases what it holds: nothing may use `response` or `cache` after this.
    func end(_ value: JobResult.Value, fromStore: Bool = false) -> JobStep {
        let grants = release()
        job.followedRedirects = Int32(clamping: redirected?.redirectCount ?? 0)
        if case .failure(let error) = value {
            job.result = JobResult(.failure(error.about(url: plan.url.string)), isFromStore: fromStore)
        } else {
            job.result = JobResult(value, isBeingRevalidated: isBeingRevalidated)
        }
        return JobStep(ended: job, grants: grants, lastProgress: unreported)
    }

    /// Releases everything that the ended fetch holds.
    ///
    /// - Returns: the paused transfers that fit into the budget now.
    fileprivate func release() -> [BodyBudget.Grant] {
        let (timer, body) = stripe.lock.withLock {
            job.forgetFetch()
            hasEnded = true
            return (state.finished(), bodyID)
        }
        timer?.cancel()
        if job.isTimed { engine.checker.remove(self) }
        previews?.end()
        // A transport may retain its receiver for longer.
        response = ReceivedResponse()
        bodyBuffer.reset()
        cache = nil
        guard let body else { return [] }
        return engine.bodies.withLock { $0.ended(body) }
    }

    // MARK: Events for observers

    /// Reports an event to the observer. Without one, no event is built. Called with no lock held.
    @inline(__always)
    func emit(_ kind: @autoclosure () -> ImagePipeline.Event.Kind) {
        job.emit(kind())
    }

    /// Records the connection's timings that a transport reports, with the times at which they occurred.
    func emit(_ timings: TransportTimings) {
        guard let telemetry = engine.telemetry else { return }
        let job = id.number
        func record(_ kind: ImagePipeline.Event.Kind, after time: Duration?) {
            guard let time else { return }
            telemetry.record(kind, job: job, at: exchange.sentAt + time, isPast: true)
        }
        record(.nameResolved, after: timings.nameResolved)
        record(.connected(reused: timings.reusedConnection), after: timings.connected)
        record(.secured, after: timings.secured)
        record(.firstByte, after: timings.firstByte)
        telemetry.flush()
    }

    private func reportEnd(_ result: Result<TransportSummary, LoadError>) {
        let count = Int64(bodyBuffer.count)
        if count > exchange.reportedBytes { emit(.received(bytes: count)) }
        emit(.exchangeEnded(wireBytes: (try? result.get())?.wireBytes))
    }

    /// Records that bytes are passed to the store.
    ///
    /// - Returns: a closure that records that the store has processed them.
    func reportStoring(_ count: Int) -> @Sendable () -> Void {
        guard let telemetry = engine.telemetry else { return {} }
        let job = id.number
        telemetry.emit(.storing(bytes: Int64(count)), job: job)
        return { telemetry.emit(.stored(bytes: Int64(count)), job: job) }
    }
}
