/// The decision about a request, made from the stored entries before anything is sent (RFC 9111 section 4).
///
/// The path of a request through the cache:
///
/// 1. ``ResponseStore/find(_:choose:completion:)``, with ``decide(found:request:now:)`` called in `choose`, which
///    returns ``chosenPosition`` so that the body is read in the same step. The request's header fields are those that
///    would be sent without a cache, credentials of the URL included.
/// 2. ``serve(_:)`` and ``fail(_:)`` end the request, the latter with that head. ``serveStale(_:revalidating:)`` ends
///    it too, while the exchange runs in the background, for the store only.
/// 3. ``exchange(_:)``: ``CacheExchange/fields(from:)`` is sent. The head of the response is evaluated by
///    ``ResponseCacheDecision/decide(head:exchange:found:request:requestTime:responseTime:)``. Without a response,
///    ``ResponseCacheDecision/answer(after:found:request:now:)`` decides whether to serve a stale one.
/// 4. ``resume(_:)``: ``Resumption/fields(from:)`` is sent, then ``Resumption/verdict(on:requestTime:responseTime:)``.
package enum CacheDecision: Hashable, Sendable {
    case serve(ServedResponse)
    case serveStale(ServedResponse, revalidating: CacheExchange)
    case exchange(CacheExchange)
    case resume(Resumption)
    /// No stored response may be used, and no request may be sent: status 504 (RFC 9111 section 5.2.1.7).
    case fail(ResponseHead)

    /// The entry whose body is needed now, to be served or resumed. If the body is damaged, its entry is removed, and
    /// the decision is made again from the remaining entries.
    package var chosenPosition: Int? {
        switch self {
        case .serve(let answer), .serveStale(let answer, _): answer.bytes == nil ? nil : answer.position
        case .resume(let resumption): resumption.position
        case .exchange, .fail: nil
        }
    }

    package static func decide(found: [StoredEntry], request: CachingRequest, now: WallTime) -> CacheDecision {
        let control = CacheControl(request: request.fields)
        let mayAsk = request.allowsNetwork(control)
        guard request.isReading, !request.bypassesStore(control), !request.hasOriginConditions else {
            return mayAsk ? .exchange(CacheExchange()) : .fail(Self.gatewayTimeout)
        }
        if request.policy == .reload {
            return mayAsk ? .exchange(CacheExchange(reloading: request, control)) : .fail(Self.gatewayTimeout)
        }
        let candidates = CacheCandidates(found, request)
        for position in candidates.matching {
            guard let answer = ServedResponse(found[position], at: position, for: request, now: now) else { continue }
            switch Reuse(of: answer, for: request, control) {
            case .allowed: return .serve(answer)
            case .whileRevalidating where !mayAsk: return .serve(answer)
            case .whileRevalidating:
                return .serveStale(answer, revalidating: CacheExchange(behind: request, candidates, found))
            case .forbidden: break
            }
            // Of several matching responses, the most recent one counts (RFC 9111 section 4).
            break
        }
        guard mayAsk else { return .fail(Self.gatewayTimeout) }
        if let resumption = candidates.resumption(found, request) { return .resume(resumption) }
        return .exchange(CacheExchange(for: request, control, candidates, found))
    }

    static let gatewayTimeout = ResponseHead(status: 504, fields: HTTPFields([("Content-Length", "0")]))
}

/// Whether a stored response may be used without a request (RFC 9111 section 4.2).
private enum Reuse {
    case allowed
    /// Allowed with a revalidation in the background (RFC 5861 section 3).
    case whileRevalidating
    case forbidden

    init(of answer: ServedResponse, for request: CachingRequest, _ control: CacheControl) {
        let (own, freshness) = (answer.control, answer.freshness)
        if own.noCache || control.noCache {
            self = .forbidden
        } else if request.policy == .refresh {
            self = own.isImmutable && freshness.isFresh ? .allowed : .forbidden
        } else if request.policy == .preferCached {
            self = freshness.isFresh || !own.mustRevalidate ? .allowed : .forbidden
        } else if control.maxAge.map({ $0 == 0 || freshness.age > $0 * 1000 }) ?? false {
            self = .forbidden
        } else if freshness.isFresh {
            self = -freshness.staleness >= (control.minFresh ?? 0) * 1000 ? .allowed : .forbidden
        } else {
            self = Self.stale(freshness, own, request, control)
        }
    }

    /// Allows a stale response only if a directive allows it and none forbids it (RFC 9111 section 4.2.4).
    private static func stale(
        _ freshness: Freshness, _ own: CacheControl, _ request: CachingRequest, _ control: CacheControl
    ) -> Reuse {
        guard !own.mustRevalidate, !freshness.isUnknown, control.minFresh == nil else { return .forbidden }
        if let maxStale = control.maxStale,
            freshness.staleness / 1000 < maxStale || freshness.staleness == maxStale * 1000
        {
            return .allowed
        }
        guard control.maxAge == nil, request.method == "GET", let window = own.staleWhileRevalidate,
            freshness.staleness <= window * 1000
        else { return .forbidden }
        return .whileRevalidating
    }
}
