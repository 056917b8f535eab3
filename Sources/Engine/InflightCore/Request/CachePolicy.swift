/// What a request wants of what is stored of earlier answers. The raw values are what the command line takes.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
    /// HTTP's rules (RFC 9111) decide, with the request's own `Cache-Control`.
    case obey
    /// The origin is asked whether what is stored still holds, whatever its age, and caches on the way are asked to pass
    /// the question on. What is `immutable` and fresh is not asked about (RFC 8246 section 2): a request with
    /// `Cache-Control: no-cache` asks about that too.
    case refresh
    /// Nothing stored is used, nor asked about: the origin, and caches on the way, are asked for all of it, and the response
    /// is stored in the place of what there was.
    case reload
    /// No origin is asked. What HTTP's rules would not let be used as it is fails, as `only-if-cached` does with status
    /// 504 (RFC 9111 section 5.2.1.7); `Cache-Control: max-stale` in the request lets stale answers pass as well.
    case onlyCached = "only-cached"
    /// What is stored is used whatever its age, and the origin asked only where nothing is, or where the stored answer
    /// itself forbids its use unasked (`no-cache`; `must-revalidate`, once it is stale).
    case preferCached = "prefer-cached"
    /// Nothing stored is used, and nothing of the exchange is stored.
    case noStore = "no-store"
}

extension CachePolicy {
    /// Whether what was answered before is not good enough, be it a response, an image in memory or a failure.
    var asksAnew: Bool {
        switch self {
        case .refresh, .reload, .noStore: true
        case .obey, .onlyCached, .preferCached: false
        }
    }
}
