/// The resumption of a body whose first bytes are stored, or are in memory after a broken transfer (RFC 9110 section
/// 14, RFC 9111 section 3.4).
package struct Resumption: Hashable, Sendable {
    /// The position of the entry in the lookup's result, and its ID; `nil` if the first part is only in memory.
    package var position: Int?
    package var id: StoredEntry.ID?
    /// The first part of the body.
    package var stored: StoredResponse

    /// The number of bytes present, which is the offset of the first byte to request.
    package var offset: Int64 { stored.bodyRange.upperBound }

    /// `nil` if nothing can prove that the rest belongs to the first part, or if there is no first part or no rest.
    package init?(of stored: StoredResponse) {
        guard stored.bodyRange.lowerBound == 0, !stored.bodyRange.isEmpty, !stored.isComplete,
            stored.head.status == 200, stored.hasStrongValidator
        else { return nil }
        self.stored = stored
    }

    init?(of entry: StoredEntry, at position: Int) {
        self.init(of: entry.response)
        self.position = position
        id = entry.id
    }

    /// Returns the request's header fields with `Range` and `If-Range` (RFC 9110 sections 14.2 and 13.1.5).
    package func fields(from request: HTTPFields) -> HTTPFields {
        var fields = request
        fields.set("Range", "bytes=\(offset)-")
        fields.remove("if-range")
        if let validator = stored.entityTag?.text ?? stored.head.fields.rawValues("last-modified").first.map(Array.init)
        {
            fields.append(name: "If-Range".utf8, value: validator)
        }
        return fields
    }

    /// The evaluation of a response to the range request.
    package enum Verdict: Hashable, Sendable {
        /// Its bytes follow the first part, and form one response with it.
        case proceed(IncomingResponse)
        /// It is the whole response, so the first part is discarded.
        case restart
        /// The first part is already the whole body.
        case complete(StoredResponse)
        /// It is unusable. Request the whole body, without `Range`.
        case requestWhole
        /// It is another response, such as an error. The first part may be used later.
        case answered
    }

    package func verdict(on head: ResponseHead, requestTime: WallTime, responseTime: WallTime) -> Verdict {
        switch head.status {
        case 206: return part(head, requestTime, responseTime)
        case 200..<300: return .restart
        case 304: return .requestWhole
        case 416: return beyondTheEnd(head)
        default: return .answered
        }
    }

    private func part(_ head: ResponseHead, _ requestTime: WallTime, _ responseTime: WallTime) -> Verdict {
        guard let part = ContentRange(head.fields), let range = part.range, range.lowerBound == offset,
            fits(part.total), stored.sharesStrongValidator(with: head.fields), hasSameCoding(head),
            Self.announcedLength(head.fields).map({ $0 == range.upperBound - range.lowerBound }) ?? true
        else { return .requestWhole }
        if let known = stored.totalLength, range.upperBound > known { return .requestWhole }
        var merged = stored.updated(by: head, requestTime: requestTime, responseTime: responseTime)
        merged.totalLength = part.total ?? stored.totalLength
        if let total = merged.totalLength { merged.head.fields.set("Content-Length", "\(total)") }
        keepRestriction(in: &merged.head)
        return .proceed(IncomingResponse(response: merged, end: range.upperBound))
    }

    /// Applies the stricter head: if one part must not be stored, neither may the whole (RFC 9111 section 5.2.2.5).
    private func keepRestriction(in head: inout ResponseHead) {
        guard stored.cacheControl.forbidsStoring, !CacheControl(head.fields).forbidsStoring else { return }
        head.fields.remove("cache-control")
        for value in stored.head.fields.rawValues("cache-control") {
            head.fields.append(name: "Cache-Control".utf8, value: value)
        }
    }

    private func beyondTheEnd(_ head: ResponseHead) -> Verdict {
        guard let total = ContentRange(head.fields)?.total, total == offset, fits(total) else { return .requestWhole }
        // A tag other than the first part's belongs to another version, which may have the same length by chance.
        if let tag = EntityTag(of: head.fields), !(stored.entityTag.map { tag.stronglyEquals($0) } ?? false) {
            return .requestWhole
        }
        var complete = stored
        complete.totalLength = total
        return .complete(complete)
    }

    private func fits(_ total: Int64?) -> Bool {
        guard let total, let known = stored.totalLength else { return true }
        return total == known
    }

    /// Returns whether the content codings agree. Two codings are two representations, whatever a server's tags state.
    private func hasSameCoding(_ head: ResponseHead) -> Bool {
        let new = head.fields.values("content-encoding").map { $0.lowercased() }
        return new.isEmpty || new == stored.head.fields.values("content-encoding").map { $0.lowercased() }
    }

    /// Returns `Content-Length`, if all its lines agree.
    static func announcedLength(_ fields: HTTPFields) -> Int64? {
        let lengths = Set(
            fields.rawValues("content-length").flatMap { $0.split(separator: .comma) }
                .map { FieldScanner.number(FieldScanner.trimmed($0)) })
        guard lengths.count == 1, let length = lengths.first else { return nil }
        return length
    }
}
