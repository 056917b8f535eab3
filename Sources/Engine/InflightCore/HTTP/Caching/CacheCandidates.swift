/// The stored entries that could serve a request, as positions, the most recent response first.
struct CacheCandidates {
    /// Entries whose selecting fields match the request's (RFC 9111 section 4.1).
    var matching: [Int]
    /// Other variants of the same resource, which the origin may select for this request by their entity tags.
    var others: [Int]

    init(_ found: [StoredEntry], _ request: CachingRequest) {
        var sorted = found.indices.filter { !found[$0].response.cacheControl.forbidsStoring }
        if sorted.count > 1 {
            sorted = sorted.map { (position: $0, date: found[$0].response.date, time: found[$0].response.responseTime) }
                .sorted { ($1.date, $1.time, $0.position) < ($0.date, $0.time, $1.position) }
                .map(\.position)
        }
        matching = sorted.filter { VaryFields.match(found[$0].response, request.fields) }
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
