import InflightCore

// HTTP's rules for what is stored (RFC 9111), as plain as can be: written from the RFC and from Documentation/Caching.md,
// they are what the real cache is compared with. Times are milliseconds since 1970.

/// What a server says of one answer.
public struct AnswerHead: Sendable, Hashable {
    public var status: Int
    /// Which bytes: two answers of one version hold the same.
    public var version: Int
    public var hasTag = false
    public var isWeak = false
    /// In seconds since 1970.
    public var lastModified: Int64?
    public var date: Int64?
    /// In seconds.
    public var age: Int64?
    public var maxAge: Int64?
    public var staleWhileRevalidate: Int64?
    public var staleIfError: Int64?
    public var retryAfter: Int64?
    public var noStore = false
    public var noCache = false
    public var mustRevalidate = false
    public var isImmutable = false
    /// `Vary` names the field by which callers differ.
    public var variesByCaller = false

    public init(status: Int, version: Int) {
        self.status = status
        self.version = version
    }

    public var tag: String? { hasTag ? (isWeak ? "W/" : "") + "\"v\(version)\"" : nil }

    /// `Cache-Control`; empty where it is not sent.
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

    /// RFC 9110 sections 8.8.1 and 8.8.2.2.
    var hasStrongValidator: Bool {
        if hasTag { return !isWeak }
        guard let lastModified, let date else { return false }
        return date > lastModified
    }

    var hasValidator: Bool { hasTag || lastModified != nil }

    /// RFC 9111 section 3.2: what a newer head of the same bytes changes.
    func updated(by newer: AnswerHead) -> AnswerHead {
        var head = self
        (head.date, head.age) = (newer.date, newer.age)
        // What is sent takes the place of the old field of its name; what is not sent stays.
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

/// What is kept of one answer: what a dictionary with dates would hold.
public struct StoredCopy: Sendable, Hashable {
    public internal(set) var id: Int64
    var key: String
    var head: AnswerHead
    /// Whom it was chosen for.
    var isOfCaller: Bool
    var hasProof: Bool
    var requestTime: Int64
    var responseTime: Int64
    /// How many bytes of it are there, and how many there are.
    var end: Int
    var total: Int?
    /// Whether it may be kept at all: that is its request's to say too.
    var mayBeKept = false

    var isComplete: Bool { end == total }

    private var date: Int64 { head.date.map { $0 * 1000 } ?? responseTime }

    /// RFC 9111 section 4.2.3, compared to the second, as `Date` is.
    func age(at now: Int64) -> Int64 {
        let apparent = max(0, responseTime / 1000 * 1000 - date)
        let corrected = (head.age ?? 0) * 1000 + max(0, responseTime - requestTime)
        return max(apparent, corrected) + max(0, now - responseTime)
    }

    /// RFC 9111 sections 4.2.1 and 4.2.2.
    var lifetime: Int64 {
        if let maxAge = head.maxAge { return maxAge * 1000 }
        guard head.status == 200 || head.status == 404, let lastModified = head.lastModified else { return 0 }
        return max(0, date - lastModified * 1000) / 10
    }

    func isFresh(at now: Int64) -> Bool { lifetime > age(at: now) }

    func staleness(at now: Int64) -> Int64 { age(at: now) - lifetime }

    /// Of several that fit, the most recent one counts (RFC 9111 section 4).
    static func isMoreRecent(_ left: StoredCopy, _ right: StoredCopy) -> Bool {
        (left.date, left.responseTime, left.id) > (right.date, right.responseTime, right.id)
    }
}

/// What goes out with a request beside what its caller wants.
public struct Conditions: Sendable, Hashable {
    /// `If-None-Match`, sorted.
    public var tags: [String] = []
    /// `If-Modified-Since` is there.
    public var hasSince = false
    /// `Range`: from this byte on, and what `If-Range` says.
    public var offset: Int?
    public var hasIfRange = false

    public init() {}
}

/// A request, as the rules look at it.
struct CachedRequest {
    var policy: CachePolicy
    var isOfCaller: Bool
    var hasProof: Bool

    var mayAsk: Bool { policy != .onlyCached }

    func matching(_ found: [StoredCopy]) -> [StoredCopy] {
        found.filter { $0.hasProof == hasProof && (!$0.head.variesByCaller || $0.isOfCaller == isOfCaller) }
            .sorted(by: StoredCopy.isMoreRecent)
    }

    /// Other variants, which the origin may choose by their tags: of the same person.
    private func others(_ found: [StoredCopy]) -> [StoredCopy] {
        found.filter { $0.hasProof == hasProof && $0.head.variesByCaller && $0.isOfCaller != isOfCaller }
            .sorted(by: StoredCopy.isMoreRecent)
    }

    enum Decision {
        case serve(StoredCopy, isStale: Bool)
        /// The same, and the origin is asked behind the caller's back.
        case serveStale(StoredCopy)
        case ask(Conditions, offered: [StoredCopy])
        case resume(StoredCopy)
        case fail

        /// The copy whose body is needed.
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
        return question(found)
    }

    /// RFC 9111 section 4.3.1.
    func question(_ found: [StoredCopy]) -> Decision {
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

    /// RFC 9111 section 4.2, RFC 5861 section 3, RFC 8246.
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

    /// RFC 5861 section 4: what stands in for an error.
    func standIn(_ found: [StoredCopy], now: Int64) -> StoredCopy? {
        guard policy != .refresh, policy != .reload, policy != .noStore,
            let copy = matching(found).first(where: { $0.isComplete && $0.head.status < 500 }),
            !copy.head.noCache, copy.isFresh(at: now) || !copy.head.mustRevalidate,
            let window = copy.head.staleIfError, copy.staleness(at: now) <= window * 1000
        else { return nil }
        return copy
    }

    /// RFC 9111 section 3, and whether it could ever be of use.
    func mayKeep(_ copy: StoredCopy) -> Bool {
        let head = copy.head
        if policy == .noStore || head.noStore { return false }
        guard head.maxAge != nil || head.status == 200 || head.status == 404 else { return false }
        let isEverFresh = copy.lifetime > 0
        if !head.hasValidator, head.noCache || head.mustRevalidate && !isEverFresh { return false }
        return head.status == 200 || head.staleIfError != nil || isEverFresh
    }
}
