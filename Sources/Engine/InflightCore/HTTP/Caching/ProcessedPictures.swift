/// Pictures that are stored as they were asked for: what they are found by, and when they may be used.
///
/// They stand beside what they were made of, under a key of their own. Which of them is meant is said by a field that no
/// request can have, as `Vary` says it of answers.
package enum ProcessedPictures {
    /// No name of a field has a colon (RFC 9110 section 5.1).
    static let field = ":picture"

    /// Where the pictures are that were made of the answers under `key`.
    package static func key(_ key: StoreKey) -> StoreKey { StoreKey("picture of " + key.text) }

    /// The request for a picture instead of the bytes.
    static func request(_ request: CachingRequest, identity: String) -> CachingRequest {
        var request = request
        request.fields.append(field, identity)
        return request
    }

    /// What is stored of a picture that was made of a stored answer.
    ///
    /// - Returns: `nil` where the answer was chosen by something that no later request can be known to agree with.
    static func stored(
        madeOf original: StoredResponse, for request: CachingRequest, type: ImageFormat, byteCount: Int
    ) -> StoredResponse? {
        guard let selecting = SelectingFields.of(request.fields, for: original.head) else { return nil }
        var stored = original
        stored.selectingFields = selecting
        stored.head.fields.remove("content-encoding")
        stored.head.fields.set("Content-Type", "image/\(type)")
        stored.head.fields.set("Content-Length", "\(byteCount)")
        stored.bodyRange = 0..<Int64(byteCount)
        stored.totalLength = Int64(byteCount)
        return stored
    }

    /// Which picture may be used now.
    ///
    /// - Parameters:
    ///   - pictures: what is stored under ``key(_:)``.
    ///   - originals: what is stored under the key itself: something newer decides in a picture's place, and has to be the
    ///     same representation (RFC 9111 section 4: of several answers the most recent is used).
    ///   - request: the one for the bytes.
    /// - Returns: a position in `pictures`.
    package static func choose(
        _ pictures: [StoredEntry], originals: [StoredEntry], for request: CachingRequest, identity: String,
        now: WallTime
    ) -> Int? {
        let asking = Self.request(request, identity: identity)
        let newest = CacheCandidates(originals, request).matching.first.map { originals[$0] }
        return CacheCandidates(pictures, asking).matching.first { position in
            let picture = pictures[position]
            guard picture.response.isComplete else { return false }
            guard let newest, newest.response.responseTime > picture.response.responseTime else {
                return isUsable(picture, asking, now)
            }
            return isSame(newest.response, picture.response) && isUsable(newest, request, now)
        }
    }

    private static func isUsable(_ entry: StoredEntry, _ request: CachingRequest, _ now: WallTime) -> Bool {
        if case .serve = CacheDecision.decide(found: [entry], request: request, now: now) { true } else { false }
    }

    /// Whether two answers of one resource are the same bytes, by their validators.
    private static func isSame(_ one: StoredResponse, _ other: StoredResponse) -> Bool {
        if let tag = one.entityTag, let otherTag = other.entityTag { return tag.stronglyEquals(otherTag) }
        return one.hasStrongLastModified && one.lastModified == other.lastModified
    }
}
