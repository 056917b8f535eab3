/// The effect of a response on the caller and the store, decided when its head arrives (RFC 9111 section 4.3). In a
/// background exchange (``CacheExchange/isBackground``), no caller receives the response that is passed on or served.
package enum ResponseCacheDecision: Hashable, Sendable {
    /// The caller receives the response.
    case pass(StoreChanges)
    /// The caller receives the stored response instead, and the body of the received one is ignored.
    case serve(ServedResponse, StoreChanges)
    /// The response is unusable. Send the request once more, with these changes.
    case resend(CacheExchange, StoreChanges)

    package var changes: StoreChanges {
        switch self {
        case .pass(let changes), .serve(_, let changes), .resend(_, let changes): changes
        }
    }

    /// - Parameters:
    ///   - exchange: how the request was sent.
    ///   - found: the entries from which that was decided.
    ///   - requestTime: the time at which the request was sent.
    ///   - responseTime: the time at which the head was received.
    package static func decide(
        head: ResponseHead, exchange: CacheExchange, found: [StoredEntry], request: CachingRequest,
        requestTime: WallTime, responseTime: WallTime
    ) -> ResponseCacheDecision {
        var changes = StoreChanges()
        changes.invalidated = Invalidation.urls(head, of: request)
        guard !request.bypassesStore(CacheControl(request: request.fields)) else { return .pass(changes) }
        let answer = Answer(
            head: head, exchange: exchange, found: found, request: request, requestTime: requestTime,
            responseTime: responseTime)
        if head.status == 304 {
            return exchange.offered.isEmpty ? .pass(changes) : answer.freshening()
        }
        if Self.serverErrors.contains(head.status),
            let stale = Self.stale(found: found, request: request, now: responseTime)
        {
            return .serve(stale, changes)
        }
        if request.method == "HEAD" {
            if head.status == 200 { changes = answer.changesByHead() }
            return .pass(changes)
        }
        answer.keep(&changes)
        return .pass(changes)
    }

    // MARK: Stale responses after failures

    /// Returns the stored response to serve if none was received (RFC 5861 section 4): a stale one, if `stale-if-error`
    /// of either side allows it and nothing forbids it. Errors of certificates and of the response's size stay visible.
    package static func answer(
        after code: LoadError.Code, found: [StoredEntry], request: CachingRequest, now: WallTime
    ) -> ServedResponse? {
        guard [.cannotConnect, .connectionLost, .timedOut, .truncated, .badResponse].contains(code) else { return nil }
        let isDisconnected = request.servesStaleOnDisconnect && code != .badResponse
        return stale(found: found, request: request, now: now, isAllowed: isDisconnected)
    }

    /// The statuses that count as errors (RFC 5861 section 4).
    static let serverErrors: Set<Int> = [500, 502, 503, 504]

    /// - Parameter isAllowed: whether to allow any stale response that neither `must-revalidate` nor `no-cache` forbids
    ///   (RFC 9111 section 4.2.4).
    private static func stale(
        found: [StoredEntry], request: CachingRequest, now: WallTime, isAllowed: Bool = false
    ) -> ServedResponse? {
        let control = CacheControl(request: request.fields)
        guard request.isReading, request.policy != .refresh, request.policy != .reload,
            !request.bypassesStore(control), !request.hasOriginConditions, !control.noCache, control.maxAge != 0
        else { return nil }
        for position in CacheCandidates(found, request).matching {
            let stored = found[position].response
            guard stored.head.status < 500,
                let answer = ServedResponse(found[position], at: position, for: request, now: now)
            else { continue }
            let own = answer.control
            guard !own.noCache, !answer.freshness.isUnknown, !answer.isStale || !own.mustRevalidate else { return nil }
            if isAllowed { return answer }
            guard let window = [own.staleIfError, control.staleIfError].compactMap({ $0 }).max(),
                answer.freshness.staleness <= window * 1000
            else { return nil }
            return answer
        }
        return nil
    }
}

