import InflightConcurrency

// How a fetch keeps its request's minimum rate: from the first piece of a body that does not end with it.

extension FetchJob {
    /// Counts a piece that came off the wire.
    func noteRate(_ bytes: Int, _ work: Work) {
        let isWatched = stripe.lock.withLock {
            work.rate?.received(bytes)
            return work.rate != nil
        }
        guard !isWatched, work.expectedBytes.map({ work.rawBytes < $0 }) ?? true else { return }
        watchRate(work, receivedBytes: bytes)
    }

    func watchRate(_ work: Work, receivedBytes: Int) {
        let now = engine.clock.now()
        guard var rate = RateMonitor(plan.request.limits, at: now), case .checkAgain(let time) = rate.check(at: now)
        else { return }
        rate.received(receivedBytes)
        stripe.lock.withLock { work.rate = rate }
        engine.rates.add(self, checkAt: time)
    }

    /// Ends the exchange where it is too slow.
    ///
    /// - Returns: when to ask again.
    func checkRate(at now: MonotonicTime) -> MonotonicTime? {
        let (next, transfer): (MonotonicTime?, (any Transfer)?) = stripe.lock.withLock {
            guard let work, let verdict = work.rate?.check(at: now) else { return (nil, nil) }
            switch verdict {
            case .checkAgain(let time): return (time, nil)
            case .paused: return (nil, nil)
            case .tooSlow:
                work.isTooSlow = true
                return (nil, work.transfer)
            }
        }
        transfer?.cancel()
        return next
    }

    /// Stops watching the exchange, which has ended.
    ///
    /// - Returns: how it ended: this job may have stopped it for being too slow.
    func endRate(
        _ ending: Result<TransportSummary, LoadError>, _ work: Work
    ) -> Result<TransportSummary, LoadError> {
        let (wasWatched, isTooSlow) = stripe.lock.withLock {
            (work.rate.take() != nil, work.isTooSlow.take() && !isCancelled)
        }
        if wasWatched { engine.rates.remove(self) }
        guard isTooSlow, case .failure = ending else { return ending }
        let limits = plan.request.limits
        let host = currentURL(work).origin?.description ?? "the source"
        return .failure(
            LoadError(
                .timedOut, stage: .fetch,
                message: "The transfer was too slow: \(host) sent less than \(limits.minimumBytesPerSecond) bytes per "
                    + "second over \((limits.minimumRatePeriod as Duration?).text). Try later, or lower the minimum rate."
            ))
    }
}

extension Bool {
    fileprivate mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
