public import InflightCore

extension LoopbackServer.Response {
    /// Returns the response of a file server for `body`: 200, or 206 and 416 for a `Range` of one part, with `If-Range`
    /// honoured (RFC 9110 sections 13.1.5 and 14). A `Range` that is malformed or has several parts is ignored (200).
    ///
    /// - Parameters:
    ///   - body: the complete file.
    ///   - request: the request to answer. Only `GET` can have a range.
    ///   - etag: the value of `ETag`, with its quotes; if nil, the field is left out, and no `If-Range` matches.
    ///   - type: the value of `Content-Type`; if nil, the field is left out.
    public static func ranged(
        _ body: Bytes, for request: LoopbackServer.RecordedRequest, etag: String? = nil, type: String? = nil
    ) -> Self {
        var whole = ok(body, type: type).field("Accept-Ranges", "bytes")
        if let etag { whole.fields.append("ETag", etag) }
        guard request.method == "GET", let text = request.fields["Range"] else { return whole }
        if let condition = request.fields["If-Range"], condition != etag || condition.hasPrefix("W/") { return whole }
        guard let wanted = range(text, count: body.count) else { return whole }
        guard let range = wanted else {
            return status(416).field("Content-Range", "bytes */\(body.count)")
        }
        var part = whole
        part.status = 206
        part.fields.append("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)")
        part.body = .bytes(
            unsafe body.withUnsafeBytes { unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) })
        return part
    }

    /// Returns the range; nil if the field is ignored, `.some(nil)` if the body does not have that range.
    private static func range(_ text: String, count: Int) -> Range<Int>?? {
        guard text.hasPrefix("bytes="), !text.contains(",") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let suffix = Int(ends[1]), suffix >= 0 else { return nil }
            return suffix == 0 || count == 0 ? .some(nil) : max(0, count - suffix)..<count
        }
        guard let first = Int(ends[0]), first >= 0 else { return nil }
        if ends[1].isEmpty { return first < count ? first..<count : .some(nil) }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return first < count ? first..<min(count - 1, last) + 1 : .some(nil)
    }
}
