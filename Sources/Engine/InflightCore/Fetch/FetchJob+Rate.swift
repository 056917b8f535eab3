import InflightConcurrency

// The check of the request's minimum rate, from the first piece of a body that does not end with it.

extension FetchJob {
    /// Counts the bytes of a received piece.
    func noteRate(_ bytes: Int, _ work: Work) {
        if work.exchange.isWatched { return stripe.lock.withLock { work.machine.received(bytes) } }
        if work.response.expectedBytes.map({ work.response.rawBytes < $0 }) ?? true {
            watchRate(work, receivedBytes: bytes)
        }
    }

    func watchRate(_ work: Work, receivedBytes: Int) {
        let now = engine.clock.now()
        guard var rate = RateMonitor(plan.request.limits, at: now), case .checkAgain(let time) = rate.check(at: now)
        else { return }
        rate.received(receivedBytes)
        work.exchange.isWatched = true
        stripe.lock.withLock { work.machine.watches(rate) }
        engine.rates.add(self, checkAt: time)
    }

    /// Cancels the transfer if it is too slow.
    ///
    /// - Returns: the time of the next check.
    func checkRate(at now: MonotonicTime) -> MonotonicTime? {
        let (next, transfer) = stripe.lock.withLock { work?.machine.rateChecked(at: now) ?? (nil, nil) }
        transfer?.cancel()
        return next
    }

    /// Returns the error of an exchange that was stopped because it was too slow.
    func tooSlow(_ work: Work) -> LoadError {
        let limits = plan.request.limits
        let host = currentURL(work).origin?.description ?? "the source"
        return LoadError(
            .timedOut, stage: .fetch,
            message: "The transfer was too slow: \(host) sent less than \(limits.minimumBytesPerSecond) bytes per "
                + "second over \((limits.minimumRatePeriod as Duration?).text). Lower the minimum (--min-rate).")
    }
}
