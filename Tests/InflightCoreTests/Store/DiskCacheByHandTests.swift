import Foundation
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `pipeline.diskCache`: stored responses by hand.
@Suite("Disk cache by hand", .timeLimit(.minutes(10)))
struct DiskCacheByHandTests {
    private let url = StoreStage.url

    private func code(_ body: () async throws -> Void) async -> LoadError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? LoadError)?.code
        }
    }

    @Test("Stored bytes are found, and serve loads until they are stale")
    func stored() async throws {
        let stage = try StoreStage()
        stage.serve(url, StoreStage.ok("from the server"))
        let cache = stage.pipeline.diskCache
        #expect(await !cache.contains(url))
        #expect(try await cache.data(for: url) == nil)
        try await cache.store(Data("by hand".utf8), for: url, freshFor: .seconds(60))
        #expect(await cache.contains(url))
        #expect(try await cache.data(for: url) == Data("by hand".utf8))
        #expect(try await stage.get().shown == "disk 200 by hand")
        stage.clock.advance(by: .seconds(61))
        #expect(await !cache.contains(url))
        #expect(try await stage.get().shown == "network 200 from the server")
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("Bytes replace the response of a server, and bytes stored before")
    func replaces() async throws {
        let stage = try StoreStage()
        stage.serve(url, StoreStage.ok("from the server", ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        for text in ["one", "two"] {
            try await stage.pipeline.diskCache.store(Data(text.utf8), for: url, freshFor: .seconds(60))
        }
        #expect(stage.store.entries.count == 1)
        #expect(try await stage.get().shown == "disk 200 two")
        await stage.end()
    }

    @Test("A response of a server is found, without its content coding, whatever made its key")
    func found() async throws {
        let stage = try StoreStage()
        stage.serve(url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        stage.serve("http://a.example/2?signature", StoreStage.ok("two", ("Cache-Control", "max-age=60")))
        var signed = ImageRequest("http://a.example/2?signature")
        signed.identity = "second"
        _ = try await stage.get()
        _ = try await stage.pipeline.response(for: signed)
        await stage.settled()
        signed.url = "http://a.example/2?other"
        #expect(try await stage.pipeline.diskCache.data(for: signed) == Data("two".utf8))
        #expect(await !stage.pipeline.diskCache.contains("http://a.example/2?signature"))
        #expect(try await stage.pipeline.diskCache.data(for: url) == Data("one".utf8))
        await stage.end()
    }

    @Test("Removed responses are fetched again, and those of other URLs stay")
    func removed() async throws {
        let stage = try StoreStage()
        let other = "http://a.example/2"
        for url in [url, other] { stage.serve(url, StoreStage.ok("body", ("Cache-Control", "max-age=60"))) }
        for url in [url, other] { _ = try await stage.get(url) }
        await stage.pipeline.diskCache.remove(url)
        #expect(await !stage.pipeline.diskCache.contains(url))
        #expect(await stage.pipeline.diskCache.contains(other))
        _ = try await stage.get()
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("Processed images of replaced and of removed bytes go with them", arguments: [true, false])
    func processed(isRemoved: Bool) async throws {
        let stage = try StoreStage()
        let fields = StoreStage.fields([("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])
        stage.serve(url, .ok(FakeCodec.picture(), fields: fields))
        _ = try await stage.image { $0.storedRepresentation = .both }
        #expect(stage.store.entries.count == 2)
        if isRemoved {
            await stage.pipeline.diskCache.remove(url)
        } else {
            let picture = Data(FakeCodec.picture(width: 9).array)
            try await stage.pipeline.diskCache.store(picture, for: url, freshFor: .seconds(60))
        }
        #expect(stage.store.entries.count == (isRemoved ? 0 : 1))
        stage.pipeline.cache.removeAll()
        let image = try await stage.image { $0.storedRepresentation = .both }
        #expect(image.width == (isRemoved ? 4 : 9))
        await stage.end()
    }

    @Test("What cannot be stored is refused, and changes nothing")
    func refused() async throws {
        let stage = try StoreStage()
        let cache = stage.pipeline.diskCache
        let data = Data("x".utf8)
        var post = ImageRequest(url)
        post.method = "POST"
        #expect(await code { try await cache.store(data, for: post, freshFor: .seconds(1)) } == .invalidRequest)
        #expect(await code { try await cache.store(data, for: "no URL", freshFor: .seconds(1)) } == .invalidURL)
        #expect(await code { _ = try await cache.data(for: "no URL") } == .invalidURL)
        #expect(await !cache.contains("no URL"))
        await cache.remove("no URL")
        #expect(stage.store.entries.isEmpty && stage.sent.isEmpty)
        await stage.end()
        // After the store has shut down, it takes nothing.
        #expect(await code { try await cache.store(data, for: url, freshFor: .seconds(1)) } == .cannotWrite)
    }

    @Test("Without a store, nothing is found and nothing can be stored")
    func none() async throws {
        let stage = try Stage(.automatic)
        let cache = stage.pipeline.diskCache
        #expect(await !cache.contains(url))
        #expect(try await cache.data(for: url) == nil)
        await cache.remove(url)
        #expect(
            await code { try await cache.store(Data(), for: url, freshFor: .seconds(1)) } == .invalidRequest)
        await stage.pipeline.shutdown(.finish)
    }
}
