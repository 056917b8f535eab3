/// The response to a request from a stored entry.
package struct ServedResponse: Hashable, Sendable {
    /// The position of the entry in the lookup's result, and its ID.
    package var position: Int
    package var id: StoredEntry.ID
    /// The head to return: status 200 or the stored one, 206 for a part, 304 or 416; with `Age` and `Date`.
    package var head: ResponseHead
    /// The entry's stored bytes that form the body, counted from the first stored one; `nil` for no body.
    package var bytes: Range<Int64>?
    /// The directives of the stored response.
    var control: CacheControl
    /// The age and the freshness lifetime of the stored response at the time of the decision.
    var freshness: Freshness
    /// Whether it is stale.
    package var isStale: Bool { !freshness.isFresh }

    /// Evaluates the conditions of `request` against `entry` (RFC 9111 section 4.3.2), then its range.
    ///
    /// - Returns: `nil` if the entry cannot serve the request: another method, or bytes that are not stored.
    package init?(_ entry: StoredEntry, at position: Int, for request: CachingRequest, now: WallTime) {
        let stored = entry.response
        control = stored.cacheControl
        freshness = Freshness(of: stored, control, at: now)
        var head = stored.head
        head.fields.set("Age", "\(freshness.ageInSeconds)")
        if stored.statedDate == nil { head.fields.set("Date", HTTPDate.text(stored.responseTime)) }
        self.position = position
        id = entry.id
        self.head = head
        guard request.method == "GET" || (request.method == "HEAD" && stored.isComplete) else { return nil }

        if stored.isComplete, Self.holdsForCaller(stored, request.fields) {
            self.head = Self.notModified(head)
            bytes = nil
            return
        }
        guard request.method == "GET", stored.head.status == 200 else {
            guard stored.isComplete else { return nil }
            bytes = request.method == "GET" ? 0..<stored.bodyRange.upperBound : nil
            return
        }
        guard case .one(let range) = RangeRequest(request.fields), Self.rangeCounts(stored, request.fields) else {
            guard stored.isComplete else { return nil }
            bytes = 0..<stored.bodyRange.upperBound
            return
        }
        guard let part = Self.part(range, of: stored) else {
            guard let total = stored.totalLength, range.resolved(total: total) == nil else { return nil }
            self.head = Self.notSatisfiable(head, total: total)
            bytes = nil
            return
        }
        let start = stored.bodyRange.lowerBound
        bytes = (part.lowerBound - start)..<(part.upperBound - start)
        self.head.status = 206
        self.head.fields.set("Content-Range", ContentRange.text(part, total: stored.totalLength))
        self.head.fields.set("Content-Length", "\(part.count)")
    }

    /// Returns the representation's bytes in a range, if all of them are stored.
    private static func part(_ range: ByteRange, of stored: StoredResponse) -> Range<Int64>? {
        let part: Range<Int64>?
        if let total = stored.totalLength {
            part = range.resolved(total: total)
        } else if case .between(let first, let last) = range, last < .max {
            part = first..<(last + 1)
        } else {
            part = nil
        }
        guard let part, part.lowerBound >= stored.bodyRange.lowerBound, part.upperBound <= stored.bodyRange.upperBound
        else { return nil }
        return part
    }

    /// Returns whether `If-Range`, if any, strongly matches the stored representation (RFC 9110 section 13.1.5).
    private static func rangeCounts(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        guard let value = fields.rawValues("if-range").first else { return true }
        if let date = HTTPDate.parse(value, now: stored.responseTime) {
            return stored.hasStrongLastModified && stored.lastModified == date
        }
        guard let tag = EntityTag(value), let own = stored.entityTag else { return false }
        return tag.stronglyEquals(own)
    }

    /// Returns whether the caller already has the stored response (RFC 9110 section 13.2.2).
    private static func holdsForCaller(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        // Conditions apply only to responses that would be successful without them (RFC 9110 section 13.2.1).
        guard (200..<300).contains(stored.head.status) else { return false }
        if let condition = EntityTagCondition("if-none-match", of: fields) {
            return condition.weaklyMatches(stored.entityTag)
        }
        guard let since = HTTPDate.parse("if-modified-since", of: fields, now: stored.responseTime) else {
            return false
        }
        return (stored.lastModified ?? stored.date) <= since
    }

    /// Returns the head of a 304, without the fields that describe a body (RFC 9110 section 15.4.5).
    private static func notModified(_ head: ResponseHead) -> ResponseHead {
        let left: Set<String> = [
            "content-length", "content-type", "content-encoding", "content-language", "content-range",
        ]
        return ResponseHead(status: 304, version: head.version, fields: head.fields.filtered { !left.contains($0) })
    }

    /// Returns the head of a 416 (RFC 9110 section 15.5.17).
    private static func notSatisfiable(_ head: ResponseHead, total: Int64) -> ResponseHead {
        var head = notModified(head)
        head.status = 416
        head.fields.set("Content-Range", ContentRange.text(nil, total: total))
        head.fields.set("Content-Length", "0")
        return head
    }
}
