/// The decision about a request, made from the stored entries before anything is sent (RFC 9111 section 4).
///
/// The path of a request through the cache:
///
/// 1. ``ResponseStore/find(_:choose:completion:)``, with ``decide(found:request:now:)`` called in `choose`, which
///    returns ``chosenPosition`` so that the body is read in the same step. The request's header fields are those that
///    would be sent without a cache, credentials of the URL included.
/// 2. ``serve(_:)`` and ``fail(_:)`` end the request, the latter with that head. ``serveStale(_:revalidating:)`` ends
///    it too, while the exchange runs in the background, for the store only.
/// 3. ``exchange(_:)``: ``CacheExchange/fields(from:)`` is sent. The head of the response is evaluated by
///    ``ResponseCacheDecision/decide(head:exchange:found:request:requestTime:responseTime:)``. Without a response,
///    ``ResponseCacheDecision/answer(after:found:request:now:)`` decides whether to serve a stale one.
/// 4. ``resume(_:)``: ``Resumption/fields(from:)`` is sent, then ``Resumption/verdict(on:requestTime:responseTime:)``.
package enum CacheDecision: Hashable, Sendable {
    case serve(ServedResponse)
    case serveStale(ServedResponse, revalidating: CacheExchange)
    case exchange(CacheExchange)
    case resume(Resumption)
    /// No stored response may be used, and no request may be sent: status 504 (RFC 9111 section 5.2.1.7).
    case fail(ResponseHead)

    /// The entry whose body is needed now, to be served or resumed. If the body is damaged, its entry is removed, and
    /// the decision is made again from the remaining entries.
    package var chosenPosition: Int? {
        switch self {
        case .serve(let answer), .serveStale(let answer, _): answer.bytes == nil ? nil : answer.position
        case .resume(let resumption): resumption.position
        case .exchange, .fail: nil
        }
    }

    package static func decide(found: [StoredEntry], request: CachingRequest, now: WallTime) -> CacheDecision {
        let control = CacheControl(request: request.fields)
        let mayAsk = request.allowsNetwork(control)
        guard request.isReading, !request.bypassesStore(control), !request.hasOriginConditions else {
            return mayAsk ? .exchange(CacheExchange()) : .fail(Self.gatewayTimeout)
        }
        if request.policy == .reload {
            return mayAsk ? .exchange(CacheExchange(reloading: request, control)) : .fail(Self.gatewayTimeout)
        }
        let candidates = CacheCandidates(found, request)
        for position in candidates.matching {
            let own = candidates.controls[position]
            guard let answer = ServedResponse(found[position], own, at: position, for: request, now: now) else {
                continue
            }
            switch Reuse(of: answer, for: request, control) {
            case .allowed: return .serve(answer)
            case .whileRevalidating where !mayAsk: return .serve(answer)
            case .whileRevalidating:
                return .serveStale(answer, revalidating: CacheExchange(behind: request, candidates, found))
            case .forbidden: break
            }
            // Of several matching responses, the most recent one counts (RFC 9111 section 4).
            break
        }
        guard mayAsk else { return .fail(Self.gatewayTimeout) }
        if let resumption = candidates.resumption(found, request) { return .resume(resumption) }
        return .exchange(CacheExchange(for: request, control, candidates, found))
    }

    static let gatewayTimeout = ResponseHead(status: 504, fields: HTTPFields([("Content-Length", "0")]))
}

/// Whether a stored response may be used without a request (RFC 9111 section 4.2).
private enum Reuse {
    case allowed
    /// Allowed with a revalidation in the background (RFC 5861 section 3).
    case whileRevalidating
    case forbidden

    init(of answer: ServedResponse, for request: CachingRequest, _ control: CacheControl) {
        let (own, freshness) = (answer.control, answer.freshness)
        if own.noCache || control.noCache {
            self = .forbidden
        } else if request.policy == .refresh {
            self = own.isImmutable && freshness.isFresh ? .allowed : .forbidden
        } else if request.policy == .preferCached {
            self = freshness.isFresh || !own.mustRevalidate ? .allowed : .forbidden
        } else if control.maxAge.map({ $0 == 0 || freshness.age > $0 * 1000 }) ?? false {
            self = .forbidden
        } else if freshness.isFresh {
            self = -freshness.staleness >= (control.minFresh ?? 0) * 1000 ? .allowed : .forbidden
        } else {
            self = Self.stale(freshness, own, request, control)
        }
    }

