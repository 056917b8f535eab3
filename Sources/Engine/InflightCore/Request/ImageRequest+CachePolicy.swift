extension ImageRequest {
    /// The policy for using stored responses. The raw values are the arguments of the command line option.
    public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
        /// Follows HTTP caching (RFC 9111), with the request's own `Cache-Control`.
        case obey
        /// Revalidates the stored response with the origin, whatever its age, and asks caches on the path to do the
        /// same. A fresh `immutable` response is not revalidated (RFC 8246 section 2), unless the request has
        /// `Cache-Control: no-cache`.
        case refresh
        /// Neither uses nor revalidates stored responses. The origin, and caches on the path, send the complete
        /// response, which replaces the stored one.
        case reload
        /// Contacts no origin. Unless HTTP allows a stored response to be used without revalidation, the load fails, as
        /// `only-if-cached` does with status 504 (RFC 9111 section 5.2.1.7). `Cache-Control: max-stale` allows stale
        /// ones.
        case onlyCached = "only-cached"
        /// Uses a stored response whatever its age. The origin is contacted only if nothing is stored, or if the stored
        /// response requires revalidation (`no-cache`, or `must-revalidate` once it is stale).
        case preferCached = "prefer-cached"
        /// Uses nothing stored, and stores nothing of the exchange.
        case noStore = "no-store"
    }
}

extension ImageRequest.CachePolicy {
    /// Whether earlier results (responses, images in memory, failures) are not good enough.
    var needsNewResult: Bool {
        switch self {
        case .refresh, .reload, .noStore: true
        case .obey, .onlyCached, .preferCached: false
        }
    }
}
