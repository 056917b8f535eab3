/// What of that which was found could answer a request, as positions, the most recent answer first.
struct CacheCandidates {
    /// Chosen for a request that is the same in all that counts (RFC 9111 section 4.1).
    var matching: [Int]
    /// Other variants of the same resource, which the origin may choose for this request by their tags.
    var others: [Int]

    init(_ found: [StoredEntry], _ request: CachingRequest) {
        let sorted = found.indices.filter {
            !found[$0].response.cacheControl.noStore || found[$0].response.cacheControl.mustUnderstand
        }
        .map { (position: $0, date: found[$0].response.date, time: found[$0].response.responseTime) }
        .sorted { ($1.date, $1.time, $0.position) < ($0.date, $0.time, $1.position) }
        .map(\.position)
        matching = sorted.filter { SelectingFields.match(found[$0].response, request.fields) }
        let ours = Set(matching)
        others = sorted.filter {
            !ours.contains($0) && SelectingFields.mayBeOffered(found[$0].response, request.fields)
        }
    }

    /// The rest of a body whose first part is stored, where nothing whole that is as recent can be asked about instead.
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
