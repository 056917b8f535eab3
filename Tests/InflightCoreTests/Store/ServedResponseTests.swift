import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Pipeline with a response store", .timeLimit(.minutes(10)))
struct ServedResponseTests {
    private typealias Script = ScriptedTransport.Script

    @Test("A fresh stored response is served without a fetch, with source disk and its age")
    func fresh() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        #expect(try await stage.get().shown == "network 200 one")
        stage.clock.advance(by: .seconds(20))
        let second = try await stage.get()
        #expect(second.shown == "disk 200 one")
        #expect(second.head.fields["age"] == "20")
        #expect(second.wireBytes == 0)
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("A stale response is revalidated and served from the store after a 304")
    func revalidated() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60"), ("ETag", "\"a\"")),
            .status(304, HTTPFields([("Cache-Control", "max-age=100"), ("X-New", "1")])))
        _ = try await stage.get()
        stage.clock.advance(by: .seconds(61))
        let second = try await stage.get()
        #expect(second.shown == "revalidated 200 one")
        #expect(second.head.fields["x-new"] == "1")
        #expect(stage.sent.last?.fields["if-none-match"] == "\"a\"")
        // The freshness lifetime of the 304 applies.
        stage.clock.advance(by: .seconds(90))
        #expect(try await stage.get().shown == "disk 200 one")
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A changed response is delivered and replaces the stored one")
    func replaced() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("ETag", "\"a\""), ("Cache-Control", "no-cache")),
            StoreStage.ok("two", ("ETag", "\"b\""), ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        #expect(try await stage.get().shown == "network 200 two")
        #expect(try await stage.get().shown == "disk 200 two")
        #expect(stage.store.entries.count == 1)
        await stage.end()
    }

    @Test("A stale response is served within stale-if-error when the origin fails")
    func staleIfError() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=1, stale-if-error=60")),
            .failure(.cannotConnect), .status(503), .failure(.cannotConnect))
        _ = try await stage.get()
        stage.clock.advance(by: .seconds(10))
        #expect(try await stage.get().shown == "disk 200 one")
        #expect(try await stage.get().shown == "disk 200 one")
        stage.clock.advance(by: .seconds(60))
        await #expect(throws: LoadError.self) { try await stage.get() }
        await stage.end()
    }

    @Test("A body is stored with its content coding and decoded on each use")
    func coded() async throws {
        let stage = try StoreStage { $0.contentCodings = [Reversing()] }
        stage.serve(
            StoreStage.url, StoreStage.ok("olleh", ("Cache-Control", "max-age=60"), ("Content-Encoding", "reversed")))
        #expect(try await stage.data() == "hello")
        #expect(try await stage.data() == "hello")
        #expect(stage.sent.count == 1)
        #expect(stage.sent.first?.fields["accept-encoding"] == "reversed")
        #expect(stage.store.entries.first?.response.totalLength == 5)
        await stage.end()
    }

    @Test("A part of a coded body is delivered as it is, from the origin and from the store")
    func codedPart() async throws {
        let stage = try StoreStage { $0.contentCodings = [Reversing()] }
        let fields = [
            ("Cache-Control", "max-age=60"), ("Content-Encoding", "reversed"), ("Content-Range", "bytes 0-4/9"),
            ("ETag", "\"a\""),
        ]
        stage.serve(StoreStage.url, .status(206, StoreStage.fields(fields), body: Bytes("olleh")))
        for source in ["network", "disk"] {
            let part = try await stage.get { $0.fields.append("Range", "bytes=0-4") }
            #expect(part.shown == "\(source) 206 olleh")
        }
        await stage.end()
    }

    @Test("A stored redirect is followed without a fetch, and its target is looked up")
    func redirect() async throws {
        let stage = try StoreStage()
        stage.serve(
            "http://a.example/old",
            .status(
                301, StoreStage.fields([("Location", "/1"), ("Cache-Control", "max-age=60")]), body: Bytes("moved")))
        stage.serve(StoreStage.url, StoreStage.ok("here", ("Cache-Control", "max-age=60")))
        #expect(try await stage.get("http://a.example/old").shown == "network 200 here")
        let second = try await stage.get("http://a.example/old")
        #expect(second.shown == "disk 200 here")
        #expect(second.redirectCount == 1)
        #expect(second.url == StoreStage.url)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("An image request does not store the HTML page of a captive portal", arguments: [nil, "none", "rot13"])
    func captivePortal(_ coding: String?) async throws {
        let stage = try StoreStage { $0.contentCodings = [Reversing()] }
        let coding = coding.map { [("Content-Encoding", $0)] } ?? []
        stage.serve(
            StoreStage.url,
            .ok(Bytes("<html>Pay here</html>"), fields: StoreStage.fields([("Cache-Control", "max-age=60")] + coding)),
            .ok(FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=60")])))
        await #expect(throws: LoadError.self) { try await stage.image() }
        #expect(stage.store.entries.isEmpty)
        #expect(try await stage.image().source == .network)
        stage.pipeline.cache.removeAll()
        #expect(try await stage.image().source == .disk)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A request follows its cache policy", arguments: ImageRequest.CachePolicy.allCases)
    func policies(policy: ImageRequest.CachePolicy) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60"), ("ETag", "\"a\"")))
        let ask = { (policy: ImageRequest.CachePolicy) in try await stage.data { $0.cachePolicy = policy } }
        if policy == .onlyCached {
            do {
                _ = try await ask(policy)
                Issue.record("nothing is stored")
            } catch let error as LoadError {
                #expect(error.code == .notStored)
            }
        }
        _ = try await ask(.obey)
        _ = try await ask(policy)
        #expect(stage.sent.count == ([.refresh, .reload, .noStore].contains(policy) ? 2 : 1))
        stage.clock.advance(by: .seconds(100))
        if policy == .onlyCached {
            await #expect(throws: LoadError.self) { try await ask(policy) }
        } else {
            _ = try await ask(policy)
        }
        let counts: [ImageRequest.CachePolicy: Int] = [
            .obey: 2, .refresh: 3, .reload: 3, .onlyCached: 1, .preferCached: 1, .noStore: 3,
        ]
        #expect(stage.sent.count == counts[policy])
        await stage.end()
    }

    @Test("The reload policy fetches unconditionally with no-cache and replaces both cached copies")
    func reload() async throws {
        let stage = try StoreStage()
        let fresh = StoreStage.fields([("Cache-Control", "max-age=60, immutable"), ("ETag", "\"a\"")])
        stage.serve(
            StoreStage.url, .ok(FakeCodec.picture(width: 4), fields: fresh),
            .ok(FakeCodec.picture(width: 6), fields: fresh))
        #expect(try await stage.image().width == 4)
        #expect(try await stage.image { $0.cachePolicy = .reload }.width == 6)
        #expect(stage.sent.last?.fields["cache-control"] == "no-cache")
        #expect(stage.sent.last.map { CachingRequest(url: "", fields: $0.fields).isConditional } == false)
        #expect(stage.store.entries.count == 1)
        #expect(try await stage.image().width == 6)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test(
        "RFC 9111 4.2.4: On disconnect, a stale response is served if request and response allow it",
        arguments: ["max-age=1", "max-age=1, must-revalidate", "no-cache"], [false, true])
    func disconnected(control: String, isAllowed: Bool) async throws {
        let stage = try StoreStage()
        let one = StoreStage.ok("one", ("Cache-Control", control), ("ETag", "\"a\""))
        stage.serve(StoreStage.url, one, .failure(.cannotConnect))
        _ = try await stage.get()
        stage.clock.advance(by: .seconds(10_000))
        if isAllowed, control == "max-age=1" {
            let response = try await stage.get { $0.servesStaleOnDisconnect = true }
            #expect(response.shown == "disk 200 one" && response.isStale)
        } else {
            await #expect(throws: LoadError.self) { try await stage.get { $0.servesStaleOnDisconnect = isAllowed } }
        }
        #expect(stage.sent.count == 2 && stage.store.entries.count == 1)
        await stage.end()
    }

    @Test(
        "Each set of credentials gets and stores its own response",
        arguments: ["Cookie", "Authorization", "X-Api-Key"])
    func accounts(name: String) async throws {
        let stage = try StoreStage { $0.fieldsExcludedFromKey = ["X-Trace"] }
        let answers = ["one", "two", "nobody"].map { StoreStage.ok($0, ("Cache-Control", "max-age=60")) }
        stage.serve(StoreStage.url, answers[0], answers[1], answers[2])
        func get(_ value: String?, trace: String = "1") async throws -> String {
            try await stage.data {
                $0.originFields.append("X-Trace", trace)
                guard let value else { return }
                if name == "X-Api-Key" { $0.originFields.append(name, value) } else { $0.fields.append(name, value) }
            }
        }
        for (value, text) in [("s=1", "one"), ("s=2", "two"), (nil, "nobody"), ("s=1", "one"), ("s=2", "two")] {
            #expect(try await get(value) == text)
        }
        #expect(try await get("s=1", trace: "2") == "one")
        #expect(stage.sent.count == 3)
        #expect(!stage.store.entries.description.contains("s=1"))
        await stage.end()
    }

    @Test("An unsafe method removes the stored response of its URL")
    func invalidated() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        #expect(stage.store.entries.count == 1)
        _ = try await stage.get { request in
            request.method = "POST"
            request.body = Bytes("x")
        }
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("Concurrent requests for a stored response all get it with source disk")
    func shared() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        let sources = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await stage.get().shown } }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(sources == Array(repeating: "disk 200 one", count: 20))
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("An event stream delivers the stale image, then its fresh successor, then ends")
    func staleEvents() async throws {
        let stage = try StoreStage()
        let control = ("Cache-Control", "max-age=1, stale-while-revalidate=60")
        stage.serve(
            StoreStage.url, .ok(FakeCodec.picture(width: 4), fields: StoreStage.fields([control])),
            // Still fresh when it is stored and looked up, although its `Date` is 10 s older than the clock's time.
            .ok(FakeCodec.picture(width: 5), fields: StoreStage.fields([("Cache-Control", "max-age=600")])))
        _ = try await stage.image()
        stage.pipeline.cache.removeAll()
        stage.clock.advance(by: .seconds(10))
        var heard: [String] = []
        for await event in stage.pipeline.events(for: ImageRequest(StoreStage.url)) {
            switch event {
            case .progress, .preview: break
            case .stale(let image): heard.append("stale \(image.width) \(image.isStale)")
            case .success(let image): heard.append("success \(image.width) \(image.isStale)")
            case .failure(let error): heard.append("failure \(error.code)")
            }
        }
        #expect(heard == ["stale 4 true", "success 5 false"])
        #expect(stage.sent.count == 2)
        // The stale image does not stay in memory; its successor does, under the usual key.
        #expect(stage.pipeline.cache[ImageRequest(StoreStage.url)]?.width == 5)
        await stage.end()
    }

    @Test("An onlyCached request that no store could serve fails and sends nothing", arguments: [true, false])
    func onlyCachedWithoutAStore(hasStore: Bool) async throws {
        let stage = try StoreStage { if !hasStore { $0.store = nil } }
        stage.serve(StoreStage.url, StoreStage.ok("body"))
        for change: @Sendable (inout ImageRequest) -> Void in [
            { $0.method = hasStore ? "POST" : "GET" },
            {
                $0.method = hasStore ? "POST" : "GET"
                $0.fallbacks = ["http://a.example/2"]
            },
        ] {
            let error = await #expect(throws: LoadError.self) {
                try await stage.data {
                    $0.cachePolicy = .onlyCached
                    change(&$0)
                }
            }
            #expect(error?.code == .notStored)
        }
        #expect(stage.transport.startCount == 0)
        await stage.end()
    }

    @Test("An image in memory serves obey, onlyCached and preferCached, not noStore or refresh")
    func memory() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, .ok(FakeCodec.picture(width: 4)), .ok(FakeCodec.picture(width: 5)),
            .ok(FakeCodec.picture(width: 6)))
        _ = try await stage.image()
        for policy in [ImageRequest.CachePolicy.obey, .onlyCached, .preferCached] {
            #expect(try await stage.image { $0.cachePolicy = policy }.source == .memory)
        }
        #expect(try await stage.image { $0.cachePolicy = .noStore }.width == 5)
        #expect(stage.pipeline.cache[ImageRequest(StoreStage.url)]?.width == 4)
        #expect(try await stage.image { $0.cachePolicy = .refresh }.width == 6)
        #expect(stage.pipeline.cache[ImageRequest(StoreStage.url)]?.width == 6)
        await stage.end()
    }

    @Test("An unfollowed redirect is the response itself, and interim responses are delivered")
    func general() async throws {
        let stage = try StoreStage()
        var script = ScriptedTransport.Script.redirect(to: "/2")
        let hints = ResponseHead(status: 103, fields: HTTPFields([("Link", "</a>")]))
        script.steps.insert(.interim(hints), at: 0)
        stage.serve(StoreStage.url, script)
        let response = try await stage.get { $0.followsRedirects = false }
        #expect(response.head.status == 302)
        #expect(response.interimHeads == [hints])
        await #expect(throws: LoadError.self) { try await stage.data { $0.followsRedirects = false } }
        await stage.end()
    }

    @Test("A response is stored only if the didReceive hook accepts it unchanged", arguments: [0, 1, 2])
    func hook(verdict: Int) async throws {
        let stage = try StoreStage { configuration in
            configuration.didReceive = { received in
                switch verdict {
                case 0: .accept
                case 1: .rewrite(received.head)
                default: .refuse("it is not wanted")
                }
            }
        }
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        _ = try? await stage.get()
        await stage.settled()
        #expect(stage.store.entries.count == (verdict == 0 ? 1 : 0))
        await stage.end()
    }

    @Test("Image information is read from the stored response")
    func info() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, .ok(FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=60")])))
        _ = try await stage.image()
        let info = try await stage.pipeline.info(for: ImageRequest(StoreStage.url))
        #expect(info.source == .disk)
        #expect(info.info.storedWidth == 4)
        #expect(stage.sent.count == 1)
        await stage.end()
    }
}

/// A content coding for tests that reverses the bytes.
private struct Reversing: ContentCoding {
    let names = ["reversed"]

    func makeDecoder() -> (any ContentDecoder)? { Decoder() }

    private final class Decoder: ContentDecoder {
        private var held: [UInt8] = []

        func decode(
            _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
        ) throws(ContentCodingError) -> Int {
            // The script sends the body in one piece.
            let reversed = unsafe [UInt8](bytes.reversed())
            _ = unsafe reversed.withUnsafeBytes { unsafe body($0) }
            return bytes.count
        }

        func finish() throws(ContentCodingError) {}
    }
}
