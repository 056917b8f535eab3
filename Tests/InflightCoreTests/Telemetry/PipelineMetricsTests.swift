import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Pipeline metrics", .timeLimit(.minutes(10)))
struct PipelineMetricsTests {
    private let book = RecordingObservers()

    private func metrics(_ observer: RecordingObserver) -> ImagePipeline.Metrics {
        var metrics = ImagePipeline.Metrics()
        for event in observer.events { metrics.record(event) }
        return metrics
    }

    @Test("Metrics count results by source, bytes saved by coalescing, and queued and running jobs")
    func counts() throws {
        let observer = book.observer()
        let stage = try Stage {
            $0.maximumConcurrentFetches = 1
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(Bytes("abcd")))
        stage.transport.serveOthers(.status(404))
        for _ in 0..<3 { stage.load() }
        stage.load("http://b.example/1")
        stage.load("http://b.example/2").cancel()
        let before = metrics(observer)
        #expect(before.loadsInFlight == 4)
        #expect(before.running == [.fetch: 1])
        #expect(before.waiting[.fetch] == 1)
        let now = stage.pipeline.statistics
        #expect(now.tasksInFlight == 4)
        #expect(now.running == [.store: 0, .fetch: 1, .decode: 0])
        #expect(now.waiting == [.store: 0, .fetch: 1, .decode: 0])
        #expect(now.cancelledLoads == 1 && now.successes.isEmpty && now.failures.isEmpty)
        stage.clock.advance(by: .seconds(2))
        stage.transport.finishAll()
        stage.clock.advance(by: .seconds(1))
        stage.queue.runAll()
        let after = metrics(observer)
        #expect(after.loadsInFlight == 0)
        #expect(after.running[.fetch] == 0 && after.waiting[.fetch] == 0)
        #expect(after.successes == [.network: 1, .shared: 2])
        #expect(after.failures == [.badStatus: 1])
        #expect(after.cancelledLoads == 1)
        #expect(after.exchanges == 2)
        #expect(after.wireBytes == 4)
        #expect(after.bytesSavedBySharing == 8)
        #expect(after.bodySizes.count == 1 && after.bodySizes.maximum == 4)
        let statistics = stage.pipeline.statistics
        #expect(statistics.tasksInFlight == 0)
        #expect(statistics.running.values.allSatisfy { $0 == 0 })
        #expect(statistics.successes == after.successes)
        #expect(statistics.failures == after.failures)
        #expect(statistics.cancelledLoads == after.cancelledLoads)
        #expect(statistics.exchanges == after.exchanges)
        #expect(statistics.bytesSavedBySharing == after.bytesSavedBySharing)
        #expect(after.totalTimes.count == 4)
        #expect(after.deliveryTimes.p50 == 1_000_000_000)
        #expect(after.firstByteTimes.maximum == 2_000_000_000)
        #expect(after.queueTimes.maximum == 2_000_000_000)
    }
}
