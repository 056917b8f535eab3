import InflightCore
import Testing

@Suite("Cache decisions", .timeLimit(.minutes(10)))
struct CacheDecisionTests {
    typealias Stage = CachingStage

    struct Row: Sendable, CustomTestStringConvertible {
        var stored: String
        var request: String = ""
        var now: Double = 5
        var use: Stage.Use
        var testDescription: String { "\(stored) | \(request) | \(now)" }

        func check() {
            let answer = [("Cache-Control", stored), ("ETag", "\"a\"")]
            let request = request.isEmpty ? Stage.request() : Stage.request([("Cache-Control", request)])
            #expect(Stage.use(answer, request, now: now) == use)
        }
    }

    @Test(
        "RFC 9111 4: A fresh response is served and a stale one is revalidated",
        arguments: [
            Row(stored: "max-age=10", use: .served), Row(stored: "max-age=5", use: .asked),
            Row(stored: "max-age=10, private", use: .served), Row(stored: "max-age=10, must-revalidate", use: .served),
            Row(stored: "public", use: .asked),
        ])
    func fresh(row: Row) { row.check() }

    @Test(
        "RFC 9111 5.2.2.4: A response with unqualified no-cache is always revalidated",
        arguments: [
            Row(stored: "max-age=10, no-cache", use: .asked), Row(stored: "No-CaChE, max-age=10", use: .asked),
            Row(stored: "max-age=10, no-cache", request: "max-stale", use: .asked),
            Row(stored: "max-age=10, no-cache=\"x\"", use: .served),
            Row(stored: "max-age=0, no-cache, stale-while-revalidate=60", use: .asked),
        ])
    func noCache(row: Row) { row.check() }

    @Test(
        "RFC 9111 5.2.1.1: max-age in a request bounds the age, and 0 always revalidates",
        arguments: [
            Row(stored: "max-age=10", request: "max-age=5", use: .served),
            Row(stored: "max-age=10", request: "max-age=4", use: .asked),
            Row(stored: "max-age=10", request: "max-age=0", now: 0, use: .asked),
            Row(stored: "max-age=10", request: "max-age=x", use: .asked),
            Row(stored: "max-age=1, stale-while-revalidate=60", request: "max-age=50", use: .asked),
        ])
    func requestMaxAge(row: Row) { row.check() }

    @Test(
        "RFC 9111 5.2.1.2: max-stale admits responses stale by its value, or by any time without a value",
        arguments: [
            Row(stored: "max-age=1", request: "max-stale=4", use: .servedStale),
            Row(stored: "max-age=1", request: "max-stale=3", use: .asked),
            Row(stored: "max-age=1", request: "max-stale", now: 1_000_000_000, use: .servedStale),
            Row(stored: "max-age=1", request: "max-stale=x", use: .asked),
        ])
    func maxStale(row: Row) { row.check() }

    @Test(
        "RFC 9111 5.2.1.3: min-fresh requires that much remaining freshness",
        arguments: [
            Row(stored: "max-age=10", request: "min-fresh=5", use: .served),
            Row(stored: "max-age=10", request: "min-fresh=6", use: .asked),
            Row(stored: "max-age=10", request: "min-fresh=x", use: .asked),
            Row(stored: "max-age=1", request: "min-fresh=1, max-stale", use: .asked),
        ])
    func minFresh(row: Row) { row.check() }

