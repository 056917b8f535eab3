import InflightCore

/// The time `seconds` after the responses of these tests arrive.
func at(_ seconds: Double) -> WallTime {
    // 2026-01-01 00:00:00 GMT
    WallTime(milliseconds: 1_767_225_600_000).adding(milliseconds: Int64(seconds * 1000))
}

/// The same time as an HTTP date.
func date(_ seconds: Double) -> String { HTTPDate.text(at(seconds)) }

func fields(_ fields: [(String, String)]) -> HTTPFields {
    HTTPFields(fields.map { (name: $0.0, value: $0.1) })
}

/// Builds stored responses and requests, and runs the cache decisions on them.
struct CachingStage {
    static let url = "https://a.example/cat.png"

    /// A stored response of ten bytes that arrived at 0, with that time as `Date` unless it has its own.
    static func entry(
        _ answer: [(String, String)], status: Int = 200, id: Int64 = 1, came: Double = 0, sent: Double? = nil,
        requestFields: [(String, String)] = [], bytes: Range<Int64> = 0..<10, total: Int64? = 10, dated: Bool = true
    ) -> StoredEntry {
        var head = ResponseHead(status: status, fields: InflightCoreTests.fields(answer))
        if dated, !head.fields.contains("date") { head.fields.append("Date", date(came)) }
        let selecting = VaryFields.of(InflightCoreTests.fields(requestFields), for: head) ?? HTTPFields()
        return StoredEntry(
            id: StoredEntry.ID(rawValue: id),
            response: StoredResponse(
                method: "GET", url: url, varyFields: selecting, head: head, requestTime: at(sent ?? came),
                responseTime: at(came), bodyRange: bytes, totalLength: total))
    }

    static func request(
        _ fields: [(String, String)] = [], method: String = "GET", policy: ImageRequest.CachePolicy = .obey
    ) -> CachingRequest {
        CachingRequest(method: method, url: url, fields: InflightCoreTests.fields(fields), policy: policy)
    }

    static func decide(
        _ entries: [StoredEntry], _ request: CachingRequest = request(), now: Double = 5
    ) -> CacheDecision {
        CacheDecision.decide(found: entries, request: request, now: at(now))
    }

    /// The kind of decision on one stored response.
    static func use(
        _ answer: [(String, String)], _ request: CachingRequest = request(), now: Double = 5, status: Int = 200
    ) -> Use {
        Use(decide([entry(answer, status: status)], request, now: now))
    }

    enum Use: Equatable {
        case served, servedStale, behind, asked, fetched, resumed, failed

        init(_ decision: CacheDecision) {
            switch decision {
            case .serve(let answer): self = answer.isStale ? .servedStale : .served
            case .serveStale: self = .behind
            case .exchange(let exchange): self = exchange.offered.isEmpty ? .fetched : .asked
            case .resume: self = .resumed
            case .fail: self = .failed
            }
        }
    }

    /// The outcome of a response that arrives at `now`, after the decision made at that time.
    static func outcome(
        _ answer: ResponseHead, _ entries: [StoredEntry] = [], _ request: CachingRequest = request(), now: Double = 100
    ) -> ResponseCacheDecision {
        var exchange = CacheExchange()
        switch decide(entries, request, now: now) {
        case .exchange(let decided), .serveStale(_, let decided): exchange = decided
        case .serve, .resume, .fail: break
        }
        return ResponseCacheDecision.decide(
            head: answer, exchange: exchange, found: entries, request: request, requestTime: at(now),
            responseTime: at(now))
    }

    static func head(_ status: Int, _ fields: [(String, String)] = []) -> ResponseHead {
        ResponseHead(status: status, fields: InflightCoreTests.fields(fields))
    }
}

extension CacheDecision {
    var answer: ServedResponse? {
        switch self {
        case .serve(let answer), .serveStale(let answer, _): answer
        case .exchange, .resume, .fail: nil
        }
    }

    var exchange: CacheExchange? {
        switch self {
        case .exchange(let exchange), .serveStale(_, let exchange): exchange
        case .serve, .resume, .fail: nil
        }
    }
}

extension ResponseCacheDecision {
    var answer: ServedResponse? {
        guard case .serve(let answer, _) = self else { return nil }
        return answer
    }

    var kept: IncomingResponse? {
        switch changes.bodyStorage {
        case .new(let incoming, _), .extending(_, let incoming, _): incoming
        case .nothing: nil
        }
    }

    var isPass: Bool { if case .pass = self { true } else { false } }
    var isAgain: Bool { if case .resend = self { true } else { false } }
}
