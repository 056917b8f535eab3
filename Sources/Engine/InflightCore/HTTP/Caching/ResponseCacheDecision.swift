/// The effect of a response on the caller and the store, decided when its head arrives (RFC 9111 section 4.3). In a
/// background exchange (``CacheExchange/isBackground``), no caller receives the response that is passed on or served.
package enum ResponseCacheDecision: Hashable, Sendable {
    /// The caller receives the response.
    case pass(StoreChanges)
    /// The caller receives the stored response instead, and the body of the received one is ignored.
    case serve(ServedResponse, StoreChanges)
    /// The response is unusable. Send the request once more, with these changes.
    case exchangeAgain(CacheExchange, StoreChanges)

    package var changes: StoreChanges {
        switch self {
        case .pass(let changes), .serve(_, let changes), .exchangeAgain(_, let changes): changes
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
        guard let answer = ServedResponse(shown, at: first, for: request, now: responseTime) else {
            return .exchangeAgain(CacheExchange(), changes)
        }
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
        return .exchangeAgain(again, StoreChanges())
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
