import InflightConcurrency

// Reports to the circuit breaker, and the response that is served if the origin cannot be reached.

extension FetchJob {
    /// The minimum wait before a timeout counts. A request with a shorter timeout says nothing about the origin.
    private static let shortestTimeout = Duration.seconds(1)

    func noteAnswer(_ work: Work) {
        guard !work.exchange.hasAnswer else { return }
        work.exchange.hasAnswer = true
        engine.originAnswered(self, at: currentURL(work))
    }

    /// Returns whether an exchange ended without a connection, or timed out before any response.
    func isConnectionFailure(_ error: LoadError, _ work: Work) -> Bool {
        guard engine.hasCircuitBreaker, !work.exchange.hasAnswer else { return false }
        switch error.code {
        case .cannotConnect: return true
        case .timedOut: return engine.clock.now() - work.exchange.sentAt >= Self.shortestTimeout
        default: return false
        }
    }

    /// Returns the stored response that may be served if the origin cannot be reached (RFC 5861 section 4).
    func standIn(_ cache: CacheTransaction) -> StoredAnswer? {
        CacheOutcome.answer(after: .cannotConnect, found: cache.found, request: cache.request, now: engine.wallTime)
    }

    func serveStandIn(_ work: Work, instead refusal: LoadError) {
        result = nil
        work.refusal = refusal
        guard let cache = work.cache, let stale = standIn(cache) else { return finish(.failure(refusal)) }
        cache.changes = StoreChanges()
        readAndServe(stale, work, from: .disk)
    }
}
