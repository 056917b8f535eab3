import InflightConcurrency

// Calls of the program's hooks. While a hook runs, the job does nothing else: either there is no exchange, or it is
// paused and its end is held.

extension FetchJob {
    /// Calls `willSend` to change a request, then sends the request.
    func askBefore(
        _ request: TransportRequest, _ work: Work, _ reason: ImagePipeline.OutgoingRequest.Reason,
        _ willSend: @escaping @Sendable (inout ImagePipeline.OutgoingRequest) async throws -> Void
    ) {
        let outgoing = ImagePipeline.OutgoingRequest(request, reason: reason)
        ask(work) {
            var changed = outgoing
            try await willSend(&changed)
            return changed
        } then: { [self] result in
            stripe.lock.withLock { work.machine.answered() }
            if endsAsCancelled(work) { return }
            // The hook used some of the total time.
            guard let limits = limits(work) else { return finish(.failure(timedOut())) }
            switch result {
            case .success(let changed):
                var request = request
                request.fields = changed.fields
                request.limits = limits
                // Subscribers may have joined or left meanwhile or, after a 401, since the first request.
                request.priority = scheduler.priority(of: id) ?? request.priority
                work.exchange.sentFields = changed.fields
                if let step = send(&request, work) { scheduler.jobAdvanced(step) }
            case .failure(let error):
                finish(.failure(.thrown(error, by: "hook willSend", url: plan.url.string, stage: .request)))
            }
        }
    }

    /// Calls `didReceive` with the head of a response, whose exchange is paused meanwhile.
    func askAbout(
        _ head: ResponseHead, _ expectedBytes: Int64?, _ work: Work,
        _ didReceive: @escaping @Sendable (ImagePipeline.ReceivedHead) async throws -> ImagePipeline.HeadDecision
    ) {
        let received = ImagePipeline.ReceivedHead(url: currentURL(work), head: head, expectedBytes: expectedBytes)
        ask(work) {
            try await didReceive(received)
        } then: { [self] result in
            // Synchronizes with the thread that started and paused the exchange.
            stripe.lock.withLock {}
            switch result {
            case .success(let decision): beginBody(work, head, expectedBytes, decision)
            case .failure(let error):
                // At the end of the total time, the timer cancels the hook.
                let isLate = error is CancellationError && limits(work) == nil
                let thrown = LoadError.thrown(error, by: "hook didReceive", url: plan.url.string, stage: .fetch)
                work.exchange.verdict = .failure(isLate ? timedOut() : thrown)
            }
            flow(work, isWanted: true)
        }
    }

    /// Calls a hook off the transport's thread. If the fetch is cancelled meanwhile, or its total time ends, the hook
    /// is cancelled; `body` runs only after the hook has returned.
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
            timer = clock.schedule(at: work.startedAt + total) { call.cancel() }
        }
        call.start(on: stage.taskExecutor, question) { [timer] result in
            timer?.cancel()
            body(result)
        }
    }
}
