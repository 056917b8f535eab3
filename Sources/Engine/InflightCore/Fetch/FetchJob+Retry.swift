import InflightConcurrency

// Transient failures and unreachable origins. Before a retry, the fetch waits without a slot, and resumes its body if
// it can.

extension FetchJob {
    /// Prepares a retry after a failure, if there is one.
    ///
    /// - Parameters:
    ///   - error: the error with which the load would fail.
    ///   - head: the head of the response, if the failure is a response.
    /// - Returns: the step of the job, which was reset; nil if the load fails.
    func retry(after error: LoadError, _ head: ResponseHead?, _ work: Work) -> JobStep? {
        let url = currentURL(work)
        guard let retries = stage.retries, url.origin != nil, error.code != .cancelled else { return nil }
        let isCutOff = head == nil && work.exchange.verdict == nil
        let resumption = isCutOff ? part(of: work).flatMap { Resumption(of: $0) } : nil
        // A timeout is the caller's own limit. A server that stalls again and again must not exceed it a hundred times.
        let madeProgress = error.code != .timedOut && work.attempts.makesProgress(resumption)
        if !madeProgress { work.attempts.failed += 1 }
        work.attempts.isRepeatOfLoss = error.code == .connectionLost
        guard
            let delay = retries.delay(
                after: error, head, method: work.redirected?.method ?? plan.request.method, url: url,
                failedAttempts: max(1, work.attempts.failed), madeProgress: madeProgress)
        else { return nil }
        tell(.retryScheduled(after: delay, why: head.map { "status \($0.status)" } ?? error.message))
        scheduler.log(.notice, "retrying later") {
            [
                ("url", url.string), ("because", error.description),
                ("after", "\(delay.saturatedNanoseconds / 1_000_000) ms"),
            ]
        }
        return sleep(work, for: delay, resumption)
    }

    private func sleep(_ work: Work, for wait: Duration, _ resumption: Resumption?) -> JobStep {
        if var resumption {
            work.exchange = Exchange()
            sleepBody(work)
            resumption.id = work.response.storedPart
            work.resumption = resumption
        } else {
            startOver(work)
        }
        // The clock may be the program's own code, so it is read without the lock.
        let now = clock.now()
        work.waitsSince = now
        stripe.lock.withLock { work.machine.waits(for: .time(now + wait)) }
        return JobStep(job: self, event: .slept)
    }

    /// Returns the received part of a broken body, as if it were stored.
    private func part(of work: Work) -> StoredResponse? {
        guard let head = work.response.head, head.version != .none else { return nil }
        let now = clock.wallTime
        return StoredResponse(
            method: work.redirected?.method ?? plan.request.method, url: currentURL(work).string,
            varyFields: HTTPFields(), head: head, requestTime: work.cache?.requestTime ?? now,
            responseTime: work.cache?.responseTime ?? now, bodyRange: 0..<work.response.rawBytes,
            totalLength: Resumption.announcedLength(head.fields))
    }

    // MARK: Unreachable origins

    /// The shortest wait that counts as a connection failure. A shorter timeout is no evidence about the origin.
    private static let shortestTimeout = Duration.seconds(1)

    /// Returns whether an exchange ended without a connection, or timed out before any response.
    func isConnectionFailure(_ error: LoadError, _ work: Work) -> Bool {
        guard scheduler.hasCircuitBreaker, work.exchange.head == nil, work.exchange.interimHeads.isEmpty else {
            return false
        }
        switch error.code {
        case .cannotConnect: return true
        case .timedOut: return clock.now() - work.exchange.sentAt >= Self.shortestTimeout
        default: return false
        }
    }

    /// Returns the stored response that may be served if the origin cannot be reached (RFC 5861 section 4).
    func staleResponse(_ cache: CacheTransaction) -> ServedResponse? {
        ResponseCacheDecision.answer(
            after: .cannotConnect, found: cache.found, request: cache.request, now: clock.wallTime)
    }

    ///
    /// - Returns: the end of the fetch if there is none.
    func serveStaleResponse(_ work: Work, instead refusal: LoadError) -> JobStep? {
        result = nil
        work.refusal = refusal
        guard let cache = work.cache, let stale = staleResponse(cache) else { return ending(.failure(refusal)) }
        cache.changes = StoreChanges()
        readAndServe(stale, work, from: .disk)
        return nil
    }
}
