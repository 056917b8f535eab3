import InflightConcurrency

// What a fetch does about a failure that may pass: it sleeps without a place, and goes on where it stopped if it can.

extension FetchJob {
    /// What to do about a failure.
    enum Remedy {
        /// Nothing: the load fails with this.
        case none(LoadError)
        /// The job has begun anew, and waits for this.
        case again(JobStep)
    }

    /// - Parameters:
    ///   - error: what the load would fail with.
    ///   - head: the answer, where the failure is one.
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
            engine.log(.notice, "tries again later") {
                [
                    ("url", currentURL(work).string), ("because", error.description),
                    ("after", "\(after.saturatedNanoseconds / 1_000_000) ms"),
                ]
            }
            return .again(sleep(work, for: after, canGoOn: head == nil))
        }
    }

    /// - Parameter canGoOn: whether what came of the body is good as far as it goes.
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
        // The whole time counts tries, not the waits between them.
        work.startedAt = work.startedAt + wait
        // A clock may be anybody's: looked at without the lock.
        let time = engine.clock.now() + wait
        stripe.lock.withLock { work.machine.waits(for: .time(time)) }
        return JobStep(job: self, event: .slept)
    }

    /// What is in memory of a body that broke, as if it were stored.
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
