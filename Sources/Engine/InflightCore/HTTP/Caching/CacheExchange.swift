/// How a request is sent where the cache cannot answer it: as the caller made it, or with questions about what is stored
/// (RFC 9111 section 4.3.1).
package struct CacheExchange: Hashable, Sendable {
    /// Each takes the place of the request's own fields of its name.
    package var setting = HTTPFields()
    /// Names of the request's own fields that are not sent, in lower case.
    package var removing: [String] = []
    /// The positions of the entries that a 304 may speak of, the most recent first. Empty: it is the caller's.
    package var offered: [Int] = []
    /// The caller was answered already: the exchange is for the store alone.
    package var isBehind = false

    /// So many tags are sent at most: each costs bytes in every request.
    static let maximumTags = 16

    /// As the caller made it.
    package init() {}

    /// The request's fields with what this exchange changes.
    package func fields(from request: HTTPFields) -> HTTPFields {
        var fields = request
        for name in removing { fields.remove(name) }
        for index in 0..<setting.count { fields.remove(setting.name(index)) }
        for index in 0..<setting.count { fields.append(name: setting.rawName(index), value: setting.rawValue(index)) }
        return fields
    }

    /// For all of it: no cache on the way shall answer with what it has stored (RFC 9111 section 5.2.1.4).
    init(reloading request: CachingRequest, _ control: CacheControl) {
        guard !control.noCache else { return }
        let own = request.fields.values("cache-control")
        setting.set("Cache-Control", (["no-cache"] + own).joined(separator: ", "))
    }

    /// For the caller, who waits.
    init(for request: CachingRequest, _ control: CacheControl, _ candidates: CacheCandidates, _ found: [StoredEntry]) {
        if request.policy == .refresh, !control.noCache, control.maxAge != 0 {
            // The caches on the way shall ask too (RFC 9111 section 5.2.1.1). The first of two counts.
            let own = request.fields.values("cache-control")
            setting.set("Cache-Control", (["max-age=0"] + own).joined(separator: ", "))
        }
        guard request.method == "GET" else { return }
        let own = EntityTagCondition("if-none-match", of: request.fields)
        if own == .any { return }
        offer(candidates, found, to: request, own)
    }

    /// For the store alone: the question is not the caller's, and so are neither its conditions nor its range.
    init(behind request: CachingRequest, _ candidates: CacheCandidates, _ found: [StoredEntry]) {
        let left = CachingRequest.conditions + ["range", "if-range"]
        var own = request
        for name in left { own.fields.remove(name) }
        removing = left.filter { request.fields.contains($0) }
        isBehind = true
        offer(candidates, found, to: own, nil)
    }

    private mutating func offer(
        _ candidates: CacheCandidates, _ found: [StoredEntry], to request: CachingRequest, _ own: EntityTagCondition?
    ) {
        // What is in the store in part has nothing to give, unless the part is all that is asked for.
        let matching = candidates.matching.filter { position in
            StoredAnswer(found[position], at: position, for: request, now: found[position].response.responseTime) != nil
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
