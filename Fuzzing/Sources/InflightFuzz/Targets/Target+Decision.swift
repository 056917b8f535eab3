@testable import InflightCore

extension Target {
    /// The whole of the rules: a request, the head of a stored answer, and the head of the answer that comes, with
    /// empty lines between them. The first byte says how old the stored one is.
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
        if let incoming = Storing.incoming(head, of: request, requestTime: earlier, responseTime: earlier),
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
            let outcome = CacheOutcome.decide(
                head: ResponseHead(status: status, fields: parts[2]), exchange: exchange, found: found,
                request: request,
                requestTime: now, responseTime: now)
            if case .serve(let answer, _) = outcome { check(.serve(answer), found, request) }
            if case .exchangeAgain(let again, _) = outcome {
                require(again.offered.isEmpty, "what is asked again is asked without the cache's own conditions")
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
            require(SelectingFields.match(stored, request.fields), "what is served was chosen for such a request")
            require(answer.head.fields.contains("age"), "what is served says its age")
        case .resume(let resumption):
            require(resumption.stored.hasStrongValidator, "only a strong validator joins two parts")
        case .exchange(let exchange):
            require(exchange.offered.allSatisfy { found.indices.contains($0) }, "only what was found is asked about")
        case .fail(let head):
            require(head.status == 504, "what may not be asked for is a 504")
        }
    }
}
