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

/// The value of a request's `Range` field (RFC 9110 section 14.2).
package enum RangeRequest: Hashable, Sendable {
    /// No `Range`, or one that may be ignored: another unit, or malformed.
    case whole
    case one(ByteRange)
    /// Several ranges, or several lines: the response may be the whole representation instead (section 14.2).
    case several

    package init(_ fields: HTTPFields) {
        let lines = fields.rawValues("range")
        guard let line = lines.first else {
            self = .whole
            return
        }
        let value = FieldScanner.trimmed(line)
        guard let equals = value.firstIndex(of: .equals),
            value[..<equals].map(\.asciiLowercased).elementsEqual("bytes".utf8)
        else {
            self = .whole
            return
        }
        let members = value[(equals + 1)...].split(separator: .comma).map { FieldScanner.trimmed($0) }
            .filter { !$0.isEmpty }
        let ranges = members.compactMap { ByteRange($0) }
        if ranges.isEmpty || ranges.count != members.count {
            self = .whole
        } else {
            self = ranges.count == 1 && lines.count == 1 ? .one(ranges[0]) : .several
        }
    }
}

/// One byte range of a request (RFC 9110 section 14.1.2).
package enum ByteRange: Hashable, Sendable {
    case from(Int64)
    /// Both ends are inclusive.
    case between(Int64, Int64)
    case last(Int64)

    init?(_ text: ArraySlice<UInt8>) {
        guard let dash = text.firstIndex(of: .dash) else { return nil }
        let first = text[..<dash]
        let last = text[(dash + 1)...]
        if first.isEmpty {
            guard let count = FieldScanner.number(last) else { return nil }
            self = .last(count)
        } else if last.isEmpty {
            guard let start = FieldScanner.number(first) else { return nil }
            self = .from(start)
        } else {
            guard let start = FieldScanner.number(first), let end = FieldScanner.number(last), start <= end else {
                return nil
            }
            self = .between(start, end)
        }
    }

    /// Returns the bytes in a representation of `total` bytes; `nil` if it has none of them.
    package func resolved(total: Int64) -> Range<Int64>? {
        switch self {
        case .from(let start): start < total ? start..<total : nil
        case .between(let start, let end): start < total ? start..<(min(end, total - 1) + 1) : nil
        case .last(let count): count > 0 && total > 0 ? max(0, total - count)..<total : nil
        }
    }
}

/// The value of `Content-Range` (RFC 9110 section 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The range; `nil` if no byte could be sent (`bytes */10`).
    package var range: Range<Int64>?
    /// The total length; `nil` if it is unknown (`bytes 0-4/*`).
    package var total: Int64?

    /// Parses the field; `nil` if it is missing, repeated or malformed.
    package init?(_ fields: HTTPFields) {
        let lines = fields.rawValues("content-range")
        guard lines.count == 1 else { return nil }
        let words = FieldScanner.trimmed(lines[0]).split(separator: 0x20)
        guard words.count == 2, words[0].map(\.asciiLowercased).elementsEqual("bytes".utf8) else { return nil }
        let parts = words[1].split(separator: .slash, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if !parts[1].elementsEqual("*".utf8) {
            guard let number = FieldScanner.number(parts[1]), number < .max else { return nil }
            total = number
        }
        if parts[0].elementsEqual("*".utf8) {
            guard total != nil else { return nil }
            return
        }
        guard case .between(let first, let last)? = ByteRange(parts[0]), last < .max, last < total ?? .max else {
            return nil
        }
        range = first..<(last + 1)
    }

    /// Returns a field value.
    package static func text(_ range: Range<Int64>?, total: Int64?) -> String {
        let part = range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
        return "bytes \(part)/\(total.map(String.init) ?? "*")"
    }
}
