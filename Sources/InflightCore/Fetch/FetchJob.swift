import InflightConcurrency

/// Obtains the bytes of one URL, redirects included: one exchange after the other on the transport.
// Unchecked: `latch` is touched only under its lock; everything else by the transport's calls, which come one after the
// other, or before the exchange is started.
final class FetchJob: EngineJob, TransportReceiver, @unchecked Sendable {
    /// What a body that nobody wants may cost, so that its connection can be used again.
    private static let drainedBytes: Int64 = 64 * 1024

    private struct Latch {
        var isCancelled = false
        var transfer: (any Transfer)?
    }

    /// What exists only from the first start on: a queued fetch is small.
    private struct Exchange: ~Copyable {
        var next: RedirectPolicy.Exchange
        var startedAt: MonotonicTime
        var head: ResponseHead?
        var body = BodyBuffer()
        var expectedBytes: Int64?
        /// The exchange is over as far as this job is concerned; the rest is let pass.
        var verdict: Verdict?
    }

    private enum Verdict {
        case redirect(RedirectPolicy.Exchange)
        case failure(LoadError)
        case info(ImageInfo)
    }

    private let plan: RequestPlan
    private let latch = Guarded(Latch())
    private var exchange: Exchange?
    private var deadlineTimer: (any ScheduledWork)?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    private var isOver: Bool { exchange?.verdict != nil }

    // MARK: Told by the engine

    override func start(priority: LoadPriority) {
        deadlineTimer?.cancel()
        deadlineTimer = nil
        let now = engine.clock.now()
        if exchange == nil {
            exchange = Exchange(next: firstExchange(), startedAt: now)
        }
        guard let next = exchange?.next, let startedAt = exchange?.startedAt else { return }
        var limits = TransportRequest.Limits()
        limits.connectTimeout = plan.request.limits.connectTimeout
        limits.stallTimeout = plan.request.limits.stallTimeout
        limits.maximumBodyBytes = plan.request.limits.maximumBodyBytes
        if let total = plan.request.limits.totalTimeout {
            let left = total - (now - startedAt)
            guard left > .zero else { return finish(.failure(timedOut())) }
            limits.totalTimeout = left
        }
        guard let transport = engine.transport(for: next.url.scheme) else {
            return finish(.failure(engine.unsupported(next.url)))
        }
        guard !latch.withLock({ $0.isCancelled }) else { return finish(.failure(cancelled())) }
        let request = TransportRequest(
            url: next.url, method: next.method, fields: fields(of: next), body: next.body, limits: limits,
            priority: priority)
        engine.countExchange()
        let transfer = transport.start(request, receiver: self)
        let isCancelled = latch.withLock { latch in
            latch.transfer = transfer
            return latch.isCancelled
        }
        if isCancelled { transfer.cancel() }
    }

    override func cancel() {
        let transfer = latch.withLock { latch in
            latch.isCancelled = true
            return latch.transfer
        }
        transfer?.cancel()
    }

    override func discard() {
        deadlineTimer?.cancel()
        deadlineTimer = nil
        exchange = nil
    }

    // MARK: Told by the transport

