import InflightConcurrency

// The steps of a fetch after the end of an exchange.

extension FetchJob {
    /// Returns the job's step after the end of an exchange; `nil` if another call continues the job.
    func stepAfter(_ result: Result<TransportSummary, LoadError>, _ work: Work) -> JobStep? {
        if case .failure(let error) = result, isConnectionFailure(error, work) {
            scheduler.connectionFailed(self, to: currentURL(work))
        }
        let isWhole = (try? result.get()) != nil
        switch (work.exchange.verdict, result) {
        case (.again(let head), _):
            let sent = work.exchange.sentFields
            startOver(work)
            work.attempts.hasReauthenticated = true
            scheduler.log(.notice, "retrying with new credentials") { [("url", currentURL(work).string)] }
            tell(.resent(why: "The server requires other credentials: status \(head.status)."))
            resend(work, reason: .unauthorized(head, sent: sent))
            return nil
        case (.redirect(let next), _):
            limitLifetime(by: work.exchange.head.map { received($0, work) }, work)
            if let cache = work.cache {
                cache.entry = StoredEntryReference(key: cache.key)
                if next.sendsCookies(of: next.redirectCount - 1) { cache.changes.dropBody() }
            }
            updateStore(work, isWhole: isWhole)
            return redirect(work, to: next)
        case (.failure(let error), _):
            updateStore(work, isWhole: isWhole)
            return failed(error, work, error.code == .badStatus ? work.exchange.head : nil)
        case (.info(let info), _): return ending(.info(remoteInfo(info, work)))
        case (.stored(let answer, let source), _):
            if source == .revalidated { tell(.revalidated) }
            guard case .revalidation = plan.purpose else {
                updateStore(work, isWhole: false)
                readAndServe(answer, work, from: source)
                return nil
            }
            updateStore(work, isWhole: false) { [self] in readAndServe(answer, work, from: source) }
            return nil
        case (.confirmed, _):
            tell(.revalidated)
            confirmImages(work)
            return nil
        case (.complete(let stored), _):
            work.response.head = stored.head
            return succeed(work, wireBytes: 0)
        case (.decoded, _):
            work.exchange.verdict = nil
            return succeed(work, wireBytes: work.response.rawBytes)
        case (.exchangeAgain(let exchange), _):
            updateStore(work, isWhole: false)
            resend(work, as: exchange)
            return nil
        case (nil, .failure(let error)): return broke(error, work)
        case (nil, .success(let summary)): return succeed(work, wireBytes: summary.wireBytes)
        }
    }

    /// Serves a stale response after a broken exchange, if allowed. Otherwise returns the step after the failure.
    private func broke(_ error: LoadError, _ work: Work) -> JobStep? {
        // The transport knows only the remaining time.
        let error = error.code == .timedOut && limits(work) == nil ? timedOut() : error
        if let cache = work.cache, error.code != .cancelled,
            let stale = ResponseCacheDecision.answer(
                after: error.code, found: cache.found, request: cache.request, now: clock.wallTime)
        {
            // The broken response must not change the stored one that is served instead.
            cache.changes = StoreChanges()
            readAndServe(stale, work, from: .disk)
            return nil
        }
        return failed(error, work, nil)
    }

    /// Returns the step after a failure: a retry if that may help, and the end of the fetch otherwise.
    private func failed(_ error: LoadError, _ work: Work, _ head: ResponseHead?) -> JobStep {
        if let step = retry(after: error, head, work) { return step }
        updateStore(work, isWhole: false)
        return ending(.failure(error))
    }