/// The changes of the store that a response requires. All of them apply, in any order except as ``bodyStorage`` states.
package struct StoreChanges: Hashable, Sendable {
    package enum BodyStorage: Hashable, Sendable {
        case nothing
        /// Store a new entry when the body has ended, in place of others: ``IncomingResponse/ended(after:isWhole:)``.
        case new(IncomingResponse, replacing: [StoredEntry.ID])
        /// Append the body to an entry, without the first bytes that the entry already has.
        case extending(StoredEntry.ID, IncomingResponse, leavingOut: Int64)
    }

    package struct Update: Hashable, Sendable {
        package var id: StoredEntry.ID
        package var response: StoredResponse
    }

    package var bodyStorage = BodyStorage.nothing
    package var updates: [Update] = []
    package var removed: [StoredEntry.ID] = []
    /// The URLs whose entries are all removed.
    package var invalidated: [String] = []

    package init() {}

    /// Stores no new entry. Those that it would have replaced are removed nevertheless, because they are older.
    mutating func dropBody() {
        if case .new(_, let replaced) = bodyStorage { removed += replaced }
        bodyStorage = .nothing
    }

    /// Whether there are no changes.
    var isEmpty: Bool { self == StoreChanges() }

    /// Whether the body becomes a new entry.
    var storesNewEntry: Bool { if case .new = bodyStorage { true } else { false } }
}

/// A response, and all data needed to evaluate it.
private struct Answer {
    var head: ResponseHead
    var exchange: CacheExchange
    var found: [StoredEntry]
    var request: CachingRequest
    var requestTime: WallTime
    var responseTime: WallTime

    // MARK: 304

    /// Evaluates a 304 (RFC 9111 sections 4.3.3 and 4.3.4).
    func freshening() -> ResponseCacheDecision {
        let selected = selectedEntries()
        guard let first = selected.first else { return unselected() }
        var changes = StoreChanges()
        let forbidsStoring = CacheControl(head.fields).noStore
        for position in selected {
            let entry = found[position]
            guard !forbidsStoring, let updated = update(entry.response) else {
                changes.removed.append(entry.id)
                continue
            }
            changes.updates.append(StoreChanges.Update(id: entry.id, response: updated))
        }
        var shown = found[first]
        shown.response = shown.response.updated(by: head, requestTime: requestTime, responseTime: responseTime)
        shown.response.head.fields = StoredResponse.shown(found[first].response.head.fields, with: head.fields)
        guard var answer = ServedResponse(shown, at: first, for: request, now: responseTime) else {
            return .resend(CacheExchange(), changes)
        }
        answer.stored = changes.updates.first { $0.id == answer.id }?.response ?? found[first].response
        return .serve(answer, changes)
    }

    private func unselected() -> ResponseCacheDecision {
        // The 304 may refer to the caller's own copy (RFC 9111 section 4.3.2).
        if !exchange.isBackground, let condition = EntityTagCondition("if-none-match", of: request.fields),
            EntityTag(of: head.fields).map({ condition.weaklyMatches($0) }) ?? true
        {
            return .pass(StoreChanges())
        }
        var again = CacheExchange()
        again.isBackground = exchange.isBackground
        if exchange.isBackground { again.removing = exchange.removing }
        if let control = exchange.setting["cache-control"] { again.setting.append("Cache-Control", control) }
        return .resend(again, StoreChanges())
    }

    /// Returns the offered entries to which the 304 refers (RFC 9111 section 4.3.4): all with its strong validator, or
    /// else the most recent with its weak one. Without a validator, it can only refer to a single offered entry.
    private func selectedEntries() -> [Int] {
        let offered = exchange.offered.filter { found.indices.contains($0) }
        if let tag = EntityTag(of: head.fields) {
            if !tag.isWeak {
                return offered.filter { found[$0].response.entityTag.map { tag.stronglyEquals($0) } ?? false }
            }
            return Array(
                offered.filter { found[$0].response.entityTag.map { tag.weaklyEquals($0) } ?? false }.prefix(1))
        }
        if let date = HTTPDate.parse("last-modified", of: head.fields, now: responseTime) {
            let same = offered.filter { found[$0].response.lastModified == date }
            if !same.isEmpty { return Array(same.prefix(1)) }
            guard let only = offered.first, found[only].response.lastModified == nil else { return [] }
        }
        return offered.count == 1 ? offered : []
    }

