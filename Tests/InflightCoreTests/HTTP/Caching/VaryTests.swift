import Testing

@testable import InflightCore

@Suite("Vary and variants", .timeLimit(.minutes(10)))
struct VaryTests {
    typealias Stage = CachingStage

    private func use(
        vary: [String], stored: [(String, String)], request: [(String, String)], control: String = "max-age=60"
    ) -> Stage.Use {
        let answer = vary.map { ("Vary", $0) } + [("Cache-Control", control)]
        return Stage.Use(Stage.decide([Stage.entry(answer, requestFields: stored)], Stage.request(request)))
    }

    @Test("RFC 9111 4.1: A response is used only if all fields named by Vary match, absent ones included")
    func same() {
        let first = [("Foo", "1"), ("Bar", "abc")]
        #expect(use(vary: ["Foo"], stored: first, request: [("foo", "1"), ("Bar", "other")]) == .served)
        #expect(use(vary: ["Foo"], stored: first, request: [("Foo", "2")]) == .fetched)
        #expect(use(vary: ["Foo"], stored: first, request: []) == .fetched)
        #expect(use(vary: ["fOO, bar"], stored: first, request: [("Bar", "abc"), ("Foo", "1")]) == .served)
        #expect(use(vary: ["Foo", "Bar"], stored: first, request: [("Foo", "1"), ("Bar", "abcde")]) == .fetched)
        #expect(use(vary: ["Foo, Bar, Baz"], stored: first, request: first) == .served)
        #expect(use(vary: ["Foo, Bar, Baz"], stored: first, request: first + [("Baz", "")]) == .fetched)
        #expect(use(vary: [""], stored: first, request: []) == .served)
    }

    @Test(
        "RFC 9111 4.1: Vary with an asterisk in any position matches no request",
        arguments: [["*"], ["*, *"], ["*", "*"], [", *"], ["", "*"], ["*, Foo"], ["Foo, *"], ["Foo", " * "]])
    func asterisk(vary: [String]) {
        #expect(use(vary: vary, stored: [("Foo", "1")], request: [("Foo", "1")]) == .fetched)
        let head = Stage.head(200, vary.map { ("Vary", $0) } + [("Cache-Control", "max-age=60")])
        #expect(Stage.outcome(head).kept == nil)
    }

    @Test("RFC 9111 4.1: Matching ignores whitespace around commas and the number of field lines")
    func normalised() {
        #expect(use(vary: ["Foo"], stored: [("Foo", "1,2")], request: [("Foo", " 1 ,\t2 ")]) == .served)
        #expect(use(vary: ["Foo"], stored: [("Foo", "1, 2")], request: [("Foo", "1"), ("Foo", "2")]) == .served)
        #expect(use(vary: ["Foo"], stored: [("Foo", "\"1, 2\"")], request: [("Foo", "\"1,2\"")]) == .fetched)
        #expect(use(vary: ["Foo"], stored: [("Foo", "1 2")], request: [("Foo", "12")]) == .fetched)
        #expect(use(vary: ["Foo"], stored: [("Foo", "2, 1")], request: [("Foo", "1, 2")]) == .fetched)
    }

    @Test("RFC 9111 4.1: Only Accept-Language and Accept-Encoding match in any order and case")
    func preferences() {
        func use(_ name: String, _ stored: String, _ request: String) -> Stage.Use {
            self.use(vary: [name], stored: [(name, stored)], request: [(name, request)])
        }
        for name in ["Accept-Language", "Accept-Encoding"] {
            #expect(use(name, "en, de;q=0.5", " De; q=0.5 ,,eN") == .served)
            #expect(use(name, "en, de;q=0.5", "en, de;q=0.6") == .fetched)
            #expect(use(name, "en, de", "en") == .fetched)
        }
        #expect(use("Accept", "a/b, c/d", "c/d, a/b") == .fetched)
        #expect(use("Foo", "a, b", "A, b") == .fetched)
    }

    @Test("RFC 9111 4.1: Each variant is found by its fields, and a new one replaces no other")
    func variants() {
        let answer = [("Cache-Control", "max-age=60"), ("Vary", "Foo")]
        let first = Stage.entry(answer, id: 1, requestFields: [("Foo", "1")])
        let second = Stage.entry(answer, id: 2, requestFields: [("Foo", "2")])
        #expect(Stage.decide([second, first], Stage.request([("Foo", "1")])).answer?.id.rawValue == 1)
        #expect(Stage.decide([second, first], Stage.request([("Foo", "2")])).answer?.id.rawValue == 2)
        let outcome = Stage.outcome(Stage.head(200, answer), [second, first], Stage.request([("Foo", "3")]))
        guard case .new(_, let replaced) = outcome.changes.bodyStorage else {
            Issue.record("the third variant was not kept")
            return
        }
        #expect(replaced.isEmpty)
    }

