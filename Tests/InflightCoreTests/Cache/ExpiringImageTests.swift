import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `pipeline.cache.store(_:for:freshFor:)`: images in memory that expire.
@Suite("Images that expire", .timeLimit(.minutes(10)))
struct ExpiringImageTests {
    private func stage() throws -> StoreStage {
        let stage = try StoreStage { $0.store = nil }
        stage.serve(StoreStage.url, .ok(FakeCodec.picture()))
        return stage
    }

    private static let image = LoadedImage(pixels: FakeCodec.pixels(width: 2, height: 2))

    @Test("It is served until then, and marked as stale afterwards, until a load has fetched another")
    func expiry() async throws {
        let stage = try stage()
        stage.pipeline.cache.store(Self.image, for: StoreStage.url, freshFor: .seconds(60))
        stage.clock.advance(by: .milliseconds(59_999))
        #expect(try await stage.image().width == 2 && stage.sent.isEmpty)
        #expect(stage.pipeline.cache[StoreStage.url]?.isStale == false)
        stage.clock.advance(by: .milliseconds(1))
        #expect(stage.pipeline.cache[StoreStage.url]?.isStale == true)
        #expect(try await stage.image { $0.allowsStaleFromMemory = true }.isStale)
        #expect(try await stage.image().width == 4 && stage.sent.count == 1)
        #expect(stage.pipeline.cache[StoreStage.url]?.width == 4)
        await stage.end()
    }

    @Test("The freshness of the response that it comes from counts if it is shorter", arguments: [(10, 60), (60, 10)])
    func response(lifetime: Int, time: Int) async throws {
        let stage = try stage()
        stage.serve(
            StoreStage.url,
            .ok(FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=\(lifetime)")])))
        let image = try await stage.image()
        stage.pipeline.cache.store(image, for: "mine://1", freshFor: .seconds(time))
        stage.clock.advance(by: .seconds(9))
        #expect(stage.pipeline.cache["mine://1"]?.isStale == false)
        stage.clock.advance(by: .seconds(1))
        #expect(stage.pipeline.cache["mine://1"]?.isStale == true)
        await stage.end()
    }

    @Test(
        "Without any time it is stale at once, and the longest never ends",
        arguments: [Duration.zero, .seconds(Int64.max)])
    func limits(time: Duration) throws {
        let stage = try stage()
        stage.pipeline.cache.store(Self.image, for: StoreStage.url, freshFor: time)
        stage.clock.advance(by: .seconds(1_000_000_000))
        #expect(stage.pipeline.cache[StoreStage.url]?.isStale == (time == .zero))
    }
}
