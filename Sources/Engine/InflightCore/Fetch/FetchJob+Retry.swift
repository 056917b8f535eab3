import InflightConcurrency

// Retries after transient failures. The fetch waits without a slot, and resumes its body if it can.

extension FetchJob {
    /// The reaction to a failure.
    enum Remedy {
        /// No retry: the load fails with this error.
        case none(LoadError)
        /// A retry: the job was reset, and waits with this step.
        case again(JobStep)
    }

    /// - Parameters:
    ///   - error: the error with which the load would fail.
    ///   - head: the head of the response, if the failure is a response.
    func remedy(for error: LoadError, _ head: ResponseHead?, _ work: Work) -> Remedy {
        guard engine.retry != nil, currentURL(work).origin != nil, error.code != .cancelled else { return .none(error) }
        work.attempts.failed += 1
        work.attempts.isRepeatOfLoss = error.code == .connectionLost
        let failure = head.map { RetryPolicy.Failure.answer($0) } ?? .error(error.code)
        let method = work.redirected?.method ?? plan.request.method
        let decision = engine.decideRetry(
            after: failure, method: method, failedTries: work.attempts.failed, origin: currentURL(work).originKey)
        switch decision {
        case .fail: return .none(error)
        case .comeBack:
            let now = engine.clock.now()
            if let memory = engine.retry?.memory(of: decision), memory > .zero {
                let url = currentURL(work).string
                engine.retryBudgets.remember(error, of: url, until: now + memory, now: now)
            }
            return .none(error)
        case .retry(let after):
            tell(.retries(after: after, why: head.map { "status \($0.status)" } ?? error.message))
            engine.log(.notice, "retrying later") {
                [
                    ("url", currentURL(work).string), ("because", error.description),
                    ("after", "\(after.saturatedNanoseconds / 1_000_000) ms"),
                ]
            }
            return .again(sleep(work, for: after, canGoOn: head == nil))
        }
    }

    /// - Parameter canGoOn: whether the received part of the body is valid.
    private func sleep(_ work: Work, for wait: Duration, canGoOn: Bool) -> JobStep {
        let resumption = canGoOn && work.exchange.verdict == nil ? part(of: work).flatMap { Resumption(of: $0) } : nil
        if var resumption {
            work.exchange = Exchange()
            sleepBody(work)
            resumption.id = work.response.storedPart
            work.resumption = resumption
        } else {
            beginAnew(work)
        }
        // The total time covers the attempts, but not the waits between them.
        work.startedAt = work.startedAt + wait
        // The clock may be the program's own code, so it is read without the lock.
        let time = engine.clock.now() + wait
        stripe.lock.withLock { work.machine.waits(for: .time(time)) }
        return JobStep(job: self, event: .slept)
    }

    /// Returns the received part of a broken body, as if it were stored.
    private func part(of work: Work) -> StoredResponse? {
        guard let head = work.response.head, head.version != .none else { return nil }
        let now = engine.wallTime
        return StoredResponse(
            method: work.redirected?.method ?? plan.request.method, url: currentURL(work).string,
            selectingFields: HTTPFields(), head: head, requestTime: work.cache?.requestTime ?? now,
            responseTime: work.cache?.responseTime ?? now, bodyRange: 0..<work.response.rawBytes,
            totalLength: Resumption.announcedLength(head.fields))
    }
}
