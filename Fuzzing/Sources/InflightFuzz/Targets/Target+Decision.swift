@testable import InflightCore

extension Target {
    /// All cache rules: the fields of a request, of a stored response and of a new response, separated by `|`. The
    /// first byte sets the stored response's age and whether its status is 200 or 206.
    static let decision = Target(name: "decision") { bytes in
        let parts = bytes.dropFirst().split(
            separator: UInt8(ascii: "|"), maxSplits: 2, omittingEmptySubsequences: false
        )
        .map { HTTPFields(lines: Array($0).lines) }
        guard parts.count == 3, let age = bytes.first else { return }
        let now = WallTime.example
        let earlier = now.adding(milliseconds: -1000 << Int64(age & 31))
        let request = CachingRequest(url: "http://a.example/1", fields: parts[0])
        var found: [StoredEntry] = []
        let head = ResponseHead(status: age & 0x20 == 0 ? 200 : 206, fields: parts[1])
        if let incoming = StoragePolicy.incoming(head, of: request, requestTime: earlier, responseTime: earlier),
            let stored = incoming.ended(
                after: incoming.end.map { $0 - incoming.response.bodyRange.upperBound } ?? 9, isWhole: true)
        {
            require(
                !CacheControl(head.fields).noStore || CacheControl(head.fields).mustUnderstand, "no-store is obeyed")
            require(stored.bodyRange.upperBound <= stored.totalLength ?? .max, "a part lies within the whole")
            found = [StoredEntry(id: .init(rawValue: 1), response: stored)]
        }
        let decision = CacheDecision.decide(found: found, request: request, now: now)
        check(decision, found, request)
        guard case .exchange(let exchange) = decision else { return }
        for status in [200, 206, 304, 503] {
            let outcome = ResponseCacheDecision.decide(
                head: ResponseHead(status: status, fields: parts[2]), exchange: exchange, found: found,
                request: request,
                requestTime: now, responseTime: now)
            if case .serve(let answer, _) = outcome { check(.serve(answer), found, request) }
            if case .resend(let again, _) = outcome {
                require(again.offered.isEmpty, "a repeated exchange has none of the cache's own conditions")
            }
        }
    }

    private static func check(_ decision: CacheDecision, _ found: [StoredEntry], _ request: CachingRequest) {
        switch decision {
        case .serve(let answer), .serveStale(let answer, _):
            let stored = found[answer.position].response
            if let bytes = answer.bytes {
                require(
                    bytes.lowerBound >= 0 && bytes.upperBound <= Int64(stored.bodyRange.count),
                    "only stored bytes are served")
            }
            require(VaryFields.match(stored, request.fields), "a served response matches the request by Vary")
            require(answer.head.fields.contains("age"), "a served response has an Age")
        case .resume(let resumption):
            require(resumption.stored.hasStrongValidator, "parts are combined only by a strong validator")
        case .exchange(let exchange):
            require(exchange.offered.allSatisfy { found.indices.contains($0) }, "only stored responses are revalidated")
        case .fail(let head):
            require(head.status == 504, "only-if-cached without a match is a 504")
        }
    }
}
