/// What HTTP lets a memory cache do with the images made of one response (RFC 9111 sections 3, 4.2 and 5.2.2).
struct MemoryFreshness: Equatable {
    /// The freshness lifetime of a response that says nothing about it (RFC 9111 section 4.2.2), in milliseconds: a list
    /// that scrolls back and forth is not fetched again and again from a server without caching rules.
    static let heuristicLifetime: Int64 = 300_000

    /// Whether the images may be kept at all: `no-store` is for those in flight alone.
    var mayBeKept: Bool
    /// When they become stale.
    var expiry: WallTime
    /// Whether a request that prefers what is cached may have them when they are stale.
    var mayBeServedStale: Bool

    init(mayBeKept: Bool, expiry: WallTime, mayBeServedStale: Bool) {
        (self.mayBeKept, self.expiry, self.mayBeServedStale) = (mayBeKept, expiry, mayBeServedStale)
    }

    init(of response: StoredResponse) {
        let control = response.cacheControl
        mayBeKept =
            !control.noStore || control.mustUnderstand && Freshness.heuristicStatuses.contains(response.head.status)
        let freshness = Freshness(of: response, at: response.responseTime)
        let isUnstated =
            control.maxAge == nil && !response.head.fields.contains("expires") && response.lastModified == nil
            && !control.mustRevalidate && Freshness.heuristicStatuses.contains(response.head.status)
        let lifetime = isUnstated ? Self.heuristicLifetime : freshness.lifetime
        // `Vary: *`: no later request can be known to be the same.
        let mustAsk = control.noCache || !mayBeKept || SelectingFields.names(of: response.head) == nil
        expiry =
            mustAsk ? WallTime(milliseconds: 0) : response.responseTime.adding(milliseconds: lifetime - freshness.age)
        mayBeServedStale = !mustAsk && !control.mustRevalidate
    }
}