    /// Allows a stale response only if a directive allows it and none forbids it (RFC 9111 section 4.2.4).
    private static func stale(
        _ freshness: Freshness, _ own: CacheControl, _ request: CachingRequest, _ control: CacheControl
    ) -> Reuse {
        guard !own.mustRevalidate, !freshness.isUnknown, control.minFresh == nil else { return .forbidden }
        if let maxStale = control.maxStale,
            freshness.staleness / 1000 < maxStale || freshness.staleness == maxStale * 1000
        {
            return .allowed
        }
        guard control.maxAge == nil, request.method == "GET", let window = own.staleWhileRevalidate,
            freshness.staleness <= window * 1000
        else { return .forbidden }
        return .whileRevalidating
    }
}

/// How to send a request that no stored response can serve: as the caller made it, or with conditions for stored
/// responses (RFC 9111 section 4.3.1).
package struct CacheExchange: Hashable, Sendable {
    /// Header fields that replace the request's own fields with the same names.
    package var setting = HTTPFields()
    /// The names of the request's own fields that are not sent, in lower case.
    package var removing: [String] = []
    /// The positions of the entries that a 304 may refer to, the most recent first. If empty, a 304 is passed to the
    /// caller.
    package var offered: [Int] = []
    /// Whether the caller already has a response, and the exchange is only for the store.
    package var isBackground = false

    /// The maximum number of entity tags to send. Each costs bytes in every request.
    static let maximumTags = 16

    /// Creates an exchange that sends the request as the caller made it.
    package init() {}

    /// Returns the request's header fields with the changes of this exchange.
    package func fields(from request: HTTPFields) -> HTTPFields {
        var fields = request
        for name in removing { fields.remove(name) }
        for index in 0..<setting.count { fields.remove(setting.name(index)) }
        for index in 0..<setting.count { fields.append(name: setting.rawName(index), value: setting.rawValue(index)) }
        return fields
    }

    /// Creates an exchange for the whole response, bypassing intermediate caches (RFC 9111 section 5.2.1.4).
    init(reloading request: CachingRequest, _ control: CacheControl) {
        guard !control.noCache else { return }
        let own = request.fields.values("cache-control")
        setting.set("Cache-Control", (["no-cache"] + own).joined(separator: ", "))
    }

    /// Creates an exchange for a caller that waits for the response.
    init(for request: CachingRequest, _ control: CacheControl, _ candidates: CacheCandidates, _ found: [StoredEntry]) {
        if request.policy == .refresh, !control.noCache, control.maxAge != 0 {
            // Intermediate caches must revalidate too (RFC 9111 section 5.2.1.1). The first of two directives counts.
            let own = request.fields.values("cache-control")
            setting.set("Cache-Control", (["max-age=0"] + own).joined(separator: ", "))
        }
        guard request.method == "GET" else { return }
        let own = EntityTagCondition("if-none-match", of: request.fields)
        if own == .any { return }
        offer(candidates, found, to: request, own)
    }

    /// Creates an exchange that asks whether the responses that processed images were made from are still valid.
    init(confirming images: [StoredEntry], for request: CachingRequest) {
        let found = ProcessedImages.originals(of: images)
        self.init(for: request, CacheControl(request: request.fields), CacheCandidates(found, request), found)
    }

    /// Creates an exchange only for the store, without the caller's conditions and range.
    init(behind request: CachingRequest, _ candidates: CacheCandidates, _ found: [StoredEntry]) {
        let left = CachingRequest.conditions + ["range", "if-range"]
        var own = request
        for name in left { own.fields.remove(name) }
        removing = left.filter { request.fields.contains($0) }
        isBackground = true
        offer(candidates, found, to: own, nil)
    }

    private mutating func offer(
        _ candidates: CacheCandidates, _ found: [StoredEntry], to request: CachingRequest, _ own: EntityTagCondition?
    ) {
        // After a 304, a partly stored entry could not serve the request, unless the part is all that is requested.
        let matching = candidates.matching.filter { position in
            ServedResponse(found[position], at: position, for: request, now: found[position].response.responseTime)
                != nil
        }
        let others = candidates.others.filter { found[$0].response.isComplete }
        let tagged = (matching + others).filter { found[$0].response.entityTag != nil }.prefix(Self.maximumTags)
        if !tagged.isEmpty {
            offered = Array(tagged)
            var tags: [EntityTag] = []
            if case .tags(let list)? = own { tags = list }
            for tag in tagged.compactMap({ found[$0].response.entityTag }) where !tags.contains(tag) {
                tags.append(tag)
            }
            setting.append(name: "If-None-Match".utf8, value: Array(tags.map(\.text).joined(separator: ", ".utf8)))
        } else if own == nil, let position = matching.first(where: { found[$0].response.lastModified != nil }) {
            offered = [position]
        }
        guard let only = offered.first else { return }
        if offered.count == 1, matching.contains(only),
            let date = found[only].response.head.fields.rawValues("last-modified").first,
            found[only].response.lastModified != nil
        {
            setting.append(name: "If-Modified-Since".utf8, value: date)
        } else if request.fields.contains("if-modified-since") {
            removing.append("if-modified-since")
        }
    }
}

