/// The rest of a body whose first bytes are stored, or are in memory when a transfer broke (RFC 9110 section 14, RFC 9111
/// section 3.4).
package struct Resumption: Hashable, Sendable {
    /// Where the entry stands in what was found, and its name; `nil` for what is in memory alone.
    package var position: Int?
    package var id: StoredEntry.ID?
    /// What is there so far.
    package var stored: StoredResponse

    /// How many bytes are there: the offset of the first that is wanted.
    package var offset: Int64 { stored.bodyRange.upperBound }

    /// `nil` where nothing can prove that the rest belongs to what is there, or where nothing is, or nothing is missing.
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

    /// The request's fields with `Range` and `If-Range` (RFC 9110 sections 14.2 and 13.1.5).
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

    /// What the answer means.
    package enum Verdict: Hashable, Sendable {
        /// Its bytes follow what is there, and make one answer with it.
        case goOn(IncomingResponse)
        /// It is the whole: what is there is of no use any more.
        case startAfresh
        /// Everything is there already.
        case complete(StoredResponse)
        /// It is of no use: the whole is to be asked for, without `Range`.
        case askForWhole
        /// It is an answer of another kind, as an error is; what is there may be used later.
        case answered
    }

    package func verdict(on head: ResponseHead, requestTime: WallTime, responseTime: WallTime) -> Verdict {
        switch head.status {
        case 206: return part(head, requestTime, responseTime)
        case 200..<300: return .startAfresh
        case 304: return .askForWhole
        case 416: return beyondTheEnd(head)
        default: return .answered
        }
    }

    private func part(_ head: ResponseHead, _ requestTime: WallTime, _ responseTime: WallTime) -> Verdict {
        guard let part = ContentRange(head.fields), let range = part.range, range.lowerBound == offset,
            fits(part.total), stored.sharesStrongValidator(with: head.fields), hasSameCoding(head),
            Self.announcedLength(head.fields).map({ $0 == range.upperBound - range.lowerBound }) ?? true
        else { return .askForWhole }
        if let known = stored.totalLength, range.upperBound > known { return .askForWhole }
        var merged = stored.updated(by: head, requestTime: requestTime, responseTime: responseTime)
        merged.totalLength = part.total ?? stored.totalLength
        if let total = merged.totalLength { merged.head.fields.set("Content-Length", "\(total)") }
        keepRestriction(in: &merged.head)
        return .goOn(IncomingResponse(response: merged, end: range.upperBound))
    }

    /// The stricter of both heads counts: a part that must not be stored makes the whole so (RFC 9111 section 5.2.2.5).
    private func keepRestriction(in head: inout ResponseHead) {
        guard stored.cacheControl.forbidsStoring, !CacheControl(head.fields).forbidsStoring else { return }
        head.fields.remove("cache-control")
        for value in stored.head.fields.rawValues("cache-control") {
            head.fields.append(name: "Cache-Control".utf8, value: value)
        }
    }

    private func beyondTheEnd(_ head: ResponseHead) -> Verdict {
        guard let total = ContentRange(head.fields)?.total, total == offset, fits(total) else { return .askForWhole }
        // A tag that what is there does not have is another version's, which may be as long by chance.
        if let tag = EntityTag(of: head.fields), !(stored.entityTag.map { tag.stronglyEquals($0) } ?? false) {
            return .askForWhole
        }
        var complete = stored
        complete.totalLength = total
        return .complete(complete)
    }

    private func fits(_ total: Int64?) -> Bool {
        guard let total, let known = stored.totalLength else { return true }
        return total == known
    }

    /// Two codings are two representations, whatever a server's tags say.
    private func hasSameCoding(_ head: ResponseHead) -> Bool {
        let new = head.fields.values("content-encoding").map { $0.lowercased() }
        return new.isEmpty || new == stored.head.fields.values("content-encoding").map { $0.lowercased() }
    }

    /// `Content-Length`, where all its lines say the same.
    static func announcedLength(_ fields: HTTPFields) -> Int64? {
        let lengths = Set(
            fields.rawValues("content-length").flatMap { $0.split(separator: .comma) }
                .map { FieldScanner.number(FieldScanner.trimmed($0)) })
        guard lengths.count == 1, let length = lengths.first else { return nil }
        return length
    }
}
