import InflightCore

// HTTP's storage rules (RFC 9111) in their simplest form. They are written from the RFC and from
// Documentation/Caching.md, and the real cache is compared with them. Times are milliseconds since 1970.

/// The head of one response as a server sends it.
public struct ServerHead: Sendable, Hashable {
    public var status: Int
    /// The version of the body. Two responses of one version have the same bytes.
    public var version: Int
    public var hasTag = false
    public var isWeak = false
    /// The last modification, in seconds since 1970.
    public var lastModified: Int64?
    public var date: Int64?
    /// The age in seconds.
    public var age: Int64?
    public var maxAge: Int64?
    public var staleWhileRevalidate: Int64?
    public var staleIfError: Int64?
    public var retryAfter: Int64?
    public var noStore = false
    public var noCache = false
    public var mustRevalidate = false
    public var isImmutable = false
    /// Whether `Vary` names the header field in which callers differ.
    public var variesByCaller = false

    public init(status: Int, version: Int) {
        self.status = status
        self.version = version
    }

    public var tag: String? { hasTag ? (isWeak ? "W/" : "") + "\"v\(version)\"" : nil }

    /// The `Cache-Control` value; empty if the field is not sent.
    public var control: String {
        var words: [String] = []
        if let maxAge { words.append("max-age=\(maxAge)") }
        if let staleWhileRevalidate { words.append("stale-while-revalidate=\(staleWhileRevalidate)") }
        if let staleIfError { words.append("stale-if-error=\(staleIfError)") }
        if noStore { words.append("no-store") }
        if noCache { words.append("no-cache") }
        if mustRevalidate { words.append("must-revalidate") }
        if isImmutable { words.append("immutable") }
        return words.joined(separator: ", ")
    }

    /// Whether the validator is strong (RFC 9110 sections 8.8.1 and 8.8.2.2).
    var hasStrongValidator: Bool {
        if hasTag { return !isWeak }
        guard let lastModified, let date else { return false }
        return date > lastModified
    }

    var hasValidator: Bool { hasTag || lastModified != nil }

    /// Returns this head updated by a newer head of the same bytes (RFC 9111 section 3.2).
    func updated(by newer: ServerHead) -> ServerHead {
        var head = self
        (head.date, head.age) = (newer.date, newer.age)
        // A field that is sent replaces the old one of its name. A field that is not sent stays.
        if !newer.control.isEmpty {
            (head.maxAge, head.staleWhileRevalidate, head.staleIfError) =
                (newer.maxAge, newer.staleWhileRevalidate, newer.staleIfError)
            (head.noStore, head.noCache, head.mustRevalidate, head.isImmutable) =
                (newer.noStore, newer.noCache, newer.mustRevalidate, newer.isImmutable)
        }
        if newer.variesByCaller { head.variesByCaller = true }
        if newer.lastModified != nil { head.lastModified = newer.lastModified }
        return head
    }
}

/// A stored response as plain values and times.
public struct StoredCopy: Sendable, Hashable {
    public internal(set) var id: Int64
    var key: String
    var head: ServerHead
    /// Whether the request had the field in which callers differ.
    var isOfCaller: Bool
    var hasCredentials: Bool
    var requestTime: Int64
    var responseTime: Int64
    /// The number of body bytes that are stored, and the length of the whole body.
    var end: Int
    var total: Int?
    /// Whether the response may be stored. This depends on its request as well.
    var mayBeStored = false

    var isComplete: Bool { end == total }

    private var date: Int64 { head.date.map { $0 * 1000 } ?? responseTime }

    /// Returns the age (RFC 9111 section 4.2.3), compared in whole seconds as `Date` is.
    func age(at now: Int64) -> Int64 {
        let apparent = max(0, responseTime / 1000 * 1000 - date)
        let corrected = (head.age ?? 0) * 1000 + max(0, responseTime - requestTime)
        return max(apparent, corrected) + max(0, now - responseTime)
    }

    /// The freshness lifetime (RFC 9111 sections 4.2.1 and 4.2.2).
    var lifetime: Int64 {
        if let maxAge = head.maxAge { return maxAge * 1000 }
        guard head.status == 200 || head.status == 404, let lastModified = head.lastModified else { return 0 }
        return max(0, date - lastModified * 1000) / 10
    }

    func isFresh(at now: Int64) -> Bool { lifetime > age(at: now) }

    func staleness(at now: Int64) -> Int64 { age(at: now) - lifetime }

    /// Returns whether `left` is the more recent match, which is selected (RFC 9111 section 4).
    static func isMoreRecent(_ left: StoredCopy, _ right: StoredCopy) -> Bool {
        (left.date, left.responseTime, left.id) > (right.date, right.responseTime, right.id)
    }
}

/// The header fields that the engine adds to a request.
public struct Conditions: Sendable, Hashable {
    /// The `If-None-Match` tags, sorted.
    public var tags: [String] = []
    /// Whether `If-Modified-Since` is sent.
    public var hasSince = false
    /// The first byte of `Range`, and whether `If-Range` is sent.
    public var offset: Int?
    public var hasIfRange = false

