import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Images assigned to the memory cache", .timeLimit(.minutes(1)))
struct CacheFacadeTests {
    private func loaded(_ fields: (String, String)...) async throws -> (StoreStage, LoadedImage) {
        let stage = try StoreStage { $0.store = nil }
        stage.serve(
            StoreStage.url, [.ok(FakeCodec.picture(width: 8, height: 8), fields: StoreStage.fields(fields))])
        return (stage, try await stage.pipeline.image(for: ImageRequest(StoreStage.url)))
    }

    @Test("An assigned image is found by lookups and loads of its request, until it is removed")
    func assigned() async throws {
        let (stage, image) = try await loaded(("Cache-Control", "max-age=60"))
        let cache = stage.pipeline.cache
        let request = ImageRequest(StoreStage.url)
        var other = request
        other.processors = [.circle()]
        cache.removeAll()
        #expect(cache[request] == nil)
        cache[request] = image
        #expect(cache[request]?.source == .memory)
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        cache[other] = image
        #expect(cache.statistics.count == 2)
        cache[request] = nil
        #expect(cache[request] == nil)
        #expect(cache[other] != nil)
        cache.trim(to: 0)
        #expect(cache.statistics.count == 0)
    }

    @Test("A request may leave memory out: its image is not kept, or one in memory is not its result")
    func leftOut() async throws {
        let stage = try StoreStage { $0.store = nil }
        let fields = StoreStage.fields([("Cache-Control", "max-age=60")])
        stage.serve(StoreStage.url, [.ok(FakeCodec.picture(width: 8, height: 8), fields: fields)])
        #expect(try await stage.image { $0.writesMemory = false }.source == .network)
        #expect(stage.pipeline.cache.statistics.count == 0)
        #expect(try await stage.image().source == .network)
        #expect(stage.pipeline.cache.statistics.count == 1)
        #expect(try await stage.image { $0.writesMemory = false }.source == .memory)
        #expect(try await stage.image { $0.readsMemory = false }.source == .network)
        #expect(stage.pipeline.cache.statistics.count == 1 && stage.sent.count == 3)
        await stage.end()
    }

    @Test("An image whose response forbids caching, or whose request cannot be cached, is not stored")
    func refused() async throws {
        let (stage, image) = try await loaded(("Cache-Control", "no-store"))
        stage.pipeline.cache[ImageRequest(StoreStage.url)] = image
        #expect(stage.pipeline.cache.statistics.count == 0)
        stage.pipeline.cache[ImageRequest("no URL")] = image
        #expect(stage.pipeline.cache.statistics.count == 0)
    }

    @Test("An image that is not stored is reported to the log")
    func reported() async throws {
        let log = Log()
        let stage = try StoreStage { configuration in
            configuration.store = nil
            configuration.log = { entry in
                if entry.level >= .notice { log.add("\(entry.level): \(entry.message)") }
            }
        }
        let (_, image) = try await loaded(("Cache-Control", "no-store"))
        stage.pipeline.cache["mine:1"] = image
        stage.pipeline.cache["http://a.example/2"] = image
        #expect(
            log.lines == [
                "error: no image can be kept in memory for this request", "notice: the image is not kept in memory",
            ])
    }

    @Test("An image for a URL that no transport serves is found by lookups, loads and loaders")
    func otherScheme() async throws {
        let (stage, image) = try await loaded(("Cache-Control", "max-age=60"))
        let request = ImageRequest("mine://1")
        await #expect(throws: LoadError.self) { try await stage.pipeline.image(for: request) }
        stage.pipeline.cache[request] = image
        #expect(stage.pipeline.cache[request]?.width == 8)
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        let queue = ManualQueue()
        let log = Log()
        do {
            let loader = ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: queue.callbackQueue))
            loader.submit { loader in
                loader.request = request
                log.add(loader.shown)
            }
            queue.runAll()
        }
        // The loader is released on its queue.
        queue.runAll()
        #expect(log.lines == ["loaded 8"])
        await #expect(throws: LoadError.self) { try await stage.pipeline.data(for: request) }
    }

    @Test("A tiny image counts the memory of its key, head and slot")
    func tiny() async throws {
        let stage = try StoreStage { $0.store = nil }
        stage.serve(
            StoreStage.url,
            [.ok(FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=60")]))])
        _ = try await stage.pipeline.image(for: ImageRequest(StoreStage.url))
        #expect(stage.pipeline.cache.statistics.cost == 1056)
    }
}
