import InflightConcurrency

/// Obtains the bytes of one URL, redirects included: one exchange after the other on the transport.
// Unchecked: `isCancelled`, `work` and the transfer in it are touched only while the job's stripe of locks is held; the
// rest of `work` by the transport's calls, which come one after the other, or before the exchange is started.
final class FetchJob: EngineJob, TransportReceiver, @unchecked Sendable {
    /// What a body that nobody wants may cost, so that its connection can be used again.
    private static let drainedBytes: Int64 = 64 * 1024

    // Boxed: it is rare, and moved about with every exchange.
    private indirect enum Verdict {
        case redirect(RedirectPolicy.Exchange)
        case failure(LoadError)
        case info(ImageInfo)
    }

    /// What exists only from the first start to the end: a queued fetch is small.
    private final class Work {
        let startedAt: MonotonicTime
        /// What was asked for after the last redirect; `nil` before the first.
        var redirected: RedirectPolicy.Exchange?
        var transfer: (any Transfer)?
        /// Which exchange it is, counted from 0: one more after each redirect.
        var exchange = 0
        var head: ResponseHead?
        var body = BodyBuffer()
        var expectedBytes: Int64?
        /// So many are needed before the header can be told.
        var neededBytes = 0
        /// The exchange is over as far as this job is concerned; the rest is let pass.
        var verdict: Verdict?
        var deadlineTimer: (any ScheduledWork)?

        init(startedAt: MonotonicTime) {
            self.startedAt = startedAt
        }
    }

    private let plan: RequestPlan
    private var isCancelled = false
    private var work: Work?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    private var stripe: LockStripes.Stripe { LockStripes.stripe(for: self) }

    /// The URL that is asked now.
    private func currentURL(_ work: Work) -> ResourceURL {
        work.redirected?.url ?? plan.url
    }

    // MARK: Told by the engine

    override func start(priority: LoadPriority) {
        let work = work ?? Work(startedAt: engine.clock.now())
        let (isTooLate, exchange) = stripe.lock.withLock {
            self.work = work
            return (isCancelled, work.exchange)
        }
        if isTooLate { return finish(.failure(.cancelled(url: plan.url.string, stage: .fetch))) }
        work.deadlineTimer?.cancel()
        work.deadlineTimer = nil

        var limits = TransportRequest.Limits()
        let wanted = plan.request.limits
        limits.connectTimeout = wanted.connectTimeout
        limits.stallTimeout = wanted.stallTimeout
        limits.maximumBodyBytes = wanted.maximumBodyBytes
        if let total = wanted.totalTimeout {
            let left = total - (engine.clock.now() - work.startedAt)
            guard left > .zero else { return finish(.failure(timedOut())) }
            limits.totalTimeout = left
        }
        let url = currentURL(work)
        guard let transport = engine.transport(for: url.scheme) else {
            return finish(.failure(engine.unsupported(url)))
        }
        let transfer = transport.start(request(work, limits: limits, priority: priority), receiver: self)
        let wasCancelled = stripe.lock.withLock {
            // It may have ended already, and the next may be under way.
            guard work.exchange == exchange else { return false }
            work.transfer = transfer
            return isCancelled
        }
        if wasCancelled { transfer.cancel() }
    }

    override func cancel() {
        let transfer = stripe.lock.withLock {
            isCancelled = true
            return work?.transfer
        }
        transfer?.cancel()
    }

    override func discard() {
        let work = stripe.lock.withLock { self.work.take() }
        work?.deadlineTimer?.cancel()
    }

    // MARK: Told by the transport

