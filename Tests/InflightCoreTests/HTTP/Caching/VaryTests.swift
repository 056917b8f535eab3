import Testing

@testable import InflightCore

@Suite("Answers that vary", .timeLimit(.minutes(10)))
struct VaryTests {
    typealias Stage = CachingStage

    private func use(
        vary: [String], stored: [(String, String)], request: [(String, String)], control: String = "max-age=60"
    ) -> Stage.Use {
        let answer = vary.map { ("Vary", $0) } + [("Cache-Control", control)]
        return Stage.Use(Stage.decide([Stage.entry(answer, requestFields: stored)], Stage.request(request)))
    }

    @Test("RFC 9111 4.1: an answer is used where all fields that Vary names are the same, absent ones included")
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
        "RFC 9111 4.1: Vary with an asterisk fits no request, wherever it stands",
        arguments: [["*"], ["*, *"], ["*", "*"], [", *"], ["", "*"], ["*, Foo"], ["Foo, *"], ["Foo", " * "]])
    func asterisk(vary: [String]) {
        #expect(use(vary: vary, stored: [("Foo", "1")], request: [("Foo", "1")]) == .fetched)
        let head = Stage.head(200, vary.map { ("Vary", $0) } + [("Cache-Control", "max-age=60")])
        #expect(Stage.outcome(head).kept == nil)
    }

    @Test("RFC 9111 4.1: white space around commas, and the number of lines, make no difference")
    func normalised() {
        #expect(use(vary: ["Foo"], stored: [("Foo", "1,2")], request: [("Foo", " 1 ,\t2 ")]) == .served)
        #expect(use(vary: ["Foo"], stored: [("Foo", "1, 2")], request: [("Foo", "1"), ("Foo", "2")]) == .served)
        #expect(use(vary: ["Foo"], stored: [("Foo", "\"1, 2\"")], request: [("Foo", "\"1,2\"")]) == .fetched)
        #expect(use(vary: ["Foo"], stored: [("Foo", "1 2")], request: [("Foo", "12")]) == .fetched)
        #expect(use(vary: ["Foo"], stored: [("Foo", "2, 1")], request: [("Foo", "1, 2")]) == .fetched)
    }

    @Test("RFC 9111 4.1: languages and codings are the same in any order and case, and nothing else is")
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

    @Test("RFC 9111 4.1: each of several variants is found again, and a new one does not replace the others")
    func variants() {
        let answer = [("Cache-Control", "max-age=60"), ("Vary", "Foo")]
        let first = Stage.entry(answer, id: 1, requestFields: [("Foo", "1")])
        let second = Stage.entry(answer, id: 2, requestFields: [("Foo", "2")])
        #expect(Stage.decide([second, first], Stage.request([("Foo", "1")])).answer?.id.rawValue == 1)
        #expect(Stage.decide([second, first], Stage.request([("Foo", "2")])).answer?.id.rawValue == 2)
        let outcome = Stage.outcome(Stage.head(200, answer), [second, first], Stage.request([("Foo", "3")]))
        guard case .new(_, let replaced) = outcome.changes.keeping else {
            Issue.record("the third variant was not kept")
            return
        }
        #expect(replaced.isEmpty)
    }

    @Test("RFC 9111 4.3.1: for a variant that is not stored, the tags of those that are are offered")
    func offered() throws {
        let answer = [("Cache-Control", "max-age=60"), ("Vary", "Foo")]
        let first = Stage.entry(answer + [("ETag", "\"1\"")], id: 1, requestFields: [("Foo", "1")])
        let second = Stage.entry(answer + [("ETag", "W/\"2\"")], id: 2, came: 1, requestFields: [("Foo", "2")])
        let request = Stage.request([("Foo", "3")])
        let exchange = try #require(Stage.decide([first, second], request).exchange)
        #expect(exchange.setting["if-none-match"] == "W/\"2\", \"1\"" && exchange.offered == [1, 0])
        // The origin says that this one is what the third would be.
        let outcome = CacheOutcome.decide(
            head: Stage.head(304, [("ETag", "\"1\""), ("X", "new")]), exchange: exchange, found: [first, second],
            request: request, requestTime: at(9), responseTime: at(9))
        #expect(outcome.answer?.id.rawValue == 1 && outcome.answer?.head.fields["x"] == "new")
        #expect(outcome.changes.updates.map(\.id.rawValue) == [1])
    }

    @Test("so many tags are sent at most")
    func manyTags() {
        let entries = (1...100).map {
            Stage.entry([("Vary", "Foo"), ("ETag", "\"\($0)\"")], id: $0, requestFields: [("Foo", "\($0)")])
        }
        #expect(Stage.decide(entries).exchange?.offered.count == CacheExchange.maximumTags)
    }

    @Test("what one person was answered is not given to another, nor offered for him, unless it is public")
    func authorization() {
        let mine = [("Authorization", "Basic bWU6c2VjcmV0")]
        let answer = [("Cache-Control", "max-age=60"), ("ETag", "\"1\"")]
        let entry = Stage.entry(answer, requestFields: mine)
        #expect(Stage.Use(Stage.decide([entry], Stage.request(mine))) == .served)
        #expect(Stage.Use(Stage.decide([entry], Stage.request())) == .fetched)
        #expect(Stage.Use(Stage.decide([entry], Stage.request([("Authorization", "Basic b3RoZXI=")]))) == .fetched)
        let open = Stage.entry([("Cache-Control", "public, max-age=60")], requestFields: mine)
        #expect(Stage.Use(Stage.decide([open], Stage.request())) == .served)
    }

    @Test("no secret stands among what a request is known by")
    func secrets() {
        let head = Stage.head(200, [("Vary", "Cookie, Proxy-Authorization, Accept")])
        let request = fields([
            ("Cookie", "s3cret"), ("Authorization", "s3cret"), ("Proxy-Authorization", "s3cret"), ("Accept", "image/*"),
        ])
        let kept = SelectingFields.of(request, for: head)
        #expect(kept?.count == 4 && kept?["accept"] == "image/*")
        #expect(kept?.description.contains("s3cret") == false)
        #expect(kept?["cookie"] == kept?["authorization"])
    }
}
