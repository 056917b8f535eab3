/// What an answer means for the caller and for the store: decided when its head has come (RFC 9111 section 4.3). Where the
/// exchange is behind the caller's back (``CacheExchange/isBehind``), what is passed on or served is so to nobody.
package enum CacheOutcome: Hashable, Sendable {
    /// The caller gets it as it comes.
    case pass(StoreChanges)
    /// The caller gets what is stored instead, and the answer's body is let pass.
    case serve(StoredAnswer, StoreChanges)
    /// It is of no use: the request is sent once more, this way.
    case exchangeAgain(CacheExchange, StoreChanges)

    package var changes: StoreChanges {
        switch self {
        case .pass(let changes), .serve(_, let changes), .exchangeAgain(_, let changes): changes
        }
    }

    /// - Parameters:
    ///   - exchange: how the request was sent.
    ///   - found: what it was decided from.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head came.
    package static func decide(
        head: ResponseHead, exchange: CacheExchange, found: [StoredEntry], request: CachingRequest,
        requestTime: WallTime, responseTime: WallTime
    ) -> CacheOutcome {
        var changes = StoreChanges()
        changes.invalidated = Invalidation.urls(head, of: request)
        guard !request.passesByStore(CacheControl(request: request.fields)) else { return .pass(changes) }
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

    // MARK: Stale where the origin fails

    /// What stands in where no answer came (RFC 5861 section 4): a stale one, where the stored answer or the request allows
    /// it by `stale-if-error` and nothing forbids it. Errors of certificates and of the answer's size are told, not hidden.
    package static func answer(
        after code: LoadError.Code, found: [StoredEntry], request: CachingRequest, now: WallTime
    ) -> StoredAnswer? {
        guard [.cannotConnect, .connectionLost, .timedOut, .truncated, .badResponse].contains(code) else { return nil }
        let isDisconnected = request.servesStaleOnDisconnect && code != .badResponse
        return stale(found: found, request: request, now: now, isAllowed: isDisconnected)
    }

    /// RFC 5861 section 4: what counts as an error, where an answer came.
    static let serverErrors: Set<Int> = [500, 502, 503, 504]

    /// - Parameter isAllowed: whether a stale response may be used that nothing but `must-revalidate` or `no-cache` forbids
    ///   (RFC 9111 section 4.2.4).
    private static func stale(
        found: [StoredEntry], request: CachingRequest, now: WallTime, isAllowed: Bool = false
    ) -> StoredAnswer? {
        let control = CacheControl(request: request.fields)
        guard request.isReading, request.policy != .refresh, request.policy != .reload,
            !request.passesByStore(control), !request.asksOriginAlone, !control.noCache, control.maxAge != 0
        else { return nil }
        for position in CacheCandidates(found, request).matching {
            let stored = found[position].response
            guard stored.head.status < 500,
                let answer = StoredAnswer(found[position], at: position, for: request, now: now)
            else { continue }
            let own = stored.cacheControl
            let freshness = Freshness(of: stored, at: now)
            guard !own.noCache, !freshness.isUnknown, freshness.isFresh || !own.mustRevalidate else { return nil }
            if isAllowed { return answer }
            guard let window = [own.staleIfError, control.staleIfError].compactMap({ $0 }).max(),
                freshness.staleness <= window * 1000
            else { return nil }
            return answer
        }
        return nil
    }
}

/// What a store has to do about an answer. All of it, in any order, but for what ``keeping`` says.
package struct StoreChanges: Hashable, Sendable {
    package enum Keeping: Hashable, Sendable {
        case nothing
        /// A new entry when the body has ended, in the place of others: ``IncomingResponse/ended(after:isWhole:)``.
        case new(IncomingResponse, replacing: [StoredEntry.ID])
        /// The body follows what an entry has: its first bytes are there already, so many of them are left out.
        case extending(StoredEntry.ID, IncomingResponse, leavingOut: Int64)
    }

    package struct Update: Hashable, Sendable {
        package var id: StoredEntry.ID
        package var response: StoredResponse
    }

    package var keeping = Keeping.nothing
    package var updates: [Update] = []
    package var removed: [StoredEntry.ID] = []
    /// Everything under these URLs goes.
    package var invalidated: [String] = []

    package init() {}

    /// Whether there is nothing to do.
    var isEmpty: Bool { self == StoreChanges() }

    /// Whether the body becomes an entry of its own.
    var keepsNew: Bool { if case .new = keeping { true } else { false } }
}

/// An answer, and all that it is judged by.
private struct Answer {
    var head: ResponseHead
    var exchange: CacheExchange
    var found: [StoredEntry]
    var request: CachingRequest
    var requestTime: WallTime
    var responseTime: WallTime

    // MARK: 304

    /// RFC 9111 sections 4.3.3 and 4.3.4.
    func freshening() -> CacheOutcome {
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
        guard let answer = StoredAnswer(shown, at: first, for: request, now: responseTime) else {
            return .exchangeAgain(CacheExchange(), changes)
        }
        return .serve(answer, changes)
    }

    private func unselected() -> CacheOutcome {
        // It may speak of what the caller has (RFC 9111 section 4.3.2).
        if !exchange.isBehind, let condition = EntityTagCondition("if-none-match", of: request.fields),
            EntityTag(of: head.fields).map({ condition.weaklyMatches($0) }) ?? true
        {
            return .pass(StoreChanges())
        }
        var again = CacheExchange()
        again.isBehind = exchange.isBehind
        if exchange.isBehind { again.removing = exchange.removing }
        if let control = exchange.setting["cache-control"] { again.setting.append("Cache-Control", control) }
        return .exchangeAgain(again, StoreChanges())
    }

    /// Which of the entries that were asked about the 304 speaks of (RFC 9111 section 4.3.4): all that share its strong
    /// validator, or else the most recent that its weak one fits. One without any can only speak of the only one.
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

    /// `nil` where no request can be known to be the same any more.
    private func update(_ stored: StoredResponse) -> StoredResponse? {
        var updated = stored.updated(by: head, requestTime: requestTime, responseTime: responseTime)
        if SelectingFields.names(of: updated.head) != SelectingFields.names(of: stored.head) {
            guard let selecting = SelectingFields.of(request.fields, for: updated.head) else { return nil }
            updated.selectingFields = selecting
        }
        return updated
    }

    // MARK: HEAD

    /// RFC 9111 section 4.3.5: what a GET could be answered by is updated, or goes.
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
            let incoming = Storing.incoming(
                head, of: request, requestTime: requestTime, responseTime: responseTime)
        else {
            // Nothing is here any more, says the origin, or something newer that is not kept: the older must not come back.
            if request.method == "GET", [200, 203, 404, 410].contains(head.status), !CacheControl(head.fields).noStore {
                changes.removed = matching.map { found[$0].id }
            }
            return
        }
        if head.status == 206 { return keepPart(incoming, matching, &changes) }
        // An error that is kept for a while does not cost what it stands in front of.
        let replaced = head.status >= 500 ? matching.filter { found[$0].response.head.status >= 500 } : matching
        changes.keeping = .new(incoming, replacing: replaced.map { found[$0].id })
    }

    /// RFC 9111 section 3.4: parts become one where they share a strong validator, and one goes on where the other ends.
    private func keepPart(_ incoming: IncomingResponse, _ matching: [Int], _ changes: inout StoreChanges) {
        let new = incoming.response
        var replaced: [StoredEntry.ID] = []
        for position in matching {
            let entry = found[position]
            let old = entry.response
            guard old.head.status == 200 else { continue }
            guard old.sharesStrongValidator(with: head.fields), old.totalLength ?? new.totalLength == new.totalLength
            else {
                // Of two representations the older one is of no use.
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
                changes.keeping = .extending(
                    entry.id, IncomingResponse(response: merged, end: end),
                    leavingOut: old.bodyRange.upperBound - start)
                return
            }
            if start <= old.bodyRange.lowerBound, end >= old.bodyRange.upperBound { replaced.append(entry.id) }
        }
        changes.keeping = .new(incoming, replacing: replaced)
    }
}
