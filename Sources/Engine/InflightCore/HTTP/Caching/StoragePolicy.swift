/// The rules for which responses are stored, and which of their fields (RFC 9111 section 3).
package enum StoragePolicy {
    /// Statuses that this cache understands, so that `must-understand` allows storing them (RFC 9111 section 5.2.2.3).
    private static let understood = Freshness.heuristicStatuses.union([302, 303, 307, 400, 403, 451, 500, 502, 503])
    /// Statuses that mean nothing to another request: they concern conditions, ranges, or the connection.
    private static let unstorableStatuses: Set<Int> = [304, 407, 412, 416, 417, 421, 425, 426, 431, 511]
    /// Fields for the connection, or for a proxy (RFC 9111 section 3.1, RFC 9110 section 7.6.1).
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Returns whether HTTP allows storing this response, and whether it could be useful.
    package static func mayStore(_ head: ResponseHead, of request: CachingRequest) -> Bool {
        let control = CacheControl(head.fields)
        guard !request.bypassesStore(CacheControl(request: request.fields)), head.status >= 200, head.status < 600,
            !unstorableStatuses.contains(head.status)
        else { return false }
        let isUnderstood = understood.contains(head.status)
        if control.mustUnderstand, !isUnderstood { return false }
        if control.forbidsStoring { return false }
        let isExplicit = control.maxAge != nil || head.fields.contains("expires")
        guard isExplicit || control.isPublic || control.isPrivate || Freshness.heuristicStatuses.contains(head.status)
        else { return false }
        switch request.method {
        case "GET": return true
        case "POST": return isExplicit && answersReading(head, of: request)
        default: return false
        }
    }

    /// Returns whether the response to a POST is also that to a GET (RFC 9110 section 9.3.3).
    private static func answersReading(_ head: ResponseHead, of request: CachingRequest) -> Bool {
        guard head.status == 200, let location = head.fields.reference("content-location"),
            let url = try? ResourceURL(request.url)
        else { return false }
        return (try? url.resolving(location))?.string == url.string
    }

    /// Returns the response to store when its head has arrived and its body follows; `nil` if it is not stored.
    package static func incoming(
        _ head: ResponseHead, of request: CachingRequest, requestTime: WallTime, responseTime: WallTime
    ) -> IncomingResponse? {
        guard mayStore(head, of: request), let selecting = VaryFields.of(request.fields, for: head) else {
            return nil
        }
        var kept = ResponseHead(status: head.status, version: head.version, fields: storableFields(of: head.fields))
        var total = Resumption.announcedLength(head.fields)
        var range = 0..<(total ?? .max)
        if head.status == 206 {
            // A part is stored as a whole with missing bytes (RFC 9111 section 3.3).
            guard request.method == "GET", let part = ContentRange(head.fields), let sent = part.range,
                total.map({ $0 == Int64(sent.count) }) ?? true
            else { return nil }
            range = sent
            total = part.total
            kept.status = 200
            kept.fields.remove("content-range")
            kept.fields.remove("content-length")
            if let total { kept.fields.set("Content-Length", "\(total)") }
        }
        let stored = StoredResponse(
            method: request.method, url: request.url, varyFields: selecting, head: kept, requestTime: requestTime,
            responseTime: responseTime, bodyRange: range.lowerBound..<range.lowerBound, totalLength: total)
        guard isWorthStoring(stored) else { return nil }
        return IncomingResponse(response: stored, end: range.upperBound == .max ? nil : range.upperBound)
    }

    /// Returns whether a stored response could ever be used. It could not if it needs revalidation but has no
    /// validator, nor if its status is not 200 and it neither has a freshness lifetime nor allows `stale-if-error`.
    private static func isWorthStoring(_ stored: StoredResponse) -> Bool {
        let control = stored.cacheControl
        let isEverFresh = Freshness(of: stored, control, at: stored.responseTime).lifetime > 0
        if !stored.hasValidator, control.noCache || (control.mustRevalidate && !isEverFresh) { return false }
        return stored.head.status == 200 || control.staleIfError != nil || isEverFresh
    }

    /// Removes fields that must not be stored (RFC 9111 section 3.1), those in `no-cache="…"` (5.2.2.4), and secrets.
    package static func storableFields(of fields: HTTPFields) -> HTTPFields {
        let left = unstorableFieldNames(fields)
        return withoutSecrets(fields).filtered { !left.contains($0) }
    }

    /// Returns the fields that contain no credentials. Neither an image nor its freshness needs credentials, and RFC
    /// 9111 section 7.3 warns of storing them; Chromium's cache leaves out `Set-Cookie` and challenges too. All other
    /// fields are stored, unknown ones included, as section 3.1 demands.
    static func withoutSecrets(_ fields: HTTPFields) -> HTTPFields {
        fields.filtered { name in
            !secretParts.contains { name.contains($0) } && !name.split(separator: "-").contains("auth")
        }
    }

    private static let secretParts = [
        "cookie", "authenticat", "authoriz", "token", "secret", "session", "csrf", "xsrf", "password", "credential",
        "api-key", "apikey", "jwt",
    ]

    static func unstorableFieldNames(_ fields: HTTPFields) -> Set<String> {
        connectionFields.union(fields.rawValues("connection").flatMap { FieldScanner.names($0) })
            .union(CacheControl(fields).noCacheFields)
    }
}

/// A response to store while its body is received.
package struct IncomingResponse: Hashable, Sendable {
    /// Its ``StoredResponse/bodyRange`` was present before the first received byte, or is empty and begins where the
    /// body will.
    package var response: StoredResponse
    /// The end of the body according to the head; `nil` if the head does not state it.
    package var end: Int64?

    package init(response: StoredResponse, end: Int64?) {
        self.response = response
        self.end = end
    }

    /// Returns the response to store after the body has ended, or the connection was lost before its end.
    ///
    /// - Parameters:
    ///   - count: the number of received body bytes, before content decoding.
    ///   - isWhole: whether the exchange ended without an error.
    /// - Returns: `nil` if it must not be stored: it broke off, and no strong validator could prove that a rest belongs
    ///   to it (RFC 9111 section 3.3), or it is longer than announced, or it ended early without an error.
    package func ended(after count: Int64, isWhole: Bool) -> StoredResponse? {
        let (end, overflow) = response.bodyRange.upperBound.addingReportingOverflow(count)
        guard count >= 0, !overflow, end <= self.end ?? .max else { return nil }
        var ended = response
        ended.bodyRange = response.bodyRange.lowerBound..<end
        if isWhole, self.end == nil { ended.totalLength = end }
        if ended.isComplete { return ended }
        // A body that ended without an error has to have its announced length.
        let isTrusted = isWhole ? end == self.end : ended.hasStrongValidator
        return !ended.bodyRange.isEmpty && ended.head.status == 200 && isTrusted ? ended : nil
    }
}
