import InflightCore
import Testing

@Suite("Cache outcomes: errors, HEAD and invalidation", .timeLimit(.minutes(10)))
struct ResponseCacheDecisionTests {
    typealias Stage = CachingStage

    // MARK: stale-if-error

    private func stands(
        _ control: String, _ request: String = "", status: Int = 503, now: Double = 50,
        policy: ImageRequest.CachePolicy = .obey
    ) -> Bool {
        let entry = Stage.entry([("Cache-Control", control), ("ETag", "\"a\"")])
        let request = Stage.request(request.isEmpty ? [] : [("Cache-Control", request)], policy: policy)
        return Stage.outcome(Stage.head(status), [entry], request, now: now).answer?.isStale == true
    }

    @Test("RFC 5861 4: Within stale-if-error of response or request, a stale response replaces an error")
    func staleIfError() {
        #expect(stands("max-age=10, stale-if-error=60"))
        #expect(stands("max-age=10, stale-if-error=40"))
        #expect(!stands("max-age=10, stale-if-error=39"))
        #expect(stands("max-age=10", "stale-if-error=40"))
        #expect(!stands("max-age=10", "stale-if-error=39"))
        #expect(!stands("max-age=10"))
        #expect(!stands("max-age=10, stale-if-error=x"))
    }

    @Test(
        "RFC 5861 4: Only 500, 502, 503 and 504 count as errors for stale-if-error",
        arguments: [200, 404, 429, 500, 501, 502, 503, 504, 505])
    func errors(status: Int) {
        #expect(stands("max-age=10, stale-if-error=60", status: status) == [500, 502, 503, 504].contains(status))
    }

    @Test(
        "RFC 9111 5.2.2.2: must-revalidate, no-cache and refreshing requests rule out stale-if-error"
    )
    func forbidden() {
        #expect(!stands("max-age=10, stale-if-error=60, must-revalidate"))
        #expect(!stands("max-age=10, stale-if-error=60, no-cache"))
        #expect(!stands("max-age=10, stale-if-error=60", "no-cache"))
        #expect(!stands("max-age=10, stale-if-error=60", "max-age=0"))
        #expect(!stands("max-age=10, stale-if-error=60", policy: .refresh))
        #expect(!stands("max-age=10, stale-if-error=60", policy: .reload))
        #expect(!stands("max-age=10, stale-if-error=60", policy: .noStore))
    }

    @Test("RFC 5861 4: A failed connection counts as an error, and an untrusted one does not")
    func connections() {
        let entry = Stage.entry([("Cache-Control", "max-age=10, stale-if-error=60")])
        func stands(_ code: LoadError.Code) -> Bool {
            ResponseCacheDecision.answer(after: code, found: [entry], request: Stage.request(), now: at(50)) != nil
        }
        for code in [LoadError.Code.cannotConnect, .timedOut, .truncated, .badResponse] { #expect(stands(code)) }
        for code in [LoadError.Code.untrusted, .cancelled, .tooLarge, .shutDown, .badRedirect] {
            #expect(!stands(code))
        }
    }

    @Test("A stored error does not replace the response and is used first while it is fresh")
    func errorBeside() {
        let entry = Stage.entry([("Cache-Control", "max-age=10"), ("ETag", "\"a\"")])
        let outcome = Stage.outcome(Stage.head(503, [("Cache-Control", "max-age=5")]), [entry])
        guard case .new(_, let replaced) = outcome.changes.bodyStorage else {
            Issue.record("it was not kept")
            return
        }
        #expect(replaced.isEmpty)
        let error = Stage.entry([("Cache-Control", "max-age=5")], status: 503, id: 2, came: 100)
        #expect(Stage.decide([error, entry], now: 104).answer?.head.status == 503)
        #expect(Stage.decide([error, entry], now: 106).exchange?.setting["if-none-match"] == "\"a\"")
    }

    @Test("RFC 9111 4.3.3: An error passes to the caller if no stale response is allowed", arguments: [500, 503])
    func errorPasses(status: Int) {
        #expect(Stage.outcome(Stage.head(status), [Stage.entry([("ETag", "\"a\"")])]) == .pass(StoreChanges()))
    }

    @Test("A 404 or 410 removes the stored response", arguments: [404, 410])
    func gone(status: Int) {
        let outcome = Stage.outcome(Stage.head(status), [Stage.entry([("ETag", "\"a\"")])])
        #expect(outcome.isPass && outcome.changes.removed.map(\.rawValue) == [1])
    }

    @Test("A newer 200 that is not stored removes the older response")
    func newerNotKept() {
        let entry = Stage.entry([("ETag", "\"a\"")])
        for answer in [[("Vary", "*")], [("Cache-Control", "no-cache")]] {
            let outcome = Stage.outcome(Stage.head(200, answer), [entry])
            #expect(outcome.isPass && outcome.changes.removed.map(\.rawValue) == [1])
        }
        #expect(Stage.outcome(Stage.head(206), [entry]).changes == StoreChanges())
    }

    @Test("RFC 9111 5.2.2.5: A newer response with no-store leaves the stored one unchanged")
    func newerNoStore() {
        let entry = Stage.entry([("ETag", "\"a\"")])
        #expect(Stage.outcome(Stage.head(200, [("Cache-Control", "no-store")]), [entry]) == .pass(StoreChanges()))
    }

    // MARK: HEAD (RFC 9111 section 4.3.5)

    private func byHead(
        _ stored: [(String, String)], _ answer: [(String, String)], status: Int = 200
    ) -> StoreChanges {
        Stage.outcome(Stage.head(status, answer), [Stage.entry(stored)], Stage.request(method: "HEAD")).changes
    }

    @Test(
        "RFC 9111 4.3.5: A 200 to HEAD with equal validators and length updates the stored response")
    func headUpdates() throws {
        let stored = [("ETag", "\"a\""), ("Last-Modified", date(-9)), ("X", "1"), ("Y", "1")]
        for answer in [
            [("ETag", "\"a\"")], [("Last-Modified", date(-9))], [("Content-Length", "10")], [],
            [("ETag", "\"a\""), ("Last-Modified", date(-9)), ("Content-Length", "10")],
        ] {
            let changes = byHead(stored, answer + [("X", "2"), ("Cache-Control", "max-age=60")])
            let updated = try #require(changes.updates.first?.response)
            #expect(updated.head.fields["x"] == "2" && updated.head.fields["y"] == "1" && updated.bodyRange == 0..<10)
            #expect(
                Freshness(of: updated, at: at(150)).isFresh && changes.removed.isEmpty
                    && changes.bodyStorage == .nothing)
        }
    }

