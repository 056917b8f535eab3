import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): request directives and stale responses", .timeLimit(.minutes(10)))
struct RequestRuleTests {
    private static let tag = (name: "ETag", value: "\"a\"")

    /// The stored `Cache-Control`, its age in seconds, the fields of the request, and whether the store serves it.
    private static let directives: [(String, Int, Fields, Bool)] = [
        ("max-age=60", 0, [("Cache-Control", "max-age=0")], false),
        ("max-age=60", 2, [("Cache-Control", "max-age=1")], false),
        ("max-age=60", 1, [("Cache-Control", "max-age=1")], true),
        ("max-age=60", 30, [("Cache-Control", "min-fresh=30")], true),
        ("max-age=60", 31, [("Cache-Control", "min-fresh=30")], false),
        ("max-age=1", 5, [("Cache-Control", "max-stale")], true),
        ("max-age=1", 5, [("Cache-Control", "max-stale=4")], true),
        ("max-age=1", 6, [("Cache-Control", "max-stale=4")], false),
        ("max-age=1, must-revalidate", 5, [("Cache-Control", "max-stale")], false),
        ("max-age=60", 0, [("Cache-Control", "no-cache")], false),
        ("max-age=60", 0, [("Cache-Control", "No-Cache")], false),
        ("max-age=60", 0, [("Cache-Control", "no-store")], false), ("max-age=60", 0, [("Pragma", "no-cache")], false),
        ("max-age=60", 0, [("Pragma", "no-cache"), ("Cache-Control", "max-age=9")], true),
        ("max-age=60", 0, [("Pragma", "other")], true), ("max-age=60", 0, [("Cache-Control", "only-if-cached")], true),
        ("max-age=1", 2, [("Cache-Control", "stale-if-error=9")], false),
    ]

    @Test("RFC 9111 5.2.1, 5.4: The cache obeys the directives of a request", arguments: directives)
    func obeyed(stored: String, seconds: Int, request: Fields, isReused: Bool) async throws {
        let stage = try StoreStage()
        #expect(try await stage.reuses([("Cache-Control", stored)], after: seconds, second: request) == isReused)
        await stage.end()
    }

    @Test(
        "RFC 9111 5.2.1.4: A request with no-cache revalidates the stored response",
        arguments: [tag, ("Last-Modified", "Mon, 13 Nov 2023 22:13:20 GMT")] as Fields,
        [("Cache-Control", "no-cache"), ("Cache-Control", "max-age=0"), ("Pragma", "no-cache")] as Fields)
    func asks(validator: (name: String, value: String), request: (name: String, value: String)) async throws {
        let stage = try StoreStage()
        stage.serveValidated("one", [validator, ("Cache-Control", "max-age=60")])
        _ = try await stage.ask()
        #expect(try await stage.ask([request]).shown == "revalidated 200 one")
        await stage.end()
    }