    /// Returns the updated response; `nil` if no later request can be known to match it.
    private func update(_ stored: StoredResponse) -> StoredResponse? {
        var updated = stored.updated(by: head, requestTime: requestTime, responseTime: responseTime)
        if VaryFields.names(of: updated.head) != VaryFields.names(of: stored.head) {
            guard let selecting = VaryFields.of(request.fields, for: updated.head) else { return nil }
            updated.varyFields = selecting
        }
        return updated
    }

    // MARK: HEAD

    /// Returns the changes after a HEAD (RFC 9111 section 4.3.5). Matching entries are updated or removed.
    func changesByHead() -> StoreChanges {
        var changes = StoreChanges()
        guard !CacheControl(head.fields).noStore else { return changes }
        for position in CacheCandidates(found, request).matching {
            let entry = found[position]
            if isSameRepresentation(entry.response), let updated = update(entry.response) {
                changes.updates.append(StoreChanges.Update(id: entry.id, response: updated))
            } else {
                changes.removed.append(entry.id)
            }
        }
        return changes
    }

    private func isSameRepresentation(_ stored: StoredResponse) -> Bool {
        if let tag = EntityTag(of: head.fields) {
            guard let own = stored.entityTag, tag.weaklyEquals(own), tag.isWeak == own.isWeak else { return false }
        }
        if head.fields.contains("last-modified") {
            guard HTTPDate.parse("last-modified", of: head.fields, now: responseTime) == stored.lastModified else {
                return false
            }
        }
        if let length = Resumption.announcedLength(head.fields), let own = stored.totalLength { return length == own }
        return true
    }

    // MARK: Everything else

    func keep(_ changes: inout StoreChanges) {
        let matching = CacheCandidates(found, request).matching
        guard
            let incoming = StoragePolicy.incoming(
                head, of: request, requestTime: requestTime, responseTime: responseTime)
        else {
            // The resource is gone, or a newer response is not stored. The older one must not be used again.
            if request.method == "GET", [200, 203, 404, 410].contains(head.status), !CacheControl(head.fields).noStore {
                changes.removed = matching.map { found[$0].id }
            }
            return
        }
        if head.status == 206 { return storePart(incoming, matching, &changes) }
        // A stored error replaces only other errors, and not the response that can be served instead of it.
        let replaced = head.status >= 500 ? matching.filter { found[$0].response.head.status >= 500 } : matching
        changes.bodyStorage = .new(incoming, replacing: replaced.map { found[$0].id })
    }

    /// Stores a part (RFC 9111 section 3.4). Parts with the same strong validator are joined if there is no gap.
    private func storePart(_ incoming: IncomingResponse, _ matching: [Int], _ changes: inout StoreChanges) {
        let new = incoming.response
        var replaced: [StoredEntry.ID] = []
        for position in matching {
            let entry = found[position]
            let old = entry.response
            guard old.head.status == 200 else { continue }
            guard old.sharesStrongValidator(with: head.fields), old.totalLength ?? new.totalLength == new.totalLength
            else {
                // The stored part belongs to an older representation, and is useless now.
                if old.hasStrongValidator, new.hasStrongValidator { replaced.append(entry.id) }
                continue
            }
            var merged = old.updated(by: head, requestTime: requestTime, responseTime: responseTime)
            merged.totalLength = new.totalLength ?? old.totalLength
            let start = new.bodyRange.lowerBound
            let end = incoming.end ?? start
            if old.bodyRange.lowerBound <= start, old.bodyRange.upperBound >= end {
                changes.updates.append(StoreChanges.Update(id: entry.id, response: merged))
                return
            }
            if old.bodyRange.lowerBound <= start, start <= old.bodyRange.upperBound {
                changes.bodyStorage = .extending(
                    entry.id, IncomingResponse(response: merged, end: end),
                    leavingOut: old.bodyRange.upperBound - start)
                return
            }
            if start <= old.bodyRange.lowerBound, end >= old.bodyRange.upperBound { replaced.append(entry.id) }
        }
        changes.bodyStorage = .new(incoming, replacing: replaced)
    }
}

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

