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