    private func succeed(_ work: Work, wireBytes: Int64) -> JobStep? {
        guard let head = work.response.head else {
            let message = "The server closed the connection without a response. Try again."
            return ending(.failure(LoadError(.badResponse, stage: .fetch, message: message)))
        }
        if let continuation = work.response.continuation,
            continuation.ended(after: work.exchange.receivedBytes, isWhole: true)?.isComplete != true
        {
            let message = "The resumed body ended before its announced length. Try again."
            return failed(LoadError(.truncated, stage: .fetch, message: message), work, nil)
        }
        if plan.goal != .response, head.status == 206, !head.isPart, plan.request.method == "GET",
            ContentRange(head.fields)?.total != work.response.rawBytes
        {
            let message = "The body ended before the length in Content-Range. Try again."
            return failed(LoadError(.truncated, stage: .fetch, message: message), work, nil)
        }
        if let failure = finishCoding(work) {
            work.cache?.changes.bodyStorage = .nothing
            return failed(failure, work, nil)
        }
        let hasSpilled = work.response.body.hasSpilled || work.cache?.raw.hasSpilled ?? false
        guard hasSpilled, max(work.response.body.count, work.cache?.raw.count ?? 0) > Self.turnBytes else {
            return sealed(work, head, wireBytes: wireBytes)
        }
        // Reading a long body from its temporary file would block the transport's thread for too long.
        stage.workers.run { [self] in
            if let step = sealed(work, head, wireBytes: wireBytes) { scheduler.jobAdvanced(step) }
        }
        return nil
    }

    private func sealed(_ work: Work, _ head: ResponseHead, wireBytes: Int64) -> JobStep? {
        if let failure = seal(work) {
            work.cache?.changes.bodyStorage = .nothing
            return failed(failure, work, nil)
        }
        return complete(work, head, wireBytes: wireBytes)
    }

    /// The body is complete, and in memory.
    private func complete(_ work: Work, _ head: ResponseHead, wireBytes: Int64) -> JobStep? {
        if plan.goal == .info {
            probeWhole(work)
            return stepAfter(.success(TransportSummary(wireBytes: wireBytes, bodyBytes: 0)), work)
        }
        let body = work.response.body.take()
        guard let checksum = plan.checksum else { return succeeded(work, head, body, wireBytes: wireBytes) }
        // Hashing a long body would block the transport's thread for too long.
        stage.workers.run { [self] in
            if let failure = Self.failure(of: body, checksum) {
                work.cache?.changes.bodyStorage = .nothing
                updateStore(work, isWhole: false)
                return finish(.failure(failure))
            }
            if let step = succeeded(work, head, body, wireBytes: wireBytes) { scheduler.jobAdvanced(step) }
        }
        return nil
    }

    /// Returns an error if the body does not match the checksum.
    static func failure(of body: Bytes, _ checksum: Checksum) -> LoadError? {
        let sum = Checksum(of: body)
        if sum == checksum { return nil }
        return LoadError(
            .damaged, stage: .fetch,
            message: "Checksum mismatch: expected \(checksum), received \(sum). Check both, or try another source.")
    }

    private func succeeded(_ work: Work, _ head: ResponseHead, _ body: Bytes, wireBytes: Int64) -> JobStep? {
        let response = response(work, head, body, wireBytes: wireBytes)
        guard let cache = work.cache else { return ending(.response(response)) }
        let raw = work.response.coded == nil ? body : cache.raw.take()
        guard case .revalidation = plan.purpose else {
            updateStore(work, cache, raw, isWhole: true)
            return ending(.response(response))
        }
        // A revalidation ends when its response is stored, so that later lookups find it and send no request.
        updateStore(work, cache, raw, isWhole: true) { [self] in finish(.response(response)) }
        return nil
    }

    private func response(
        _ work: Work, _ head: ResponseHead, _ body: Bytes, wireBytes: Int64
    ) -> LoadedResponse {
        let url = currentURL(work)
        var response = LoadedResponse(
            head: head, body: body, url: url.string, wireBytes: wireBytes, source: source(url),
            redirectCount: work.redirected?.redirectCount ?? 0)
        if !work.exchange.interimHeads.isEmpty { response.interimHeads = work.exchange.interimHeads }
        if !work.exchange.trailers.isEmpty { response.trailers = work.exchange.trailers }
        if let cache = work.cache, let incoming = cache.incoming {
            response.storable = storable(incoming.response, cache)
            cache.entry = StoredEntryReference(key: cache.key)
            response.entry = cache.entry
        } else if let cache = work.cache, case .complete = work.exchange.verdict, let part = work.response.storedPart {
            response.entry = StoredEntryReference(key: cache.key, id: part)
        }
        if let lifetime = lifetime(of: received(head, work), from: .origin, work) { response.lifetime = lifetime }
        return response
    }
}