    @Test(
        "RFC 9111 5.2.1.7: only-if-cached gets a 504 if nothing is usable", arguments: ["", "max-age=1", "no-cache"])
    func onlyIfCached(stored: String) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", stored), ("ETag", "\"a\"")))
        if !stored.isEmpty { _ = try await stage.ask() }
        stage.clock.advance(by: .seconds(2))
        let answer = try await stage.ask([("Cache-Control", "only-if-cached")])
        #expect(answer.shown == "disk 504 ")
        #expect(stage.sent.count == (stored.isEmpty ? 0 : 1))
        await stage.end()
    }

    @Test("RFC 9111 5.2.1.5: A request with no-store stores nothing and leaves the store unchanged")
    func noStore() async throws {
        let stage = try StoreStage()
        let fresh = ("Cache-Control", "max-age=60")
        stage.serve(StoreStage.url, StoreStage.ok("one", fresh), StoreStage.ok("two", fresh))
        let silent: Fields = [("Cache-Control", "no-store")]
        #expect(try await stage.ask(silent).shown == "network 200 one")
        #expect(stage.store.entries.isEmpty)
        #expect(try await stage.ask().shown == "network 200 two")
        #expect(try await stage.ask(silent).shown == "network 200 two")
        #expect(try await stage.ask().shown == "disk 200 two")
        await stage.end()
    }

    @Test(
        "RFC 9111 5.2.2.5: After a newer response with no-store, the older one is still served",
        arguments: ["no-store", "no-store, max-age=0"])
    func olderStays(control: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")),
            StoreStage.ok("two", ("Cache-Control", control)))
        _ = try await stage.ask()
        #expect(try await stage.ask([("Cache-Control", "no-cache")]).shown == "network 200 two")
        #expect(try await stage.ask().shown == "disk 200 one")
        await stage.end()
    }

    /// The stored `Cache-Control`, the status 2 s later (nil: no connection), the request's fields, and the result.
    private static let failures: [(String, Int?, Fields, String)] = [
        ("max-age=1, stale-if-error=60", nil, [], "disk 200 one"),
        ("max-age=1, stale-if-error=60", 500, [], "disk 200 one"),
        ("max-age=1, stale-if-error=60", 503, [], "disk 200 one"),
        ("max-age=1, stale-if-error=60", 404, [], "network 404 "),
        ("max-age=1, stale-if-error=60", 501, [], "network 501 "),
        ("max-age=1", nil, [("Cache-Control", "stale-if-error=60")], "disk 200 one"),
        ("max-age=1", 502, [("Cache-Control", "stale-if-error=60")], "disk 200 one"),
        ("max-age=1", 503, [], "network 503 "), ("max-age=1, stale-if-error=0", 503, [], "network 503 "),
        ("max-age=1, stale-if-error=60, must-revalidate", 503, [], "network 503 "),
        ("max-age=1, stale-if-error=60, no-cache", 503, [], "network 503 "),
        ("max-age=1, stale-if-error=60", 503, [("Cache-Control", "no-cache")], "network 503 "),
        ("max-age=1", nil, [], "cannotConnect"), ("max-age=1, must-revalidate", nil, [], "cannotConnect"),
    ]

    @Test(
        "RFC 5861 4, RFC 9111 4.2.4: A stale response replaces an error if that is allowed", arguments: failures)
    func staleIfError(stored: String, status: Int?, request: Fields, shown: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", stored), ("ETag", "\"a\"")),
            status.map { .status($0) } ?? .failure(.cannotConnect))
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(2))
        do {
            let answer = try await stage.ask(request)
            #expect(answer.shown == shown)
            #expect(answer.isStale == (answer.source == .disk))
        } catch let error as LoadError {
            #expect(error.code.rawValue == shown)
        }
        await stage.end()
    }

    @Test(
        "RFC 5861 3: A stale response within stale-while-revalidate is followed by a fresh one",
        arguments: [(60, true), (1, false)])
    func staleWhileRevalidate(window: Int, isAllowed: Bool) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=1, stale-while-revalidate=\(window)")),
            StoreStage.ok("two", ("Cache-Control", "max-age=60")))
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(3))
        let second = try await stage.ask()
        #expect(second.shown == (isAllowed ? "disk 200 one" : "network 200 two"))
        #expect(second.isStale == isAllowed)
        try await stage.transport.waitForStarts(2)
        // The background fetch ends before the pipeline shuts down.
        try await stage.idle()
        #expect(try await stage.ask().shown == "disk 200 two")
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test(
        "RFC 8246 2: A refresh revalidates an immutable response only when it is stale",
        arguments: [0, 100])
    func immutable(seconds: Int) async throws {
        let stage = try StoreStage()
        stage.serveValidated("one", [Self.tag, ("Cache-Control", "max-age=60, immutable")])
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(seconds))
        let second = try await stage.get { $0.cachePolicy = .refresh }
        #expect(second.shown == (seconds == 0 ? "disk 200 one" : "revalidated 200 one"))
        #expect(stage.sent.last?.fields["cache-control"] == (seconds == 0 ? nil : "max-age=0"))
        await stage.end()
    }

    @Test("RFC 9110 15.2: Interim responses are delivered in order and are not stored")
    func interim() async throws {
        let stage = try StoreStage()
        let heads = [
            ResponseHead(status: 102),
            ResponseHead(status: 103, fields: HTTPFields([("Link", "</a.css>"), ("X-My", "test")])),
            ResponseHead(status: 103, fields: HTTPFields([("Cache-Control", "no-store"), ("X-My", "2")])),
        ]
        var script = StoreStage.ok("one", ("Cache-Control", "max-age=60"))
        script.steps.insert(contentsOf: heads.map { .interim($0) }, at: 0)
        stage.serve(StoreStage.url, script)
        #expect(try await stage.ask().interimHeads == heads)
        let second = try await stage.ask()
        #expect(second.shown == "disk 200 one")
        #expect(second.interimHeads.isEmpty && !second.head.fields.contains("x-my"))
        await stage.end()
    }

    @Test("RFC 9110 5.3: Header fields are sent and received in their original order and bytes")
    func raw() async throws {
        let stage = try StoreStage()
        var fields = HTTPFields([("b", "2"), ("A", "1"), ("B", "3")])
        fields.append(name: "X-Raw".utf8, value: [0xFF, 0x20, 0xE4])
        stage.serve(StoreStage.url, .ok(Bytes("one"), fields: fields))
        let answer = try await stage.get { $0.fields = fields }
        #expect(answer.head.fields == fields)
        let sent = stage.sent[0].fields
        #expect((0..<4).map { sent.name($0) } == ["b", "A", "B", "X-Raw"])
        #expect(Array(sent.rawValue(3)) == [0xFF, 0x20, 0xE4])
        await stage.end()
    }
}
