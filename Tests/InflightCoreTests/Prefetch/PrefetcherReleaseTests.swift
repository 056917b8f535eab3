import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Prefetcher: release and concurrent use", .timeLimit(.minutes(10)))
struct PrefetcherReleaseTests {
    private func url(_ number: Int) -> String { "http://a.example/\(number)" }
    private func requests(_ numbers: Int...) -> [ImageRequest] { numbers.map { ImageRequest(url($0)) } }

    @Test("Releasing a prefetcher cancels its requests and its pending turn")
    func released() throws {
        let stage = try PrefetchStage()
        var prefetcher: Prefetcher? = stage.prefetcher(limit: 1)
        prefetcher?.start(requests(1, 2))
        stage.turns.runAll()
        prefetcher?.start(requests(3))
        prefetcher = nil
        #expect(stage.transport.cancelledURLs == [url(1)])
        stage.finish()
        #expect(stage.transport.startCount == 1)
        #expect(stage.stage.pipeline.statistics.tasksInFlight == 0)
        var waiting: Prefetcher? = Prefetcher(pipeline: stage.stage.pipeline, destination: .memory)
        waiting?.start(requests(4))
        #expect(stage.stage.clock.timerCount == 1)
        waiting = nil
        #expect(stage.stage.clock.timerCount == 0)
    }

    @Test("Releasing a prefetcher on another thread keeps a fetch that a view has joined")
    func releasedBesideAView() async throws {
        let stage = try PrefetchStage()
        let log = Log()
        await Bridge.wait { done in
            let prefetcher = stage.prefetcher()
            prefetcher.start(requests(1, 2))
            stage.turns.runAll()
            stage.stage.load(url(1), log: log, name: "view") { $0.priority = .high }
            DispatchQueue.global().async {
                prefetcher.pause()
                done.open()
            }
        }
        try await stage.transport.wait(for: .cancelled(url(2)), within: .seconds(50))
        stage.finish()
        #expect(stage.transport.cancelledURLs == [url(2)])
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("view: "))
    }

    @Test("Request processors are released with no lock held, so they may call the prefetcher")
    func releasesOutside() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        let log = Log()
        func wish() -> ImageRequest {
            let captured = Captured { log.add("\(prefetcher.statistics.stopped) stopped") }
            var request = ImageRequest(url(1))
            request.processors = [ImageProcessor(FakeProcessor(name: "p", onIdentity: { captured.touch() }))]
            return request
        }
        prefetcher.start([wish()])
        prefetcher.stopAll()
        stage.turns.runAll()
        #expect(log.lines == ["1 stopped"])
    }

    @Test("Under concurrent use from many threads, every prefetch is accounted for")
    func manyThreads() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let turns = DispatchQueue(label: "turns")
        let prefetcher = Prefetcher(
            pipeline: stage.pipeline, destination: .memory, turn: .queue(.queue(turns)), limit: 3)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(thread))
                    for _ in 0..<300 {
                        let request = ImageRequest("http://a.example/\(Int.random(in: 0..<30, using: &random))")
                        switch Int.random(in: 0..<10, using: &random) {
                        case 0..<6: prefetcher.start([request])
                        case 6, 7: prefetcher.stop([request])
                        case 8: prefetcher.pause()
                        default: prefetcher.resume()
                        }
                    }
                }
            }
        }
        prefetcher.resume()
        prefetcher.stopAll()
        turns.sync {}
        await stage.pipeline.shutdown(.finish)
        let statistics = prefetcher.statistics
        #expect(statistics.inFlight == 0 && statistics.waiting == 0)
        #expect(
            statistics.requested == statistics.loaded + statistics.found + statistics.failed
                + statistics.stopped,
            "\(statistics)")
        #expect(statistics.failed == 0)
    }
}
