import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Image cache conformances", .timeLimit(.minutes(10)))
struct ImageCacheTests {
    @Test("The memory cache passes every image cache conformance check", arguments: ImageCacheConformance.checks)
    func memoryCache(check: ConformanceCheck) async {
        let conformance = ImageCacheConformance { limit in
            // It stores no image that costs more than a tenth of its limit.
            MemoryCache<ImageCacheKey, LoadedImage>(
                configuration: MemoryCacheConfiguration(limit: limit, reactsToMemoryPressure: false))
        }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("The image cache checks find a cache that never evicts and one that stores nothing")
    func faultyCaches() async {
        let endless = await ImageCacheConformance { _ in PlainCache(keeps: true) }.run()
        #expect(endless.contains { $0.description.contains("the cost is") })
        #expect(endless.contains { $0.observation == "an image was released with a lock held" })
        let forgetful = await ImageCacheConformance { _ in PlainCache(keeps: false) }.run()
        #expect(forgetful.contains { $0.description.contains("the first is not found") })
    }

    @Test("Two pipelines can share a custom image cache") func sharedCache() async throws {
        let cache = PlainCache(keeps: true)
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers(.ok(FakeCodec.picture()))
        func makePipeline() throws -> ImagePipeline {
            var configuration = ImagePipeline.Configuration(
                transports: [.shared(transport)], codecs: CodecRegistry([FakeCodec()]))
            configuration.imageCache = cache
            return try ImagePipeline(configuration: configuration)
        }
        let (one, two) = (try makePipeline(), try makePipeline())
        let request = ImageRequest("http://a.example/1.png")
        #expect(one.cache[request] == nil)
        #expect(try await one.image(for: request).source == .network)
        #expect(two.cache[request]?.source == .memory)
        #expect(try await two.image(for: request).source == .memory)
        #expect(two.cache.statistics.count == 1)
        one.cache.removeAll()
        #expect(two.cache[request] == nil)
        await one.shutdown(.finish)
        await two.shutdown(.finish)
    }

    @Test("An image cache can call the pipeline from its methods") func reentrancy() async throws {
        let cache = PlainCache(keeps: true)
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers(.ok(FakeCodec.picture()))
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([FakeCodec()]))
        configuration.imageCache = cache
        let pipeline = try ImagePipeline(configuration: configuration)
        cache.onCall.withLock { $0 = { [unowned pipeline] in _ = pipeline.statistics } }
        for index in 0..<20 {
            async let first = pipeline.image(for: ImageRequest("http://a.example/\(index % 3).png"))
            async let second = pipeline.image(for: ImageRequest("http://a.example/\(index % 3).png"))
            _ = try await (first, second)
        }
        #expect(transport.startCount == 3)
        cache.onCall.withLock { $0 = nil }
        await pipeline.shutdown(.finish)
    }
}

/// A dictionary behind a lock: a cache without a limit, or one that stores nothing.
private final class PlainCache: ImageCaching {
    let onCall = Guarded<(@Sendable () -> Void)?>(nil)
    private let images = Guarded<[ImageCacheKey: LoadedImage]>([:])
    private let keeps: Bool

    init(keeps: Bool) {
        self.keeps = keeps
    }

    func image(for key: ImageCacheKey) -> LoadedImage? {
        onCall.withLock { $0 }?()
        return images.withLock { $0[key] }
    }

    func store(_ image: LoadedImage, for key: ImageCacheKey) {
        onCall.withLock { $0 }?()
        if keeps { images.withLock { $0[key] = image } }
    }

    func remove(_ key: ImageCacheKey) {
        let old = images.withLock { $0.removeValue(forKey: key) }
        withExtendedLifetime(old) {}
    }

    func trim(to cost: Int) {}

    func removeAll() {
        let old = images.withLock { images in
            defer { images = [:] }
            return images
        }
        withExtendedLifetime(old) {}
    }

    var statistics: MemoryCacheStatistics {
        images.withLock { images in
            var statistics = MemoryCacheStatistics()
            statistics.count = images.count
            statistics.cost = images.values.reduce(0) { $0 + $1.pixels.byteCount }
            return statistics
        }
    }
}
