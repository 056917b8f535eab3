import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Faults that the simulator found, each as the shortest exchange that shows it.
@Suite("Truncated and unusable responses", .timeLimit(.minutes(10)))
struct BrokenResponseTests {
    private static let text = String((0..<40_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
    private static let tag = ("ETag", "\"strong\"")
    private static let cut = 30_000

    private static func broken(_ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(Bytes(text), fields: StoreStage.fields([tag] + fields)).failing(.truncated, after: cut)
    }

    private static func rest(
        from start: Int = cut, _ tag: (String, String) = BrokenResponseTests.tag, _ fields: (String, String)...
    ) -> ScriptedTransport.Script {
        .partial(
            Bytes(String(text.dropFirst(start))), from: start, of: text.utf8.count,
            fields: StoreStage.fields([tag] + fields))
    }

    /// Retries without a delay.
    private static var atOnce: RetryPolicy {
        var policy = RetryPolicy()
        policy.firstDelay = .zero
        return policy
    }

    private func events(
        _ stage: StoreStage, _ change: (inout ImageRequest) -> Void = { _ in }
    ) async -> [String] {
        stage.pipeline.cache.removeAll()
        var request = ImageRequest(StoreStage.url)
        change(&request)
        var heard: [String] = []
        for await event in stage.pipeline.events(for: request) {
            switch event {
            case .progress, .preview: break
            case .stale(let image): heard.append("stale \(image.width) \(image.isStale)")
            case .success(let image): heard.append("success \(image.width) \(image.isStale)")
            case .failure(let error): heard.append("failure \(error.code)")
            }
        }
        return heard
    }

    private func picture(_ control: String) -> ScriptedTransport.Script {
        .ok(FakeCodec.picture(width: 4), fields: StoreStage.fields([("Cache-Control", control), Self.tag]))
    }

    @Test("An event stream ends with the revalidated image of a no-cache response")
    func goodAgain() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, picture("no-cache"), .status(304, StoreStage.fields([Self.tag])))
        _ = try await stage.image()
        #expect(await events(stage) == ["success 4 false"])
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("An event stream ends with the stale image if the origin fails within stale-if-error")
    func standsIn() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, picture("max-age=1, stale-if-error=60"), .failure(.cannotConnect))
        _ = try await stage.image()
        stage.clock.advance(by: .seconds(10))
        #expect(await events(stage) == ["success 4 true"])
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("An event stream ends with the stale image under onlyCached and preferCached", arguments: [false, true])
    func nobodyIsAsked(isOnlyCached: Bool) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, picture("max-age=1, stale-while-revalidate=60"))
        _ = try await stage.image()
        stage.clock.advance(by: .seconds(10))
        #expect(
            await events(stage) { $0.cachePolicy = isOnlyCached ? .onlyCached : .preferCached } == ["success 4 true"])
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    /// `Cache-Control` of the truncated 200, of the truncated 206, and of the last 206.
    private static let forbidding = [
        ["no-store", "no-store", "no-store"], ["no-store", "max-age=100", "max-age=100"],
        ["max-age=100", "no-store", "max-age=100"], ["max-age=100", "max-age=100", "no-store"],
        ["no-store", "max-age=100, must-understand", "max-age=100"],
    ]

    @Test(
        "RFC 9111 5.2.2.5: A resumed body is not stored if any of its heads has no-store",
        arguments: forbidding)
    func resumedNoStore(controls: [String]) async throws {
        let stage = try StoreStage(retry: Self.atOnce)
        let control = controls.map { ("Cache-Control", $0) }
        stage.serve(
            StoreStage.url, Self.broken(control[0]), Self.rest(Self.tag, control[1]).failing(.truncated, after: 1_000),
            Self.rest(from: Self.cut + 1_000, Self.tag, control[2]))
        #expect(try await stage.waited { try await stage.data() } == Self.text)
        #expect(stage.sent.map { $0.fields["range"] } == [nil, "bytes=30000-", "bytes=31000-"])
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("A resumed response to Authorization serves only equal credentials")
    func brokenAndPersonal() async throws {
        let stage = try StoreStage(retry: Self.atOnce)
        stage.serve(
            StoreStage.url, Self.broken(("Cache-Control", "max-age=60")), Self.rest(),
            StoreStage.ok("for anybody", ("Cache-Control", "max-age=60")))
        let text = try await stage.waited { try await stage.data { $0.fields.append("Authorization", "one") } }
        #expect(text == Self.text)
        #expect(try await stage.data() == "for anybody")
        #expect(try await stage.data { $0.fields.append("Authorization", "one") } == Self.text)
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("No part stays stored after a 206 of another version")
    func otherVersion() async throws {
        let stage = try StoreStage(retry: Self.atOnce)
        stage.serve(StoreStage.url, Self.broken(), Self.rest(("ETag", "\"other\"")), .status(404))
        await #expect(throws: LoadError.self) { try await stage.waited { try await stage.data() } }
        await stage.settled()
        #expect(stage.sent.count == 3)
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("A stale response that replaced a truncated one stays stored")
    func standInStays() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=1, stale-if-error=60")),
            StoreStage.ok("another", ("Cache-Control", "no-cache")).failing(.truncated, after: 3),
            .failure(.cannotConnect))
        _ = try await stage.get()
        stage.clock.advance(by: .seconds(10))
        #expect(try await stage.get().shown == "disk 200 one")
        #expect(try await stage.get().shown == "disk 200 one")
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("A stored response that stands in is as fresh as its own head says, not as an earlier 304")
    func standInAfter304() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, picture("max-age=100, stale-if-error=60"))
        _ = try await stage.image()
        // A newer response that needs revalidation, whose body vanishes before the 304 arrives.
        var newer = try #require(stage.store.entries.first).response
        newer.head.fields.set("Cache-Control", "no-cache")
        newer.head.fields.set("ETag", "\"newer\"")
        newer.responseTime = WallTime(milliseconds: newer.responseTime.milliseconds + 1)
        let id = try #require(
            await stage.store.keep(newer, body: FakeCodec.picture(width: 4), under: StoreKey(StoreStage.url)))
        stage.transport.serve(StoreStage.url) { [store = stage.store, sent = stage.noteSent] request in
            sent(request)
            guard request.fields.contains("if-none-match") else { return .failure(.cannotConnect) }
            store.remove([id]) {}
            return .status(304, StoreStage.fields([("Cache-Control", "no-cache"), ("ETag", "\"newer\"")]))
        }
        #expect(await events(stage) == ["success 4 false"])
        #expect(stage.sent.map { $0.fields.contains("if-none-match") } == [false, true, false])
        #expect(try await stage.image().source == .memory)
        #expect(stage.sent.count == 3)
        await stage.end()
    }
}