/// One change of the store after the end of a response's body.
enum CacheWrite: Hashable {
    /// Replace the head of an entry.
    case update(StoredEntry.ID, StoredResponse)
    /// Remove all entries under a key.
    case invalidate(StoreKey)
    /// Store the body as an entry in place of others, one of which may hold its first part.
    case keep(StoredResponse, replacing: [StoredEntry.ID], part: StoredEntry.ID?)
    /// Append the body without its first bytes to an entry, then replace the entry's head.
    case extend(StoredEntry.ID, leavingOut: Int, StoredResponse, at: Int64)
    case remove([StoredEntry.ID])
}

/// The extent of a body whose exchange has ended.
struct EndedBody: Hashable {
    /// The number of bytes present.
    var count: Int
    /// The number of bytes received in the last exchange.
    var receivedBytes: Int64
    /// The number of bytes before content decoding, if a range request for the rest got no response.
    var bytesBeforeRest: Int64?
    /// Whether the exchange ended without an error.
    var isWhole: Bool

    /// The number of bytes that follow those already stored.
    fileprivate func bytes(after incoming: IncomingResponse) -> Int64 {
        bytesBeforeRest.map { $0 - incoming.response.bodyRange.upperBound } ?? receivedBytes
    }
}

extension StoreChanges {
    /// The keys whose entries the response invalidates, images included.
    var invalidatedKeys: [StoreKey] {
        invalidated.map { StoreKey($0) }.flatMap { [$0, ProcessedImages.key($0)] }
    }

    /// Returns the changes of the store after the end of the body, in their order.
    ///
    /// - Parameters:
    ///   - body: the extent of the received body.
    ///   - part: the entry that holds the first part of the body, if it was stored while the rest was received.
    ///   - isWorthStoring: returns whether to store a response; called at most once.
    func writes(
        of body: EndedBody, part: StoredEntry.ID?, isWorthStoring: (StoredResponse) -> Bool
    ) -> [CacheWrite] {
        var writes = updates.map { CacheWrite.update($0.id, $0.response) } + invalidatedKeys.map(CacheWrite.invalidate)
        var removed = removed
        switch bodyStorage {
        case .nothing: break
        case .new(let incoming, let replaced):
            let stored = incoming.ended(after: body.bytes(after: incoming), isWhole: body.isWhole)
            if let stored, isWorthStoring(stored) {
                writes.append(.keep(stored, replacing: replaced + [part].compactMap(\.self), part: part))
            } else if body.isWhole, let part {
                // After an error the stored part stays: its rest can still be requested.
                removed.append(part)
            }
        case .extending(let id, let incoming, let leftOut):
            guard leftOut <= Int64(body.count),
                let stored = incoming.ended(after: body.receivedBytes - leftOut, isWhole: body.isWhole)
            else { break }
            writes.append(
                .extend(id, leavingOut: Int(leftOut), stored, at: incoming.response.bodyRange.upperBound))
        }
        if !removed.isEmpty { writes.append(.remove(removed)) }
        return writes
    }
}

/// The invalidation of stored responses by unsafe requests (RFC 9111 section 4.4).
package enum Invalidation {
    /// Returns whether a method is safe (RFC 9110 section 9.2.1). An unknown method may change anything.
    package static func isSafe(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
    }

    /// Returns the URLs whose stored responses must not be used without a request: the request's own, and those on its
    /// origin in `Location` and `Content-Location`. Empty if the method is safe or the response is an error.
    package static func urls(_ head: ResponseHead, of request: CachingRequest) -> [String] {
        guard !isSafe(request.method), (200..<400).contains(head.status) else { return [] }
        guard let own = try? ResourceURL(request.url) else { return [request.url] }
        var urls = [own.string]
        for name in ["location", "content-location"] {
            guard let reference = head.fields.reference(name), let url = try? own.resolving(reference),
                url.origin == own.origin, !urls.contains(url.string)
            else { continue }
            urls.append(url.string)
        }
        return urls
    }
}
