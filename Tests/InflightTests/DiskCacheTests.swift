import Foundation
import Inflight
import InflightTestSupport
import Testing

/// `pipeline.diskCache` over the real disk store.
@Suite("Disk cache of a pipeline", .timeLimit(.minutes(10)))
struct DiskCacheTests {
    private let short = "http://a.example/short"
    private let long = "http://a.example/long"

    private func pipeline(_ folder: TemporaryDirectory, _ clock: VirtualClock) throws -> ImagePipeline {
        var configuration = ImagePipeline.Configuration(cache: .init(folder: folder.path))
        configuration.clock = clock
        return try ImagePipeline(configuration: configuration)
    }

    @Test("Bytes stored by hand are found by a later pipeline, and stale ones can be cleared")
    func stale() async throws {
        let (folder, clock) = (TemporaryDirectory(), VirtualClock())
        let first = try pipeline(folder, clock)
        try await first.diskCache.store(Data("short".utf8), for: short, freshFor: .seconds(5))
        try await first.diskCache.store(Data("long".utf8), for: long, freshFor: .seconds(60))
        await first.shutdown(.finish)
        let second = try pipeline(folder, clock)
        #expect(try await second.diskCache.data(for: short) == Data("short".utf8))
        clock.advance(by: .seconds(10))
        #expect(await !second.diskCache.contains(short))
        let store = try #require(second.diskCache.store)
        #expect(try await store.clear(.stale) == 1)
        #expect(try await store.statistics().entries == 1)
        #expect(await second.diskCache.contains(long))
        await second.shutdown(.finish)
    }

    @Test("A folder that cannot be written takes nothing, with a clear error")
    func readOnly() async throws {
        let folder = TemporaryDirectory()
        let file = folder.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        var configuration = ImagePipeline.Configuration()
        configuration.store = .owned { _ in DiskStore(DiskStore.Configuration(folder: file + "/below")) }
        let pipeline = try ImagePipeline(configuration: configuration)
        let error = await #expect(throws: LoadError.self) {
            try await pipeline.diskCache.store(Data("x".utf8), for: short, freshFor: .seconds(5))
        }
        #expect(error?.code == .cannotWrite && error?.url == short)
        #expect(await !pipeline.diskCache.contains(short))
        await pipeline.shutdown(.finish)
    }
}
