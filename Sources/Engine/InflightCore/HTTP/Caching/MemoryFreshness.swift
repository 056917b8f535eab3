/// The rules of HTTP for images in memory that were made from one response (RFC 9111 sections 3, 4.2 and 5.2.2).
struct MemoryFreshness: Equatable {
    /// The freshness lifetime, in milliseconds, of a response that states none (RFC 9111 section 4.2.2), so that
    /// scrolling a list back and forth does not fetch again and again from a server without caching rules.
    static let heuristicLifetime: Int64 = 300_000

    /// Whether the images may be cached at all: with `no-store`, only tasks in flight receive them.
    var mayBeKept: Bool
    /// The time at which the images become stale.
    var expiry: WallTime
    /// Whether a request that prefers cached images may receive stale ones.
    var mayBeServedStale: Bool

    init(mayBeKept: Bool, expiry: WallTime, mayBeServedStale: Bool) {
        (self.mayBeKept, self.expiry, self.mayBeServedStale) = (mayBeKept, expiry, mayBeServedStale)
    }

    init(of response: StoredResponse) {
        let control = response.cacheControl
        mayBeKept =
            !control.noStore || control.mustUnderstand && Freshness.heuristicStatuses.contains(response.head.status)
        let freshness = Freshness(of: response, control, at: response.responseTime)
        let isUnstated =
            control.maxAge == nil && !response.head.fields.contains("expires") && response.lastModified == nil
            && !control.mustRevalidate && Freshness.heuristicStatuses.contains(response.head.status)
        let lifetime = isUnstated ? Self.heuristicLifetime : freshness.lifetime
        // With `Vary: *`, no later request can be known to match.
        let mustAsk = control.noCache || !mayBeKept || VaryFields.names(of: response.head) == nil
        expiry =
            mustAsk ? WallTime(milliseconds: 0) : response.responseTime.adding(milliseconds: lifetime - freshness.age)
        mayBeServedStale = !mustAsk && !control.mustRevalidate
    }
}
