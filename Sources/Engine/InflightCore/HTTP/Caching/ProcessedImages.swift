/// Processed images in the store: their keys, and when they may be used.
///
/// They are stored under a separate key, beside the responses from which they were made. An internal field, which no
/// request can have, distinguishes them, as the fields named by `Vary` distinguish responses.
package enum ProcessedImages {
    /// The name of that field. No field name contains a colon (RFC 9110 section 5.1).
    static let field = ":picture"

    /// Returns the key of the images that were made from the responses under `key`.
    package static func key(_ key: StoreKey) -> StoreKey { StoreKey("picture of " + key.text) }

    /// Returns the request for an image instead of the bytes.
    static func request(_ request: CachingRequest, identity: String) -> CachingRequest {
        var request = request
        request.fields.append(field, identity)
        return request
    }

    /// Returns the response to store for an image that was made from a stored response.
    ///
    /// - Returns: `nil` if no later request can be known to match the stored response.
    static func stored(
        madeOf original: StoredResponse, for request: CachingRequest, type: ImageFormat, byteCount: Int
    ) -> StoredResponse? {
        guard let selecting = VaryFields.of(request.fields, for: original.head) else { return nil }
        var stored = original
        stored.varyFields = selecting
        stored.head.describe(type, byteCount: byteCount)
        stored.bodyRange = 0..<Int64(byteCount)
        stored.totalLength = Int64(byteCount)
        return stored
    }

    /// Returns the image that may be used now.
    ///
    /// - Parameters:
    ///   - images: the entries under ``key(_:)``.
    ///   - originals: the entries under the key itself. If one is newer than the image, its freshness applies, and it
    ///     has to be the same representation (RFC 9111 section 4: the most recent response is used).
    ///   - request: the request for the bytes.
    ///   - confirmedAt: a time since which the origin's confirmation of a response suffices, even if it is stale,
    ///     because this request has caused it; `nil` for none.
    /// - Returns: a position in `images`.
    package static func choose(
        _ images: [StoredEntry], originals: [StoredEntry], for request: CachingRequest, identity: String,
        now: WallTime, confirmedAt: WallTime? = nil
    ) -> Int? {
        let asking = Self.request(request, identity: identity)
        let newest = CacheCandidates(originals, request).matching.first.map { originals[$0] }
        return CacheCandidates(images, asking).matching.first { position in
            let image = images[position]
            guard image.response.isComplete else { return false }
            guard let newest, newest.response.responseTime > image.response.responseTime else {
                return confirmedAt.map { image.response.responseTime >= $0 } ?? false
                    || isUsable(image, asking, now)
            }
            return isSame(newest.response, image.response) && isUsable(newest, request, now)
        }
    }

    /// Returns the stored images that a 304 to a request for the bytes would make usable again. None if a load has no
    /// such image: it needs the bytes in any case.
    ///
    /// - Parameters:
    ///   - images: the entries under ``key(_:)``.
    ///   - request: the request for the bytes.
    ///   - wanted: for each load, the identities of the images that could serve it, the preferred one first.
    static func toConfirm(
        _ images: [StoredEntry], for request: CachingRequest, wanted: [[String]]
    ) -> [StoredEntry] {
        var positions: Set<Int> = []
        for identities in wanted {
            let found = identities.lazy.compactMap { identity in
                CacheCandidates(images, Self.request(request, identity: identity)).matching.first {
                    images[$0].response.isComplete && images[$0].response.hasValidator
                }
            }
            guard let position = found.first else { return [] }
            positions.insert(position)
        }
        return positions.sorted().map { images[$0] }
    }

    /// Returns the other images that were made from the same bytes, for the same request: a 304 confirms them too.
    static func siblings(
        of chosen: [StoredEntry], among images: [StoredEntry], for request: CachingRequest
    ) -> [StoredEntry] {
        images.filter { image in
            guard let identity = image.response.varyFields.rawValues(field).first else { return false }
            let asking = Self.request(request, identity: String(decoding: identity, as: UTF8.self))
            return !chosen.contains { $0.id == image.id } && VaryFields.match(image.response, asking.fields)
                && chosen.contains { image.response.sharesStrongValidator(with: $0.response.head.fields) }
        }
    }

    /// Returns the entries as those of the responses that the images were made from.
    static func originals(of images: [StoredEntry]) -> [StoredEntry] {
        images.map { image in
            var original = image
            original.response.varyFields.remove(field)
            return original
        }
    }

    /// Returns the image's entry after a 304 has updated the response that it was made from.
    ///
    /// - Parameter updated: the updated response.
    static func confirmed(_ image: StoredResponse, by updated: StoredResponse) -> StoredResponse {
        var confirmed = updated
        confirmed.varyFields.remove(field)
        for value in image.varyFields.rawValues(field) {
            confirmed.varyFields.append(name: field.utf8, value: Array(value))
        }
        // The type of the image's own bytes.
        if let type = image.head.fields["content-type"] { confirmed.head.fields.set("Content-Type", type) }
        return confirmed
    }

    private static func isUsable(_ entry: StoredEntry, _ request: CachingRequest, _ now: WallTime) -> Bool {
        if case .serve = CacheDecision.decide(found: [entry], request: request, now: now) { true } else { false }
    }

    /// Returns whether two responses of one resource have the same bytes, by their validators.
    private static func isSame(_ one: StoredResponse, _ other: StoredResponse) -> Bool {
        if let tag = one.entityTag, let otherTag = other.entityTag { return tag.stronglyEquals(otherTag) }
        return one.hasStrongLastModified && one.lastModified == other.lastModified
    }
}

extension ResponseHead {
    /// Changes the header fields to those of a file that was made from the body.
    mutating func describe(_ format: ImageFormat, byteCount: Int) {
        fields.remove("content-encoding")
        fields.set("Content-Type", "image/\(format)")
        fields.set("Content-Length", "\(byteCount)")
    }
}
