import InflightConcurrency

// How a fetch asks the program's own hooks. While one is asked, nothing else of the job goes on: either no exchange is
// under way, or it has paused and its end is held.

extension FetchJob {
    /// Has `willSend` change a request, then sends it.
    func askBefore(
        _ request: TransportRequest, _ work: Work, _ reason: OutgoingRequest.Reason,
        _ willSend: @escaping @Sendable (inout OutgoingRequest) async throws -> Void
    ) {
        let outgoing = OutgoingRequest(request, reason: reason)
        ask(work) {
            var changed = outgoing
            try await willSend(&changed)
            return changed
        } then: { [self] result in
            stripe.lock.withLock { work.machine.answered() }
            if endsAsCancelled(work) { return }
            // It took some of the whole time.
            guard let limits = limits(work) else { return finish(.failure(timedOut())) }
            switch result {
            case .success(let changed):
                var request = request
                request.fields = changed.fields
                request.limits = limits
                // Others may have come or gone meanwhile, and after a 401 since the first time.
                request.priority = engine.priority(of: id) ?? request.priority
                work.exchange.sentFields = changed.fields
                send(request, work)
            case .failure(let error):
                finish(.failure(.thrown(error, by: "hook willSend", url: plan.url.string, stage: .request)))
            }
        }
    }

    /// Has `didReceive` judge an answer, whose exchange pauses meanwhile.
    func askAbout(
        _ head: ResponseHead, _ expectedBytes: Int64?, _ work: Work,
        _ didReceive: @escaping @Sendable (ReceivedHead) async throws -> HeadDecision
    ) {
        let received = ReceivedHead(url: currentURL(work), head: head, expectedBytes: expectedBytes)
        ask(work) {
            try await didReceive(received)
        } then: { [self] result in
            // After the exchange was started and paused, whichever thread did that.
            stripe.lock.withLock {}
            switch result {
            case .success(let decision): goOn(work, head, expectedBytes, decision)
            case .failure(let error):
                // Where its time was up it was cancelled for that.
                let isLate = error is CancellationError && limits(work) == nil
                let thrown = LoadError.thrown(error, by: "hook didReceive", url: plan.url.string, stage: .fetch)
                work.exchange.verdict = .failure(isLate ? timedOut() : thrown)
            }
            flow(work, isWanted: true)
        }
    }

    /// The head is known, and what the hook makes of it.
    func goOn(_ work: Work, _ head: ResponseHead, _ expectedBytes: Int64?, _ decision: HeadDecision) {
        var head = head
        switch decision {
        case .byStatus: work.exchange.verdict = failure(on: head)
        case .accept: break
        case .rewrite(let other):
            // What a later load finds stored is not asked about again.
            work.cache?.changes.keeping = .nothing
            head = other
            work.exchange.verdict = failure(on: head)
        case .refuse(let why):
            work.cache?.changes.keeping = .nothing
            work.exchange.verdict = .failure(LoadError(.refused, stage: .fetch, message: why, status: head.status))
        }
        guard work.exchange.verdict == nil else { return }
        if !engine.harmlessFields.isEmpty { respectVary(head) }
        work.response.head = head
        work.response.expectedBytes = expectedBytes
        work.exchange.verdict = undoCoding(of: head, work)
        if plan.request.limits.stallTimeout == nil, work.exchange.verdict == nil { watchRate(work, receivedBytes: 0) }
        if let expectedBytes, work.response.coded == nil { work.response.body.expect(expectedBytes) }
    }

    /// Has a hook asked, off the transport's thread. Where the load is cancelled meanwhile, or its whole time is up, the
    /// hook is cancelled; `body` hears of its result when it has in fact returned.
    private func ask<Output: Sendable>(
        _ work: Work, _ question: @escaping @Sendable () async throws -> Output,
        then body: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        let call = ExtensionCall()
        let isTooLate = stripe.lock.withLock {
            work.machine.asks(call)
            return work.machine.isCancelled
        }
        if isTooLate { call.cancel() }
        var timer: (any ScheduledWork)?
        if let total = plan.request.limits.totalTimeout {
            timer = engine.clock.schedule(at: work.startedAt + total) { call.cancel() }
        }
        call.start(on: engine.hooks.taskExecutor, question) { [timer] result in
            timer?.cancel()
            body(result)
        }
    }
}