    @Test("RFC 9111 4.3.5: A 200 to HEAD with another validator or length removes the stored response")
    func headRemoves() {
        let stored = [("ETag", "\"a\""), ("Last-Modified", date(-9))]
        for answer in [
            [("ETag", "\"b\"")], [("ETag", "W/\"a\"")], [("Last-Modified", date(-8))], [("Content-Length", "11")],
        ] {
            #expect(byHead(stored, answer).removed.map(\.rawValue) == [1], "\(answer)")
        }
        #expect(byHead([], [("ETag", "\"a\"")]).removed.count == 1)
    }

    @Test("RFC 9111 4.3.5: HEAD with another status or no-store changes nothing", arguments: [204, 301, 404, 410, 500])
    func headOther(status: Int) {
        #expect(byHead([("ETag", "\"a\"")], [("ETag", "\"b\"")], status: status) == StoreChanges())
        #expect(byHead([("ETag", "\"a\"")], [("ETag", "\"a\""), ("Cache-Control", "no-store")]) == StoreChanges())
    }

    // MARK: Invalidation (RFC 9111 section 4.4)

    private func invalidated(
        _ method: String, _ status: Int = 200, _ answer: [(String, String)] = []
    ) -> [String] {
        Stage.outcome(Stage.head(status, answer), [], Stage.request(method: method)).changes.invalidated
    }

    @Test(
        "RFC 9111 4.4: A successful unsafe or unknown method invalidates its URL",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get"])
    func unsafe(method: String) {
        for status in [200, 201, 204, 303, 304] { #expect(invalidated(method, status) == [Stage.url]) }
        for status in [400, 404, 500, 503] { #expect(invalidated(method, status).isEmpty) }
    }

    @Test("RFC 9111 4.4: Safe methods invalidate nothing", arguments: ["GET", "HEAD", "OPTIONS", "TRACE"])
    func safe(method: String) {
        #expect(invalidated(method, 200, [("Location", "/other")]).isEmpty)
    }

    @Test("RFC 9111 4.4: Location and Content-Location on the same origin are invalidated too")
    func locations() {
        #expect(
            invalidated("POST", 201, [("Location", "/new"), ("Content-Location", "sub/x#f")])
                == [Stage.url, "https://a.example/new", "https://a.example/sub/x"])
        #expect(invalidated("PUT", 200, [("Location", "https://b.example/cat.png")]) == [Stage.url])
        #expect(invalidated("PUT", 200, [("Content-Location", "http://a.example/cat.png")]) == [Stage.url])
        #expect(invalidated("PUT", 200, [("Location", "https://a.example:8443/x")]) == [Stage.url])
        #expect(invalidated("PUT", 200, [("Location", "http://[")]) == [Stage.url])
        #expect(invalidated("PUT", 200, [("Location", Stage.url)]) == [Stage.url])
    }

    @Test("RFC 9111 4.4: An unsafe request with the noStore policy still invalidates its URL")
    func noStore() {
        let request = Stage.request(method: "POST", policy: .noStore)
        #expect(Stage.outcome(Stage.head(200), [], request).changes.invalidated == [Stage.url])
    }

    @Test("RFC 9110 9.3.3: A POST response whose Content-Location is its own URL is served to a GET")
    func post() throws {
        let request = Stage.request(method: "POST")
        let head = Stage.head(200, [("Expires", date(900)), ("Content-Location", Stage.url)])
        let outcome = Stage.outcome(head, [], request)
        #expect(outcome.changes.invalidated == [Stage.url])
        let stored = try #require(outcome.kept?.ended(after: 10, isWhole: true))
        let entry = StoredEntry(id: StoredEntry.ID(rawValue: 1), response: stored)
        #expect(Stage.Use(Stage.decide([entry], now: 101)) == .served)
    }
}