/// The properties of a request that matter for caching.
package struct CachingRequest: Sendable, Hashable {
    package var method: String
    /// The URL without credentials and fragment.
    package var url: String
    /// The caller's header fields, as they would be sent if nothing were stored.
    package var fields: HTTPFields
    package var policy: ImageRequest.CachePolicy
    /// Whether the request has a body. Only the origin knows the meaning of a body in a `GET` (RFC 9110 section 9.3.1),
    /// so such an exchange bypasses the store.
    package var hasBody = false
    /// Whether a stale response may be served if no origin can be reached.
    package var servesStaleOnDisconnect = false

    package init(
        method: String = "GET", url: String, fields: HTTPFields = HTTPFields(), policy: ImageRequest.CachePolicy = .obey
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
    }

    /// Whether the caller sets conditions of its own (RFC 9110 section 13.1), except for `If-Range`.
    package var isConditional: Bool {
        Self.conditions.contains { fields.contains($0) }
    }

    static let conditions = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"]

    /// Whether there are conditions that only the origin can evaluate (RFC 9111 section 4.3.2).
    var hasOriginConditions: Bool { fields.contains("if-match") || fields.contains("if-unmodified-since") }

    /// Whether a stored response could serve the request.
    package var isReading: Bool { Self.isReading(method) }

    package static func isReading(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Returns whether the exchange neither uses stored responses nor is stored.
    func bypassesStore(_ control: CacheControl) -> Bool {
        policy == .noStore || control.noStore || (hasBody && Invalidation.isSafe(method))
    }

    func allowsNetwork(_ control: CacheControl) -> Bool { policy != .onlyCached && !control.onlyIfCached }
}

/// The stored entries that could serve a request, as positions, the most recent response first.
struct CacheCandidates {
    /// Entries whose selecting fields match the request's (RFC 9111 section 4.1).
    var matching: [Int]
    /// Other variants of the same resource, which the origin may select for this request by their entity tags.
    var others: [Int]
    /// The directives of all entries, by position.
    let controls: [CacheControl]

    init(_ found: [StoredEntry], _ request: CachingRequest) {
        let controls = found.map(\.response.cacheControl)
        self.controls = controls
        var sorted = found.indices.filter { !controls[$0].forbidsStoring }
        if sorted.count > 1 {
            sorted = sorted.map { (position: $0, date: found[$0].response.date, time: found[$0].response.responseTime) }
                .sorted { ($1.date, $1.time, $0.position) < ($0.date, $0.time, $1.position) }
                .map(\.position)
        }
        matching = sorted.filter { VaryFields.match(found[$0].response, request.fields, control: controls[$0]) }
        let ours = Set(matching)
        others = sorted.filter {
            !ours.contains($0) && VaryFields.mayBeOffered(found[$0].response, request.fields)
        }
    }

    /// Returns the entries that a response replaces, beside those that it was evaluated with, when its body is stored.
    /// Another process, or another fetch of this one, has stored them meanwhile.
    ///
    /// - Returns: `nil` if one of them is more recent, and the response is not stored.
    static func replaced(
        by new: StoredResponse, among found: [StoredEntry], for request: CachingRequest, except known: [StoredEntry.ID]
    ) -> [StoredEntry.ID]? {
        // Parts of one body may be stored side by side.
        guard new.isComplete else { return [] }
        let others = CacheCandidates(found, request).matching.map { found[$0] }.filter { entry in
            // A stored error replaces only other errors, and not the response that can be served instead of it.
            !known.contains(entry.id) && (new.head.status < 500 || entry.response.head.status >= 500)
        }
        let isOld = others.contains {
            $0.response.isComplete && ($0.response.date, $0.response.responseTime) > (new.date, new.responseTime)
                && ($0.response.head.status < 500 || new.head.status >= 500)
        }
        return isOld ? nil : others.map(\.id)
    }

    /// Returns how to resume a partly stored body, unless a complete response as recent can be revalidated instead.
    func resumption(_ found: [StoredEntry], _ request: CachingRequest) -> Resumption? {
        guard request.method == "GET", !request.isConditional, !request.fields.contains("range") else { return nil }
        for position in matching {
            let stored = found[position].response
            if stored.isComplete, stored.hasValidator { return nil }
            if let resumption = Resumption(of: found[position], at: position) { return resumption }
        }
        return nil
    }
}

/// The age and the freshness lifetime of a response (RFC 9111 section 4.2), in milliseconds. Nothing overflows, and no
/// age is negative, whatever clocks and servers state.
package struct Freshness: Hashable, Sendable {
    package var age: Int64
    package var lifetime: Int64
    /// Whether the clock is before the time at which the response was received. Its age is then unknown, and only the
    /// origin can validate it.
    package var isUnknown: Bool

    /// The time in milliseconds by which a clock may go back without being considered wrong.
    static let tolerance: Int64 = 60_000
    /// The heuristically cacheable statuses (RFC 9110 section 15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// - Parameter control: the directives of `stored`, if they have been parsed.
    package init(of stored: StoredResponse, _ control: CacheControl? = nil, at now: WallTime) {
        age = Self.age(of: stored, at: now)
        lifetime = Self.lifetime(of: stored, control ?? stored.cacheControl)
        isUnknown = now.milliseconds(since: stored.responseTime) < -Self.tolerance
    }

    package var isFresh: Bool { !isUnknown && lifetime > age }

    /// The time since the response became stale; negative while it is fresh.
    package var staleness: Int64 { age - lifetime }

    /// The value of `Age` (RFC 9111 section 5.1).
    package var ageInSeconds: Int64 { age / 1000 }

    /// Returns the current age (RFC 9111 section 4.2.3).
    private static func age(of stored: StoredResponse, at now: WallTime) -> Int64 {
        // `Date` is truncated to seconds, so compare seconds. Otherwise each response would seem up to one second old.
        let received = WallTime(milliseconds: stored.responseTime.milliseconds / 1000 * 1000)
        let apparentAge = max(0, received.milliseconds(since: stored.date))
        let delay = max(0, stored.responseTime.milliseconds(since: stored.requestTime))
        let initialAge = max(apparentAge, sum(statedAge(of: stored), delay))
        return sum(initialAge, max(0, now.milliseconds(since: stored.responseTime)))
    }

    /// Returns the first member of the first line of `Age`; 0 if it is not a number (RFC 9111 section 5.1).
    private static func statedAge(of stored: StoredResponse) -> Int64 {
        guard let line = stored.head.fields.rawValues("age").first,
            let first = line.split(separator: .comma, omittingEmptySubsequences: false).first
        else { return 0 }
        return (FieldScanner.seconds(FieldScanner.trimmed(first)) ?? 0) * 1000
    }

    /// Returns the freshness lifetime (RFC 9111 sections 4.2.1 and 4.2.2).
    private static func lifetime(of stored: StoredResponse, _ control: CacheControl) -> Int64 {
        if let maxAge = control.maxAge { return maxAge * 1000 }
        if let expires = stored.head.fields.rawValues("expires").first {
            // A malformed date counts as past (RFC 9111 section 5.3).
            guard let expires = HTTPDate.parse(expires, now: stored.responseTime) else { return 0 }
            return max(0, expires.milliseconds(since: stored.date))
        }
        guard heuristicStatuses.contains(stored.head.status) || control.isPublic,
            let lastModified = stored.lastModified
        else { return 0 }
        return max(0, stored.date.milliseconds(since: lastModified)) / 10
    }

    /// Returns the sum of non-negative numbers, limited to half of the range so that the results can be subtracted.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let sum = first.addingReportingOverflow(second)
        return sum.overflow ? .max / 2 : min(sum.partialValue, .max / 2)
    }
}