    public init() {}
}

/// The properties of a request that the caching rules use.
struct CachedRequest {
    var policy: ImageRequest.CachePolicy
    var isOfCaller: Bool
    var hasCredentials: Bool

    var mayAsk: Bool { policy != .onlyCached }

    func matching(_ found: [StoredCopy]) -> [StoredCopy] {
        found.filter { $0.hasCredentials == hasCredentials && (!$0.head.variesByCaller || $0.isOfCaller == isOfCaller) }
            .sorted(by: StoredCopy.isMoreRecent)
    }

    /// Returns the other variants that the origin may select by their tags. They have the same credentials.
    private func others(_ found: [StoredCopy]) -> [StoredCopy] {
        found.filter { $0.hasCredentials == hasCredentials && $0.head.variesByCaller && $0.isOfCaller != isOfCaller }
            .sorted(by: StoredCopy.isMoreRecent)
    }

    enum Decision {
        case serve(StoredCopy, isStale: Bool)
        /// Serves the stale copy, and revalidates it in the background.
        case serveStale(StoredCopy)
        case ask(Conditions, offered: [StoredCopy])
        case resume(StoredCopy)
        case fail

        /// The copy whose body is read.
        var copy: StoredCopy? {
            switch self {
            case .serve(let copy, _), .serveStale(let copy), .resume(let copy): copy
            case .ask, .fail: nil
            }
        }
    }

    func decide(_ found: [StoredCopy], now: Int64) -> Decision {
        let matching = matching(found)
        if policy != .reload, let first = matching.first(where: \.isComplete) {
            switch reuse(first, now) {
            case .allowed: return .serve(first, isStale: !first.isFresh(at: now))
            case .whileRevalidating:
                return mayAsk ? .serveStale(first) : .serve(first, isStale: true)
            case .forbidden: break
            }
        }
        guard mayAsk else { return .fail }
        if policy == .reload { return .ask(Conditions(), offered: []) }
        for copy in matching {
            if copy.isComplete, copy.head.hasValidator { break }
            if copy.end > 0, !copy.isComplete, copy.head.status == 200, copy.head.hasStrongValidator {
                return .resume(copy)
            }
        }
        return conditionalRequest(found)
    }

    /// Returns the conditional request (RFC 9111 section 4.3.1).
    func conditionalRequest(_ found: [StoredCopy]) -> Decision {
        let matching = matching(found).filter(\.isComplete)
        var conditions = Conditions()
        let tagged = (matching + others(found).filter(\.isComplete)).filter(\.head.hasTag)
        var offered = tagged
        if tagged.isEmpty {
            offered = matching.first { $0.head.lastModified != nil }.map { [$0] } ?? []
        }
        conditions.tags = Set(tagged.compactMap(\.head.tag)).sorted()
        if offered.count == 1, let only = offered.first, only.head.lastModified != nil, matching.contains(only) {
            conditions.hasSince = true
        }
        return .ask(conditions, offered: offered)
    }

    private enum Reuse { case allowed, whileRevalidating, forbidden }

    /// Returns whether a copy may be reused (RFC 9111 section 4.2, RFC 5861 section 3, RFC 8246).
    private func reuse(_ copy: StoredCopy, _ now: Int64) -> Reuse {
        let isFresh = copy.isFresh(at: now)
        if copy.head.noCache { return .forbidden }
        switch policy {
        case .refresh: return copy.head.isImmutable && isFresh ? .allowed : .forbidden
        case .preferCached: return isFresh || !copy.head.mustRevalidate ? .allowed : .forbidden
        case .obey, .onlyCached, .noStore, .reload: break
        }
        if isFresh { return .allowed }
        guard !copy.head.mustRevalidate, let window = copy.head.staleWhileRevalidate,
            copy.staleness(at: now) <= window * 1000
        else { return .forbidden }
        return .whileRevalidating
    }

    /// Returns the stale copy that may replace an error (RFC 5861 section 4).
    func staleOnError(_ found: [StoredCopy], now: Int64) -> StoredCopy? {
        guard policy != .refresh, policy != .reload, policy != .noStore,
            let copy = matching(found).first(where: { $0.isComplete && $0.head.status < 500 }),
            !copy.head.noCache, copy.isFresh(at: now) || !copy.head.mustRevalidate,
            let window = copy.head.staleIfError, copy.staleness(at: now) <= window * 1000
        else { return nil }
        return copy
    }

    /// Returns whether a response may be stored (RFC 9111 section 3) and could ever be reused.
    func mayStore(_ copy: StoredCopy) -> Bool {
        let head = copy.head
        if policy == .noStore || head.noStore { return false }
        guard head.maxAge != nil || head.status == 200 || head.status == 404 else { return false }
        let isEverFresh = copy.lifetime > 0
        if !head.hasValidator, head.noCache || head.mustRevalidate && !isEverFresh { return false }
        return head.status == 200 || head.staleIfError != nil || isEverFresh
    }
}
