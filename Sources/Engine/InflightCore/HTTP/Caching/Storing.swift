/// Which answers are kept, and what of them (RFC 9111 section 3).
package enum Storing {
    /// Statuses whose rules this cache knows, so that `must-understand` lets it keep them (RFC 9111 section 5.2.2.3).
    private static let understood = Freshness.heuristicStatuses.union([302, 303, 307, 400, 403, 451, 500, 502, 503])
    /// Answers that mean nothing to another request: they speak of conditions, ranges, or the connection.
    private static let neverKept: Set<Int> = [304, 407, 412, 416, 417, 421, 425, 426, 431, 511]
    /// About the connection, or for a proxy (RFC 9111 section 3.1, RFC 9110 section 7.6.1).
    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether HTTP lets this answer be kept, and whether that could save anything.
    package static func mayStore(_ head: ResponseHead, of request: CachingRequest) -> Bool {
        let control = CacheControl(head.fields)
        guard !request.passesByStore(CacheControl(request: request.fields)), head.status >= 200, head.status < 600,
            !neverKept.contains(head.status)
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

    /// RFC 9110 section 9.3.3: what a POST gave is what a GET would give.
    private static func answersReading(_ head: ResponseHead, of request: CachingRequest) -> Bool {
        guard head.status == 200, let location = head.fields["content-location"],
            let url = try? ResourceURL(request.url)
        else { return false }
        return (try? url.resolving(location))?.string == url.string
    }

    /// What is kept of an answer whose head has come and whose body follows. `nil`: nothing of it.
    package static func incoming(
        _ head: ResponseHead, of request: CachingRequest, requestTime: WallTime, responseTime: WallTime
    ) -> IncomingResponse? {
        guard mayStore(head, of: request), let selecting = SelectingFields.of(request.fields, for: head) else {
            return nil
        }
        var kept = ResponseHead(status: head.status, version: head.version, fields: keptFields(of: head.fields))
        var total = Resumption.announcedLength(head.fields)
        var range = 0..<(total ?? .max)
        if head.status == 206 {
            // A part is kept as a whole of which something is missing (RFC 9111 section 3.3).
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
            method: request.method, url: request.url, selectingFields: selecting, head: kept, requestTime: requestTime,
            responseTime: responseTime, bodyRange: range.lowerBound..<range.lowerBound, totalLength: total)
        guard isWorthKeeping(stored) else { return nil }
        return IncomingResponse(response: stored, end: range.upperBound == .max ? nil : range.upperBound)
    }

    /// What would never be used only takes room: what may not be used unasked and cannot be asked about, and an answer other
    /// than 200 that nobody allows to be used at all.
    private static func isWorthKeeping(_ stored: StoredResponse) -> Bool {
        let control = stored.cacheControl
        let isEverFresh = Freshness(of: stored, at: stored.responseTime).lifetime > 0
        if !stored.hasValidator, control.noCache || (control.mustRevalidate && !isEverFresh) { return false }
        return stored.head.status == 200 || control.staleIfError != nil || isEverFresh
    }

    /// Without what must not be stored (RFC 9111 section 3.1), what `no-cache="…"` names (section 5.2.2.4), and secrets.
    package static func keptFields(of fields: HTTPFields) -> HTTPFields {
        let left = namesNotKept(fields)
        return withoutSecrets(fields).filtered { !left.contains($0) }
    }

    /// Returns the fields that hand out no credentials. Neither an image nor its freshness needs those, and RFC 9111
    /// section 7.3 warns of storing them; Chromium's cache leaves out `Set-Cookie` and challenges too. All other fields
    /// are stored, unknown ones included, as section 3.1 demands.
    static func withoutSecrets(_ fields: HTTPFields) -> HTTPFields {
        fields.filtered { name in
            !secretParts.contains { name.contains($0) } && !name.split(separator: "-").contains("auth")
        }
    }

    private static let secretParts = [
        "cookie", "authenticat", "authoriz", "token", "secret", "session", "csrf", "xsrf", "password", "credential",
        "api-key", "apikey", "jwt",
    ]

    static func namesNotKept(_ fields: HTTPFields) -> Set<String> {
        connectionFields.union(fields.rawValues("connection").flatMap { FieldScanner.names($0) })
            .union(CacheControl(fields).noCacheFields)
    }
}

/// What is to be kept of an answer while its body comes.
package struct IncomingResponse: Hashable, Sendable {
    /// Its ``StoredResponse/bodyRange`` is what was there before the first byte that comes, or is empty and begins where
    /// the body will.
    package var response: StoredResponse
    /// Where the body ends by what the head says; `nil` where it says nothing.
    package var end: Int64?

    package init(response: StoredResponse, end: Int64?) {
        self.response = response
        self.end = end
    }

    /// What is kept now that the body has ended, or the connection was lost in its middle.
    ///
    /// - Parameters:
    ///   - count: how many bytes of the body came, before its content coding is undone.
    ///   - isWhole: whether the exchange ended as it should.
    /// - Returns: `nil` where it must not be kept: it broke, and nothing strong could prove that a rest belongs to it
    ///   (RFC 9111 section 3.3), or it is longer than it said, or ended early without having broken.
    package func ended(after count: Int64, isWhole: Bool) -> StoredResponse? {
        let (end, overflow) = response.bodyRange.upperBound.addingReportingOverflow(count)
        guard count >= 0, !overflow, end <= self.end ?? .max else { return nil }
        var ended = response
        ended.bodyRange = response.bodyRange.lowerBound..<end
        if isWhole, self.end == nil { ended.totalLength = end }
        if ended.isComplete { return ended }
        // What ended as it should, and is not what it says, is wrong in one of both.
        let isTrusted = isWhole ? end == self.end : ended.hasStrongValidator
        return !ended.bodyRange.isEmpty && ended.head.status == 200 && isTrusted ? ended : nil
    }
}