    @Test("RFC 9111 4.3.1: A request for a missing variant sends the tags of the stored variants")
    func offered() throws {
        let answer = [("Cache-Control", "max-age=60"), ("Vary", "Foo")]
        let first = Stage.entry(answer + [("ETag", "\"1\"")], id: 1, requestFields: [("Foo", "1")])
        let second = Stage.entry(answer + [("ETag", "W/\"2\"")], id: 2, came: 1, requestFields: [("Foo", "2")])
        let request = Stage.request([("Foo", "3")])
        let exchange = try #require(Stage.decide([first, second], request).exchange)
        #expect(exchange.setting["if-none-match"] == "W/\"2\", \"1\"" && exchange.offered == [1, 0])
        // The origin selects the first variant for the third request.
        let outcome = ResponseCacheDecision.decide(
            head: Stage.head(304, [("ETag", "\"1\""), ("X", "new")]), exchange: exchange, found: [first, second],
            request: request, requestTime: at(9), responseTime: at(9))
        #expect(outcome.answer?.id.rawValue == 1 && outcome.answer?.head.fields["x"] == "new")
        #expect(outcome.changes.updates.map(\.id.rawValue) == [1])
    }

    @Test("A conditional request carries at most maximumTags entity tags")
    func manyTags() {
        let entries = (1...100).map {
            Stage.entry([("Vary", "Foo"), ("ETag", "\"\($0)\"")], id: $0, requestFields: [("Foo", "\($0)")])
        }
        #expect(Stage.decide(entries).exchange?.offered.count == CacheExchange.maximumTags)
    }

    @Test(
        "A response is neither served nor revalidated for other credentials unless it is public",
        arguments: ["Authorization", "Cookie", "Proxy-Authorization", "X-Key"])
    func credentials(name: String) {
        func request(_ value: String?) -> [(String, String)] {
            let names = (VaryFields.credentialNames, "authorization, cookie, proxy-authorization, x-key")
            return (value.map { [(name, $0)] } ?? []) + (name == "X-Key" ? [names] : [])
        }
        for control in ["max-age=60", "max-age=0"] {
            let isFresh = control == "max-age=60"
            let entry = Stage.entry([("Cache-Control", control), ("ETag", "\"1\"")], requestFields: request("s=1"))
            #expect(Stage.Use(Stage.decide([entry], Stage.request(request("s=1")))) == (isFresh ? .served : .asked))
            #expect(Stage.Use(Stage.decide([entry], Stage.request(request("s=2")))) == .fetched)
            #expect(Stage.Use(Stage.decide([entry], Stage.request(request(nil)))) == .fetched)
            let other = name == "Cookie" ? "Authorization" : "Cookie"
            #expect(Stage.Use(Stage.decide([entry], Stage.request([(other, "s=1")]))) == .fetched)
        }
        let open = Stage.entry([("Cache-Control", "public, max-age=60")], requestFields: request("s=1"))
        #expect(Stage.Use(Stage.decide([open], Stage.request(request("s=2")))) == .served)
    }

    @Test("Selecting fields contain no secret, and equal secrets have different digests")
    func secrets() throws {
        let head = Stage.head(200, [("Vary", "Cookie, Proxy-Authorization, Accept, X-Key")])
        let request = fields([
            ("Cookie", "s3cret"), ("Authorization", "s3cret"), ("Proxy-Authorization", "s3cret"), ("X-Key", "s3cret"),
            ("Accept", "image/*"), (VaryFields.credentialNames, "cookie, x-key"),
        ])
        let kept = try #require(VaryFields.of(request, for: head))
        #expect(kept.count == 5 && kept["accept"] == "image/*" && !kept.description.contains("s3cret"))
        let digests = (0..<kept.count).map { kept.values(kept.name($0))[0] }.filter { $0.hasPrefix("hmac-sha256:") }
        #expect(Set(digests).count == 4)
        #expect(VaryFields.of(request, for: head)?["cookie"] != kept["cookie"])
    }

    @Test("RFC 4231 4.2: A stored digest is HMAC-SHA-256 under the key stored beside it")
    func digests() {
        // Test case 2 of RFC 4231, its key "Jefe" padded with zeros as in RFC 2104.
        let key = "4a656665000000000000000000000000"
        let digest = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        let stored = Array("hmac-sha256:\(key):\(digest)".utf8)
        #expect(KeyedDigest.matches(stored[...], Array("what do ya want for nothing?".utf8)))
        #expect(!KeyedDigest.matches(stored[...], Array("what do ya want for nothing".utf8)))
        for damaged in ["", "hmac-sha256:", "hmac-sha256:4a65", "hmac-sha256:\(key)", "hmac-sha256:x\(key):\(digest)"] {
            #expect(!KeyedDigest.matches(Array(damaged.utf8)[...], []))
        }
    }
}