    func didReceive(interim head: ResponseHead) {}

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        guard let work else { return .cancel }
        if head.version.isMultiplexed { engine.originMultiplexes(currentURL(work)) }
        if let verdict = verdict(on: head, work: work) {
            work.verdict = verdict
            // A short body that nobody wants costs less than a new connection.
            return (expectedBytes ?? 0) <= Self.drainedBytes ? .proceed : .cancel
        }
        if !engine.harmlessFields.isEmpty { respectVary(head) }
        work.head = head
        work.expectedBytes = expectedBytes
        if let expectedBytes { work.body.expect(expectedBytes) }
        return .proceed
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        guard let work else { return .cancel }
        let received = offset + Int64(bytes.count)
        if work.verdict != nil { return received <= Self.drainedBytes ? .proceed : .cancel }
        unsafe work.body.append(bytes)
        if plan.goal == .info { return probe(work, isComplete: false) ? .cancel : .proceed }
        engine.didProgress(id, LoadProgress(receivedBytes: received, expectedBytes: work.expectedBytes))
        return .proceed
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        if let step = stepAfter(result) { engine.jobsCameOn(CollectionOfOne(step)) }
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
            if let step = job.stepAfter(ending.result) { steps.append(step) }
        }
        if let last = steps.last { last.job.engine.jobsCameOn(steps) }
    }

    /// What the end of an exchange means for the job.
    private func stepAfter(_ result: Result<TransportSummary, LoadError>) -> JobStep? {
        guard let work else { return nil }
        switch (work.verdict, result) {
        case (.redirect(let next), _): return redirect(work, to: next)
        case (.failure(let error), _): return ending(.failure(error))
        case (.info(let info), _): return ending(.info(remoteInfo(info, work)))
        case (nil, .failure(let error)): return ending(.failure(error))
        case (nil, .success(let summary)): return succeed(work, summary)
        }
    }

    // MARK: Deciding

    private func verdict(on head: ResponseHead, work: Work) -> Verdict? {
        guard head.version != .none, head.status != 200 else { return nil }
        if (300..<400).contains(head.status) {
            let policy = RedirectPolicy(maximumRedirects: plan.request.limits.maximumRedirects)
            switch policy.decide(work.redirected ?? firstExchange(), head: head) {
            case .follow(let next): return .redirect(next)
            case .refuse(let error): return .failure(error)
            case .none: break
            }
        }
        guard plan.goal != .response else { return nil }
        return StatusPolicy.error(for: head, request: plan.request).map { .failure($0) }
    }

    /// Tasks that share this fetch, but differ in a field that the answer varies by, fetch for themselves (RFC 9110
    /// section 12.5.5).
    private func respectVary(_ head: ResponseHead) {
        let concerned = head.namesVaried(among: engine.harmlessFields).subtracting(plan.varying)
        if !concerned.isEmpty { engine.answerVaries(id, of: plan, by: concerned) }
    }

    /// Looks whether enough has come to tell what picture it is.
    private func probe(_ work: Work, isComplete: Bool) -> Bool {
        guard isComplete || work.body.count >= work.neededBytes else { return false }
        do throws(LoadError) {
            switch try engine.codecs.probe(work.body.copy(), isComplete: isComplete) {
            case .needsMoreBytes(let count):
                work.neededBytes = count
                return false
            case .info(let info): work.verdict = .info(info)
            }
        } catch {
            work.verdict = .failure(error.naming(contentType: work.head?.fields["content-type"]))
        }
        return true
    }

    private func redirect(_ work: Work, to next: RedirectPolicy.Exchange) -> JobStep {
        stripe.lock.withLock {
            work.transfer = nil
            work.exchange += 1
        }
        work.redirected = next
        work.verdict = nil
        work.head = nil
        work.body.reset()
        work.expectedBytes = nil
        if let total = plan.request.limits.totalTimeout {
            let deadline = work.startedAt + total
            guard engine.clock.now() < deadline else { return ending(.failure(timedOut())) }
            // In the lane no transport counts the time.
            work.deadlineTimer = engine.clock.schedule(at: deadline) { [self] in
                engine.queuedJobFailed(self, with: JobResult(.failure(timedOut())))
            }
        }
        return JobStep(job: self, event: .redirected(next.url.originKey))
    }

    private func succeed(_ work: Work, _ summary: TransportSummary) -> JobStep? {
        guard let head = work.head else {
            let message = "The server ended the exchange without an answer. Try again."
            return ending(.failure(LoadError(.badResponse, stage: .fetch, message: message)))
        }
        if plan.goal == .info {
            if !probe(work, isComplete: true) {
                let message = "The picture ends within its header."
                work.verdict = .failure(LoadError(.damaged, stage: .decode, message: message))
            }
            return stepAfter(.success(summary))
        }
        let url = currentURL(work)
        return ending(
            .response(
                LoadedResponse(
                    head: head, body: work.body.take(), url: url.string, wireBytes: summary.wireBytes,
                    source: source(url), redirectCount: work.redirected?.redirectCount ?? 0)))
    }

    /// The job is over before any exchange was.
    private func finish(_ value: JobResult.Value) {
        engine.jobsCameOn(CollectionOfOne(ending(value)))
    }

    private func ending(_ value: JobResult.Value) -> JobStep {
        let work = stripe.lock.withLock { self.work.take() }
        work?.deadlineTimer?.cancel()
        if case .failure(let error) = value {
            result = JobResult(.failure(error.about(url: plan.url.string)))
            return JobStep(job: self, event: .failed)
        }
        result = JobResult(value)
        return JobStep(job: self, event: .succeeded)
    }

    // MARK: Making

    private static let acceptsPictures = HTTPFields([("Accept", "image/*,*/*;q=0.8")])

    private func request(
        _ work: Work, limits: TransportRequest.Limits, priority: LoadPriority
    ) -> TransportRequest {
        let request = plan.request
        // The usual case without building anything.
        if work.redirected == nil, plan.goal != .response, request.fields.isEmpty, request.originFields.isEmpty,
            plan.url.userInfo == nil
        {
            return TransportRequest(
                url: plan.url, method: request.method,
                fields: plan.url.origin == nil ? HTTPFields() : Self.acceptsPictures, body: request.body,
                limits: limits, priority: priority)
        }
        let exchange = work.redirected ?? firstExchange()
        var fields = exchange.fields
        for index in 0..<exchange.originFields.count {
            fields.append(name: exchange.originFields.rawName(index), value: exchange.originFields.rawValue(index))
        }
        if exchange.url.origin != nil, plan.goal != .response, !fields.contains("accept") {
            fields.append("Accept", "image/*,*/*;q=0.8")
        }
        return TransportRequest(
            url: exchange.url, method: exchange.method, fields: fields, body: exchange.body, limits: limits,
            priority: priority)
    }

    private func firstExchange() -> RedirectPolicy.Exchange {
        var exchange = RedirectPolicy.Exchange(
            url: plan.url, method: plan.request.method, fields: plan.request.fields,
            originFields: plan.request.originFields, body: plan.request.body)
        if plan.url.origin != nil, let userInfo = plan.url.userInfo, !exchange.fields.contains("authorization"),
            !exchange.originFields.contains("authorization")
        {
            exchange.originFields.append("Authorization", "Basic " + Base64.encoded(Array(userInfo.utf8)))
        }
        return exchange
    }

    private func remoteInfo(_ info: ImageInfo, _ work: Work) -> RemoteImageInfo {
        RemoteImageInfo(
            info: info, url: currentURL(work).string,
            contentLength: work.head?.fields["content-encoding"] == nil ? work.expectedBytes : nil,
            readBytes: Int64(work.body.count), source: source(plan.url))
    }

    private func source(_ url: ResourceURL) -> LoadSource {
        switch url.scheme {
        case "file": .file
        case "data": .data
        default: .network
        }
    }

    private func timedOut() -> LoadError {
        LoadError(
            .timedOut, stage: .fetch, url: plan.url.string,
            message: "The load took longer than it may in all. Allow more time, or try again later.")
    }
}

extension LoadError {
    /// The same error; where it says that bytes are no picture, with what the server called them.
    func naming(contentType: String?) -> LoadError {
        guard code == .notAnImage, let contentType, !contentType.isEmpty else { return self }
        // What a server sent may reach a terminal: no control characters.
        let shown = String(
            contentType.unicodeScalars.prefix(100).filter { $0.properties.generalCategory != .control })
        return LoadError(
            code, stage: stage, url: url, message: "\(message) The server called it \(shown).", status: status,
            underlying: underlying)
    }
}