    func didReceive(interim head: ResponseHead) {}

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        guard let next = exchange?.next else { return .cancel }
        if head.version.isMultiplexed { engine.originMultiplexes(next.url) }
        if let verdict = verdict(on: head, exchange: next) {
            exchange?.verdict = verdict
            // A short body that nobody wants costs less than a new connection.
            return (expectedBytes ?? 0) <= Self.drainedBytes ? .proceed : .cancel
        }
        if !engine.harmlessFields.isEmpty { respectVary(head) }
        exchange?.head = head
        exchange?.expectedBytes = expectedBytes
        if let expectedBytes { exchange?.body.expect(expectedBytes) }
        return .proceed
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        if isOver { return offset + Int64(bytes.count) <= Self.drainedBytes ? .proceed : .cancel }
        unsafe exchange?.body.append(bytes)
        if plan.goal == .info { return probe(isComplete: false) ? .cancel : .proceed }
        engine.didProgress(
            id, LoadProgress(receivedBytes: offset + Int64(bytes.count), expectedBytes: exchange?.expectedBytes))
        return .proceed
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        latch.withLock { $0.transfer = nil }
        if let verdict = exchange?.verdict {
            switch verdict {
            case .redirect(let next):
                if case .failure(let error) = result, latch.withLock({ $0.isCancelled }) {
                    return finish(.failure(error))
                }
                return redirect(to: next)
            case .failure(let error): return finish(.failure(error))
            case .info(let info): return finish(.info(remoteInfo(info)))
            }
        }
        switch result {
        case .failure(let error): finish(.failure(error))
        case .success(let summary): succeed(summary)
        }
    }

    // MARK: Deciding

    private func verdict(on head: ResponseHead, exchange: RedirectPolicy.Exchange) -> Verdict? {
        guard head.version != .none else { return nil }
        switch RedirectPolicy(maximumRedirects: plan.request.limits.maximumRedirects).decide(exchange, head: head) {
        case .follow(let next): return .redirect(next)
        case .refuse(let error): return .failure(error)
        case .none: break
        }
        guard plan.goal != .response else { return nil }
        return StatusPolicy.error(for: head, request: plan.request).map { .failure($0) }
    }

    /// Tasks that share this fetch, but differ in a field that the answer varies by, fetch for themselves (RFC 9110
    /// section 12.5.5).
    private func respectVary(_ head: ResponseHead) {
        let named = Set(
            head.fields.values("vary").flatMap { $0.split(separator: ",") }
                .map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() })
        let concerned = named.contains("*") ? engine.harmlessFields : named.intersection(engine.harmlessFields)
        if !concerned.isEmpty { engine.answerVaries(id, of: plan, by: concerned) }
    }

    /// Looks whether enough has come to tell what picture it is.
    private func probe(isComplete: Bool) -> Bool {
        guard let bytes = exchange?.body.copy() else { return false }
        do {
            switch try engine.codecs.probe(bytes, isComplete: isComplete) {
            case .needsMoreBytes: return false
            case .info(let info): exchange?.verdict = .info(info)
            }
        } catch {
            exchange?.verdict = .failure(explained(error))
        }
        return true
    }

    private func redirect(to next: RedirectPolicy.Exchange) {
        exchange?.next = next
        exchange?.verdict = nil
        exchange?.head = nil
        exchange?.body.reset()
        exchange?.expectedBytes = nil
        if let total = plan.request.limits.totalTimeout, let startedAt = exchange?.startedAt {
            // In the lane no transport counts the time.
            deadlineTimer = engine.clock.schedule(at: startedAt + total) { [self] in
                engine.queuedJobFailed(self, with: JobResult(.failure(timedOut())))
            }
        }
        engine.jobRedirected(id, to: next.url)
    }

    private func succeed(_ summary: TransportSummary) {
        guard let head = exchange?.head, let next = exchange?.next else {
            let message = "The server ended the exchange without an answer. Try again."
            return finish(.failure(LoadError(.badResponse, stage: .fetch, message: message)))
        }
        if plan.goal == .info {
            if !probe(isComplete: true), exchange?.verdict == nil {
                let message = "The picture ends within its header."
                exchange?.verdict = .failure(LoadError(.damaged, stage: .decode, message: message))
            }
            return didEnd(.success(summary))
        }
        let body = exchange?.body.take() ?? .empty
        finish(
            .response(
                LoadedResponse(
                    head: head, body: body, url: next.url.string, wireBytes: summary.wireBytes,
                    source: source(next.url), redirectCount: next.redirectCount)))
    }

    private func finish(_ value: JobResult.Value) {
        exchange = nil
        if case .failure(let error) = value {
            engine.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
        } else {
            engine.jobEnded(self, with: JobResult(value))
        }
    }

    // MARK: Making

    private func firstExchange() -> RedirectPolicy.Exchange {
        var exchange = RedirectPolicy.Exchange(
            url: plan.url, method: plan.request.method, fields: plan.request.fields,
            originFields: plan.request.originFields, body: plan.request.body)
        guard plan.url.origin != nil else { return exchange }
        if let userInfo = plan.url.userInfo, !exchange.fields.contains("authorization"),
            !exchange.originFields.contains("authorization")
        {
            exchange.originFields.append("Authorization", "Basic " + Base64.encoded(Array(userInfo.utf8)))
        }
        return exchange
    }

    private func fields(of exchange: RedirectPolicy.Exchange) -> HTTPFields {
        var fields = exchange.fields
        for index in 0..<exchange.originFields.count {
            fields.append(name: exchange.originFields.rawName(index), value: exchange.originFields.rawValue(index))
        }
        if exchange.url.origin != nil, plan.goal != .response, !fields.contains("accept") {
            fields.append("Accept", "image/*,*/*;q=0.8")
        }
        return fields
    }

    private func remoteInfo(_ info: ImageInfo) -> RemoteImageInfo {
        RemoteImageInfo(
            info: info, url: exchange?.next.url.string ?? plan.url.string,
            contentLength: exchange?.head?.fields["content-encoding"] == nil ? exchange?.expectedBytes : nil,
            readBytes: Int64(exchange?.body.count ?? 0), source: source(plan.url))
    }

    private func source(_ url: ResourceURL) -> LoadSource {
        switch url.scheme {
        case "file": .file
        case "data": .data
        default: .network
        }
    }

    /// An error about bytes that are no picture says what the server called them.
    private func explained(_ error: LoadError) -> LoadError {
        error.naming(contentType: exchange?.head?.fields["content-type"])
    }

    private func timedOut() -> LoadError {
        LoadError(
            .timedOut, stage: .fetch, url: plan.url.string,
            message: "The load took longer than it may in all. Allow more time, or try again later.")
    }

    private func cancelled() -> LoadError {
        LoadError(.cancelled, stage: .fetch, url: plan.url.string, message: "The load was cancelled.")
    }
}

extension LoadError {
    /// The same error; where it says that bytes are no picture, with what the server called them.
    func naming(contentType: String?) -> LoadError {
        guard code == .notAnImage, let contentType, !contentType.isEmpty else { return self }
        // What a server sent may reach a terminal: no control characters.
        let shown = String(contentType.unicodeScalars.prefix(100).filter { $0.value >= 0x20 && $0.value != 0x7F })
        return LoadError(
            code, stage: stage, url: url, message: "\(message) The server called it \(shown).", status: status,
            underlying: underlying)
    }
}
