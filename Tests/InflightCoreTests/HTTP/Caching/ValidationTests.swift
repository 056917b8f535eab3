import InflightCore
import Testing

@Suite("Revalidation of stored responses", .timeLimit(.minutes(10)))
struct ValidationTests {
    typealias Stage = CachingStage

    private func sent(
        _ answer: [(String, String)], _ request: CachingRequest = CachingStage.request(), bytes: Range<Int64> = 0..<10
    ) -> HTTPFields? {
        Stage.decide([Stage.entry(answer, bytes: bytes)], request, now: 1_000_000).exchange?.fields(
            from: request.fields)
    }

    @Test(
        "RFC 9111 4.3.1: Revalidation sends If-None-Match, and If-Modified-Since for a single response"
    )
    func conditions() throws {
        let modified = date(-5000)
        let both = try #require(
            sent([("ETag", "W/\"a\""), ("Last-Modified", modified)], Stage.request([("Accept", "x")])))
        #expect(both["if-none-match"] == "W/\"a\"" && both["if-modified-since"] == modified && both["accept"] == "x")
        #expect(
            sent([("Last-Modified", "Wednesday, 31-Dec-25 00:00:00 GMT")])?["if-modified-since"]
                == "Wednesday, 31-Dec-25 00:00:00 GMT")
        #expect(sent([("Last-Modified", "foo")])?.isEmpty == true)
        #expect(sent([])?.isEmpty == true)
    }

    @Test("RFC 9111 4.3.1: If-None-Match of the caller is combined with the stored tag")
    func union() {
        let asked = Stage.request([("If-None-Match", "\"x\", W/\"y\""), ("If-Modified-Since", date(0))])
        let fields = sent([("ETag", "\"a\"")], asked)
        #expect(fields?.values("if-none-match") == ["\"x\", W/\"y\", \"a\""])
        #expect(fields?.contains("if-modified-since") == false)
        #expect(sent([("ETag", "\"x\"")], Stage.request([("If-None-Match", "\"x\"")]))?["if-none-match"] == "\"x\"")
    }

    @Test("Conditions of the caller are forwarded if no stored response has a usable validator")
    func passedOn() {
        let asked = Stage.request([("If-None-Match", "\"x\"")])
        #expect(sent([], asked) == asked.fields)
        #expect(sent([("Last-Modified", date(-5000))], asked) == asked.fields)
        #expect(sent([("ETag", "\"a\"")], Stage.request([("If-None-Match", "*")]))?["if-none-match"] == "*")
        #expect(Stage.outcome(Stage.head(304), [], asked) == .pass(StoreChanges()))
    }

    @Test("RFC 9111 4.3.1: The tag of a stored part is sent only for ranges within the part")
    func parts() {
        let answer = [("ETag", "W/\"a\"")]
        #expect(sent(answer, bytes: 0..<5)?.isEmpty == true)
        let inside = Stage.request([("Range", "bytes=1-3")])
        #expect(sent(answer, inside, bytes: 0..<5)?["if-none-match"] == "W/\"a\"")
        #expect(sent(answer, Stage.request([("Range", "bytes=1-7")]), bytes: 0..<5)?.contains("if-none-match") == false)
    }

    // MARK: The caller's conditions (RFC 9111 section 4.3.2)

    private func status(_ answer: [(String, String)], _ request: [(String, String)], status: Int = 200) -> Int? {
        let entry = Stage.entry(answer + [("Cache-Control", "max-age=60")], status: status)
        return Stage.decide([entry], Stage.request(request)).answer?.head.status
    }

    @Test("RFC 9111 4.3.2: A fresh response with a matching tag serves If-None-Match as 304")
    func ifNoneMatch() {
        for value in ["\"a\"", "W/\"a\"", "\"a\", \"1\"", "\"1\", \"a\", \"2\"", "*"] {
            #expect(status([("ETag", "\"a\"")], [("If-None-Match", value)]) == 304, "\(value)")
        }
        #expect(status([("ETag", "W/\"a\"")], [("If-None-Match", "\"a\"")]) == 304)
        #expect(status([("ETag", "\"a\"")], [("If-None-Match", "\"b\"")]) == 200)
        #expect(status([("ETag", "\"a\"")], [("If-None-Match", "\"a\"")], status: 404) == 404)
    }

    @Test("RFC 9111 4.3.2: If-Modified-Since is compared with Last-Modified or else with Date")
    func ifModifiedSince() {
        let modified = [("Last-Modified", date(-3000))]
        #expect(status(modified, [("If-Modified-Since", date(-3000))]) == 304)
        #expect(status(modified, [("If-Modified-Since", date(-2000))]) == 304)
        #expect(status(modified, [("If-Modified-Since", date(-3001))]) == 200)
        #expect(status(modified, [("If-Modified-Since", "foo")]) == 200)
        #expect(status([], [("If-Modified-Since", date(0))]) == 304)
        #expect(status([], [("If-Modified-Since", date(-1))]) == 200)
        #expect(
            status(
                [("Last-Modified", "Sun Nov  6 08:49:37 1994")],
                [("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")])
                == 304)
    }

    @Test("RFC 9110 13.2.2: If-None-Match overrides If-Modified-Since")
    func precedence() {
        let answer = [("ETag", "\"a\""), ("Last-Modified", date(-3000))]
        #expect(status(answer, [("If-None-Match", "\"a\""), ("If-Modified-Since", date(-9000))]) == 304)
        #expect(status(answer, [("If-None-Match", "\"b\""), ("If-Modified-Since", date(0))]) == 200)
    }

    @Test("RFC 9111 4.3.2: If-Match and If-Unmodified-Since are left to the origin")
    func originsConditions() {
        #expect(status([("ETag", "\"a\"")], [("If-Match", "\"a\"")]) == nil)
        #expect(status([("ETag", "\"a\"")], [("If-Unmodified-Since", date(0))]) == nil)
        #expect(sent([("ETag", "\"a\"")], Stage.request([("If-Match", "\"a\"")]))?.contains("if-none-match") == false)
    }

    @Test("RFC 9110 15.4.5: A 304 from the store has the caching fields of a 200 and no body fields")
    func notModified() throws {
        let answer = [
            ("ETag", "\"a\""), ("Vary", "Foo"), ("Content-Location", "/x"), ("Expires", date(60)),
            ("Content-Type", "image/png"),
            ("Content-Length", "10"), ("Content-Encoding", "gzip"),
        ]
        let shown = try #require(
            Stage.decide([Stage.entry(answer)], Stage.request([("If-None-Match", "\"a\"")])).answer)
        #expect(shown.bytes == nil)
        for name in ["etag", "vary", "content-location", "expires", "date", "age"] {
            #expect(shown.head.fields.contains(name))
        }
        for name in ["content-type", "content-length", "content-encoding"] {
            #expect(!shown.head.fields.contains(name))
        }
    }

    // MARK: After a 304

    @Test("RFC 9111 4.3.3: A 304 freshens the stored response, which the caller gets as a 200")
    func freshened() throws {
        let entry = Stage.entry([("Cache-Control", "max-age=10"), ("ETag", "\"a\""), ("Age", "5")])
        let outcome = Stage.outcome(Stage.head(304, [("ETag", "\"a\""), ("Cache-Control", "max-age=60")]), [entry])
        let answer = try #require(outcome.answer)
        #expect(answer.head.status == 200 && answer.bytes == 0..<10 && answer.head.fields["age"] == "0")
        #expect(answer.head.fields.values("cache-control") == ["max-age=60"])
        let updated = try #require(outcome.changes.updates.first?.response)
        #expect(updated.responseTime == at(100) && Freshness(of: updated, at: at(150)).isFresh)
        #expect(outcome.changes.bodyStorage == .nothing)
    }

    @Test("RFC 9111 4.3.3: A 304 reaches the caller only if the caller sent the matching tag")
    func callersCondition() {
        let entry = Stage.entry([("ETag", "\"a\"")])
        let answer = Stage.head(304, [("ETag", "\"a\"")])
        #expect(Stage.outcome(answer, [entry], Stage.request([("If-None-Match", "\"a\"")])).answer?.head.status == 304)
        #expect(Stage.outcome(answer, [entry], Stage.request([("If-None-Match", "\"b\"")])).answer?.head.status == 200)
        let his = Stage.head(304, [("ETag", "\"b\"")])
        #expect(Stage.outcome(his, [entry], Stage.request([("If-None-Match", "\"b\"")])).isPass)
    }

    @Test("RFC 9111 4.3.4: A strong validator selects exactly the stored responses that have it")
    func strongSelection() {
        let answer = [("Vary", "Foo")]
        let entries = [("\"a\"", "1"), ("\"a\"", "2"), ("\"b\"", "3"), ("W/\"a\"", "4")].enumerated().map {
            Stage.entry(
                answer + [("ETag", $1.0)], id: Int64($0 + 1), came: Double(-$0), requestFields: [("Foo", $1.1)])
        }
        let outcome = Stage.outcome(Stage.head(304, [("ETag", "\"a\"")]), entries, Stage.request([("Foo", "2")]))
        #expect(outcome.answer?.id.rawValue == 2)
        #expect(Set(outcome.changes.updates.map(\.id.rawValue)) == [1, 2])
        #expect(
            Stage.outcome(Stage.head(304, [("ETag", "\"a\"")]), [entries[3]], Stage.request([("Foo", "4")])).isAgain)
    }

    @Test("RFC 9111 4.3.4: A weak validator selects the most recent matching response")
    func weakSelection() {
        let entries = [1, 2].map {
            Stage.entry(
                [("Vary", "Foo"), ("ETag", "\"a\"")], id: $0, came: Double($0), requestFields: [("Foo", "\($0)")])
        }
        let outcome = Stage.outcome(Stage.head(304, [("ETag", "W/\"a\"")]), entries)
        #expect(outcome.changes.updates.map(\.id.rawValue) == [2])
        let modified = Stage.entry([("Last-Modified", date(-5))])
        #expect(Stage.outcome(Stage.head(304, [("Last-Modified", date(-5))]), [modified]).answer != nil)
        #expect(Stage.outcome(Stage.head(304, [("Last-Modified", date(-4))]), [modified]).isAgain)
    }

    @Test("RFC 9111 4.3.4: A 304 without a validator applies only if one response was revalidated")
    func noValidator() {
        let one = Stage.entry([("ETag", "\"a\""), ("Vary", "Foo")])
        let other = Stage.entry([("ETag", "\"b\""), ("Vary", "Foo")], id: 2, requestFields: [("Foo", "1")])
        #expect(Stage.outcome(Stage.head(304), [one]).answer != nil)
        #expect(Stage.outcome(Stage.head(304), [one, other]).isAgain)
    }

    @Test("RFC 9111 4.3.4: After a 304 that matches nothing, the original request is repeated")
    func again() {
        let entry = Stage.entry([("ETag", "\"a\"")])
        let outcome = Stage.outcome(Stage.head(304, [("ETag", "\"b\"")]), [entry])
        #expect(outcome == .resend(CacheExchange(), StoreChanges()))
        let refreshed = Stage.outcome(
            Stage.head(304, [("ETag", "\"b\"")]), [entry], Stage.request(policy: .refresh))
        guard case .resend(let exchange, _) = refreshed else {
            Issue.record("\(refreshed)")
            return
        }
        #expect(exchange.setting["cache-control"] == "max-age=0" && exchange.offered.isEmpty)
    }

    @Test("RFC 9111 3.2: A 304 updates all stored fields except body and connection fields")
    func merging() throws {
        let entry = Stage.entry([
            ("ETag", "\"a\""), ("Content-Type", "text/plain"), ("X", "1"), ("Y", "1"),
            ("Content-Length", "10"), ("Content-Encoding", "gzip"), ("Expires", date(1)), ("Z", "1"), ("Z", "2"),
        ])
        let answer = Stage.head(
            304,
            [
                ("ETag", "\"a\""), ("Content-Type", "text/html"), ("X", "2"), ("X", "3"), ("Set-Cookie", "c=d"),
                ("Content-Length", "0"), ("Content-Encoding", "br"), ("Content-Range", "bytes 0-1/2"),
                ("Expires", date(500)), ("Connection", "close, Hop"), ("Hop", "1"), ("Transfer-Encoding", "chunked"),
                ("Keep-Alive", "5"), ("Content-Location", "/new"), ("Cache-Control", "no-cache=\"secret\""),
                ("Secret", "1"),
            ])
        let outcome = Stage.outcome(answer, [entry])
        let stored = try #require(outcome.changes.updates.first?.response.head.fields)
        #expect(stored["content-type"] == "text/html" && stored.values("x") == ["2", "3"] && stored["y"] == "1")
        #expect(stored["expires"] == date(500) && stored["content-location"] == "/new")
        #expect(
            stored["content-length"] == "10" && stored["content-encoding"] == "gzip"
                && stored.values("z") == ["1", "2"])
        for name in ["content-range", "connection", "hop", "transfer-encoding", "keep-alive", "secret", "set-cookie"] {
            #expect(!stored.contains(name), "\(name)")
        }
        // The named field may be used this once because it has just been validated.
        #expect(outcome.answer?.head.fields["secret"] == "1")
    }

    @Test("RFC 9111 4.2.3: A 304 without Date and Age discards the stored ones")
    func oldDates() throws {
        let entry = Stage.entry([("ETag", "\"a\""), ("Cache-Control", "max-age=10"), ("Age", "500")])
        let updated = try #require(Stage.outcome(Stage.head(304), [entry]).changes.updates.first?.response)
        #expect(Freshness(of: updated, at: at(105)).age == 5000)
    }

    @Test("RFC 9111 4.1: A 304 with another Vary changes the fields that select the response")
    func newVary() throws {
        let entry = Stage.entry([("ETag", "\"a\"")])
        let request = Stage.request([("Foo", "1")])
        let outcome = Stage.outcome(Stage.head(304, [("Vary", "Foo")]), [entry], request)
        let updated = try #require(outcome.changes.updates.first?.response)
        #expect(VaryFields.match(updated, request.fields) && !VaryFields.match(updated, HTTPFields()))
        #expect(Stage.outcome(Stage.head(304, [("Vary", "*")]), [entry]).changes.removed.map(\.rawValue) == [1])
    }

    @Test("RFC 9111 5.2.2.5: A 304 with no-store is served once and removes the stored response")
    func noStore() {
        let entry = Stage.entry([("ETag", "\"a\"")])
        let outcome = Stage.outcome(Stage.head(304, [("Cache-Control", "no-store")]), [entry])
        #expect(outcome.answer?.head.status == 200 && outcome.changes.updates.isEmpty)
        #expect(outcome.changes.removed.map(\.rawValue) == [1])
    }

    @Test("RFC 9111 4.3.3: A 200 response replaces the stored response")
    func fullAnswer() {
        let entry = Stage.entry([("ETag", "\"a\"")], id: 7)
        let outcome = Stage.outcome(Stage.head(200, [("ETag", "\"b\"")]), [entry])
        guard case .pass(let changes) = outcome, case .new(let incoming, let replaced) = changes.bodyStorage else {
            Issue.record("the new answer was not kept")
            return
        }
        #expect(replaced.map(\.rawValue) == [7] && incoming.response.entityTag == EntityTag("\"b\""))
    }
}