    @Test("RFC 9111 5.2.1.4: no-cache or Pragma: no-cache in a request always revalidates")
    func requestNoCache() {
        Row(stored: "max-age=10", request: "no-cache", use: .asked).check()
        #expect(
            Stage.use([("Cache-Control", "max-age=10"), ("ETag", "\"a\"")], Stage.request([("Pragma", "no-cache")]))
                == .asked)
        #expect(Stage.use([("Cache-Control", "max-age=10")], Stage.request([("Pragma", "x")])) == .served)
    }

    @Test("RFC 9111 5.2.1.5: A request with no-store uses no stored response")
    func requestNoStore() {
        Row(stored: "max-age=10", request: "no-store", use: .fetched).check()
    }

    @Test("RFC 9111 5.2.1.7: only-if-cached is served from the store or fails with 504")
    func onlyIfCached() {
        Row(stored: "max-age=10", request: "only-if-cached", use: .served).check()
        Row(stored: "max-age=1", request: "only-if-cached", use: .failed).check()
        Row(stored: "max-age=1", request: "only-if-cached, max-stale", use: .servedStale).check()
        Row(stored: "max-age=1, stale-while-revalidate=60", request: "only-if-cached", use: .servedStale).check()
        let asked = Stage.request([("Cache-Control", "only-if-cached")])
        guard case .fail(let head) = Stage.decide([], asked) else {
            Issue.record("something was found in an empty store")
            return
        }
        #expect(head.status == 504)
        #expect(Stage.Use(Stage.decide([], Stage.request([("Cache-Control", "only-if-cached, no-store")]))) == .failed)
        #expect(Stage.Use(Stage.decide([], Stage.request(method: "POST", policy: .onlyCached))) == .failed)
    }

    @Test(
        "RFC 9111 4.2.4 and 5.2.2.2: A response with must-revalidate is never served stale",
        arguments: [
            Row(stored: "max-age=1, must-revalidate", request: "max-stale", use: .asked),
            Row(stored: "max-age=1, must-revalidate, stale-while-revalidate=60", use: .asked),
            Row(stored: "max-age=1, must-revalidate", request: "only-if-cached, max-stale", use: .failed),
        ])
    func mustRevalidate(row: Row) { row.check() }

    @Test(
        "RFC 9111 5.2.2.8: A private cache ignores proxy-revalidate and s-maxage",
        arguments: [
            Row(stored: "max-age=1, proxy-revalidate", request: "max-stale", use: .servedStale),
            Row(stored: "max-age=10, s-maxage=1", use: .served), Row(stored: "s-maxage=10, max-age=1", use: .asked),
        ])
    func shared(row: Row) { row.check() }

    @Test(
        "RFC 5861 3: stale-while-revalidate serves a stale response and revalidates it in the background",
        arguments: [
            Row(stored: "max-age=1, stale-while-revalidate=4", use: .behind),
            Row(stored: "max-age=1, stale-while-revalidate=3", use: .asked),
            Row(stored: "max-age=10, stale-while-revalidate=60", use: .served),
            Row(stored: "max-age=1, stale-while-revalidate=x", use: .asked),
        ])
    func staleWhileRevalidate(row: Row) { row.check() }

    @Test("RFC 5861 3: A background revalidation omits Range and If-Range of the caller")
    func behind() throws {
        let request = Stage.request([("Range", "bytes=0-4"), ("If-Range", "\"a\""), ("X", "y")])
        let entry = Stage.entry([("Cache-Control", "max-age=0, stale-while-revalidate=60"), ("ETag", "\"a\"")])
        let decision = Stage.decide([entry], request)
        #expect(decision.answer?.head.status == 206)
        let exchange = try #require(decision.exchange)
        #expect(exchange.isBackground)
        let sent = exchange.fields(from: request.fields)
        #expect(!sent.contains("range") && !sent.contains("if-range") && sent["x"] == "y")
        #expect(sent["if-none-match"] == "\"a\"")
    }

    @Test("RFC 9111 4: Only GET and HEAD use a stored response")
    func methods() {
        let entry = Stage.entry([("Cache-Control", "max-age=10")])
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", "X"] {
            #expect(Stage.Use(Stage.decide([entry], Stage.request(method: method))) == .fetched, "\(method)")
        }
    }

    @Test("RFC 9110 9.3.2: HEAD is served from a stored GET response, without its body")
    func headFromGet() throws {
        let entry = Stage.entry([("Cache-Control", "max-age=10"), ("Content-Length", "10")])
        let answer = try #require(Stage.decide([entry], Stage.request(method: "HEAD")).answer)
        #expect(answer.bytes == nil && answer.head.status == 200 && answer.head.fields["content-length"] == "10")
        let stale = Stage.decide([entry], Stage.request(method: "HEAD"), now: 20)
        #expect(stale.exchange == CacheExchange())
        let get = Stage.decide([entry])
        #expect(get.chosenPosition == 0 && get.answer?.bytes == 0..<10)
        #expect(Stage.decide([entry], Stage.request(method: "HEAD")).chosenPosition == nil)
        #expect(stale.chosenPosition == nil)
    }

    @Test("RFC 9111 5.1 and RFC 9110 6.6.1: A served response states its Age and keeps its Date")
    func ageIsShown() throws {
        let answer = try #require(
            Stage.decide([Stage.entry([("Cache-Control", "max-age=600"), ("Age", "30")])], now: 7.9).answer)
        #expect(answer.head.fields.values("age") == ["37"])
        #expect(answer.head.fields.values("date") == [date(0)])
        let dateless = Stage.decide([Stage.entry([("Cache-Control", "max-age=600")], dated: false)], now: 7).answer
        #expect(dateless?.head.fields["date"] == date(0))
    }

    @Test("RFC 9111 4: Of several matches the most recent by Date is used, even if an older one is fresh")
    func mostRecent() {
        let old = Stage.entry([("Cache-Control", "max-age=1000"), ("Date", date(-10))], id: 1)
        let new = Stage.entry([("Cache-Control", "max-age=1000"), ("Date", date(-1))], id: 2)
        #expect(Stage.decide([old, new]).answer?.id.rawValue == 2)
        #expect(Stage.decide([new, old]).answer?.id.rawValue == 2)
        let stale = Stage.entry([("Cache-Control", "max-age=1"), ("Date", date(-1)), ("ETag", "\"b\"")], id: 3)
        #expect(Stage.Use(Stage.decide([old, stale])) == .asked)
    }

    @Test("A stored response with no-store is not served")
    func defence() {
        #expect(Stage.use([("Cache-Control", "max-age=10, no-store")]) == .fetched)
    }

    // MARK: Policies

    @Test("The refresh policy revalidates all but fresh immutable responses, with max-age=0 (RFC 8246 2)")
    func refresh() throws {
        let request = Stage.request([("Cache-Control", "no-transform")], policy: .refresh)
        let entry = Stage.entry([("Cache-Control", "max-age=1000"), ("ETag", "\"a\"")])
        let exchange = try #require(Stage.decide([entry], request).exchange)
        let sent = exchange.fields(from: request.fields)
        #expect(sent.values("cache-control") == ["max-age=0, no-transform"])
        #expect(sent["if-none-match"] == "\"a\"" && exchange.offered == [0])
        #expect(Stage.decide([], request).exchange?.setting["cache-control"] == "max-age=0, no-transform")
        let immutable = [("Cache-Control", "max-age=10, immutable"), ("ETag", "\"a\"")]
        #expect(Stage.use(immutable, Stage.request(policy: .refresh)) == .served)
        #expect(Stage.use(immutable, Stage.request(policy: .refresh), now: 20) == .asked)
        #expect(Stage.use(immutable, Stage.request([("Cache-Control", "no-cache")], policy: .refresh)) == .asked)
    }

    @Test("The onlyCached policy serves from the store or fails")
    func onlyCached() {
        let request = Stage.request(policy: .onlyCached)
        #expect(Stage.use([("Cache-Control", "max-age=10")], request) == .served)
        #expect(Stage.use([("Cache-Control", "max-age=1")], request) == .failed)
        let lenient = Stage.request([("Cache-Control", "max-stale")], policy: .onlyCached)
        #expect(Stage.use([("Cache-Control", "max-age=1")], lenient) == .servedStale)
    }

    @Test("The preferCached policy serves any age unless the response requires revalidation")
    func preferCached() {
        let request = Stage.request(policy: .preferCached)
        #expect(Stage.use([], request, now: 1_000_000_000) == .servedStale)
        #expect(Stage.use([("Cache-Control", "max-age=0")], request) == .servedStale)
        #expect(Stage.use([("Cache-Control", "max-age=0, must-revalidate"), ("ETag", "\"a\"")], request) == .asked)
        #expect(Stage.use([("Cache-Control", "no-cache"), ("ETag", "\"a\"")], request) == .asked)
        #expect(Stage.use([], request, now: -31_536_000) == .servedStale)
    }

    @Test("The noStore policy neither uses nor stores responses")
    func noStore() {
        let request = Stage.request(policy: .noStore)
        #expect(Stage.use([("Cache-Control", "max-age=10")], request) == .fetched)
        #expect(Stage.outcome(Stage.head(200, [("Cache-Control", "max-age=10")]), [], request) == .pass(StoreChanges()))
    }
}
