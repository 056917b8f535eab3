import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Pipeline statistics", .timeLimit(.minutes(10)))
struct StatisticsTests {
    @Test("Statistics count results by source, including custom sources, without an observer")
    func successes() throws {
        let stage = try Stage()
        let counters = EndingCounters()
        for source in [LoadSource.memory, .memory, .disk, LoadSource(rawValue: "shelf")] {
            counters.count(.success(source))
        }
        counters.count(.failure(.timedOut))
        counters.countSaved(40)
        var statistics = stage.pipeline.statistics
        #expect(statistics.successes.isEmpty)
        #expect(statistics == ImagePipeline.Statistics())
        counters.read(into: &statistics)
        #expect(statistics.successes == [.memory: 2, .disk: 1, LoadSource(rawValue: "shelf"): 1])
        #expect(statistics.failures == [.timedOut: 1])
        #expect(statistics.bytesSavedBySharing == 40)
        #expect(statistics != ImagePipeline.Statistics())
    }

    @Test("Every named load source has its own counter")
    func places() {
        let sources: [LoadSource] = [.memory, .network, .shared, .disk, .revalidated, .file, .data, .source]
        #expect(Set(sources.map { ImagePipeline.Statistics.knownSources.firstIndex(of: $0) }) == Set(0..<8))
        for source in sources {
            let counters = EndingCounters()
            counters.count(.success(source))
            var statistics = ImagePipeline.Statistics()
            counters.read(into: &statistics)
            #expect(statistics.successes == [source: 1])
        }
    }

    @Test("Memory hits are counted by source, and a cancelled load is counted once")
    func memory() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let request = ImageRequest(Stage.url)
        for _ in 0..<3 { _ = try await stage.pipeline.image(for: request) }
        #expect(stage.pipeline.statistics.successes == [.network: 1, .memory: 2])
        #expect(stage.pipeline.statistics.cancelledLoads == 0)
        let task = stage.load("http://a.example/other")
        task.cancel()
        task.cancel()
        #expect(stage.pipeline.statistics.cancelledLoads == 1)
    }

    @Test("A load with an invalid URL is counted as a failure by its code")
    func failures() async throws {
        let stage = try Stage()
        await #expect(throws: LoadError.self) { _ = try await stage.pipeline.image(for: ImageRequest("no url")) }
        #expect(stage.pipeline.statistics.failures == [.invalidURL: 1])
        #expect(stage.pipeline.statistics.tasks == 0)
    }
}
