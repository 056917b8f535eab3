import InflightConcurrency

extension FetchJob {
    /// Returns the limits of the next exchange; `nil` if the total time is over.
    func limits(_ work: Work) -> TransportRequest.Limits? {
        var limits = TransportRequest.Limits()
        let wanted = plan.request.limits
        limits.connectTimeout = wanted.connectTimeout
        limits.stallTimeout = wanted.stallTimeout
        limits.maximumBodyBytes = wanted.maximumBodyBytes
        if let total = wanted.totalTimeout {
            let left = total - (clock.now() - work.startedAt)
            guard left > .zero else { return nil }
            limits.totalTimeout = left
        }
        return limits
    }

    /// Sends the current request, after `willSend` has changed it.
    ///
    /// - Returns: the end of the fetch if nothing can be sent.
    func send(
        _ work: Work, limits: TransportRequest.Limits, priority: ImageRequest.Priority,
        reason: ImagePipeline.OutgoingRequest.Reason
    ) -> JobStep? {
        var request = plan.outgoing(
            after: work.redirected, defaultFields: stage.defaultFields, limits: limits, priority: priority)
        if work.attempts.failed == 0, work.sentExchanges == 0, request.url.origin != nil,
            let error = stage.retries?.firstAttempt(at: request.url, policy: plan.request.cachePolicy)
        {
            return ending(.failure(error))
        }
        guard let willSend = stage.willSend, request.url.origin != nil else { return send(&request, work) }
        askBefore(request, work, reason, willSend)
        return nil
    }

    /// Sends a request, with the header fields that the store or the resumed body requires.
    ///
    /// - Returns: the end of the fetch if nothing can be sent.
    func send(_ request: inout TransportRequest, _ work: Work) -> JobStep? {
        guard let transport = stage.transports[request.url.scheme] else {
            return ending(.failure(stage.transports.unsupported(request.url)))
        }
        scheduler.log(.debug, "exchange started") {
            [("method", request.method), ("url", request.url.string), ("exchange", "\(work.sentExchanges)")]
        }
        let number = work.sentExchanges
        work.sentExchanges += 1
        stripe.lock.withLock { work.machine.sends(number: number) }
        request.needsNewConnection = work.attempts.isRepeatOfLoss
        work.exchange.requestTime = clock.wallTime
        if let cache = work.cache {
            cache.requestTime = work.exchange.requestTime
            if work.resumption == nil { request.fields = cache.exchange.fields(from: request.fields) }
        }
        if let resumption = work.resumption { request.fields = resumption.fields(from: request.fields) }
        if scheduler.telemetry != nil || scheduler.hasCircuitBreaker { work.exchange.sentAt = clock.now() }
        if scheduler.telemetry != nil {
            request.wantsTimings = true
            tell(
                .sent(method: request.method, url: request.url.string, resumesAt: work.resumption?.offset ?? 0))
        }
        let transfer = transport.start(request, receiver: self)
        let next = stripe.lock.withLock { work.machine.transferKnown(transfer, number: number) }
        if next.cancels { transfer.cancel() }
        if next.resumes { transfer.resume() }
        if next.passesPriority { reprioritize() }
        return nil
    }

    /// Sends the request again, with other header fields for the cache.
    func resend(_ work: Work, as exchange: CacheExchange) {
        startOver(work)
        work.cache?.exchange = exchange
        tell(.resent(why: "The stored response cannot be used."))
        scheduler.log(.debug, "request sent again with other header fields") { [("url", currentURL(work).string)] }
        resend(work, reason: .first)
    }

    /// Sends the current request again in the same slot, so that no other fetch goes first.
    func resend(_ work: Work, reason: ImagePipeline.OutgoingRequest.Reason) {
        guard let limits = limits(work) else { return finish(.failure(timedOut())) }
        if endsAsCancelled(work) { return }
        let priority = scheduler.priority(of: id) ?? plan.request.priority
        if let step = send(work, limits: limits, priority: priority, reason: reason) { scheduler.jobAdvanced(step) }
    }
}
