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

    @Test("An image whose response forbids caching, or whose request cannot be cached, is not stored")
    func refused() async throws {
        let (stage, image) = try await loaded(("Cache-Control", "no-store"))
        stage.pipeline.cache[ImageRequest(StoreStage.url)] = image
        #expect(stage.pipeline.cache.statistics.count == 0)
        stage.pipeline.cache[ImageRequest("no URL")] = image
        #expect(stage.pipeline.cache.statistics.count == 0)
    }
}
