import InflightCore
import InflightTestSupport
import Testing

@Suite("Failures of many loads", .timeLimit(.minutes(10)))
struct QueuedFailureTests {
    @Test("Queued loads that fail without being sent end one after the other, however many there are")
    func queued() throws {
        let stage = try Stage {
            $0.retry = RetryPolicy()
            $0.maximumConcurrentFetches = 1
        }
        let (url, other) = (Stage.url, "http://a.example/other")
        // The server asks for a long pause, in which further loads of the URL fail at once.
        stage.transport.serve(url, .status(503, HTTPFields([("Retry-After", "3600")])))
        stage.transport.serve(other, .ok(Bytes("other")))
        let log = Log()
        stage.load(url, log: log)
        stage.transport.finishAll()
        stage.load(other, log: log)
        let count = 20_000
        for number in 0..<count {
            stage.load(url, log: log) { $0.fields["X-Number"] = "\(number)" }
        }
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.count == count + 2)
        #expect(log.lines.count { $0 == "end: badStatus" } == count + 1)
        #expect(stage.transport.startCount == 2)
    }

    @Test("An origin whose retries are used up gets none, however many other origins fail")
    func budgets() async throws {
        let stage = try StoreStage(retry: RetryPolicy()) {
            $0.store = nil
            // Without delays, because each would be a step of the clock.
            $0.random = { 0 }
        }
        stage.transport.serveOthers(.status(503))
        @Sendable func load(_ urls: [String]) async throws {
            try await stage.waited {
                await withTaskGroup(of: Void.self) { group in
                    for url in urls {
                        group.addTask { _ = try? await stage.pipeline.data(for: ImageRequest(url)) }
                    }
                }
            }
        }
        /// Returns the number of requests that one load sends.
        func attempts(_ number: Int) async throws -> Int {
            let before = stage.transport.startCount
            try await load(["http://a.example/\(number)"])
            return stage.transport.startCount - before
        }
        for number in 0..<8 { _ = try await attempts(number) }
        #expect(try await attempts(8) == 1)
        try await load((0..<1100).map { "http://\($0).example/" })
        #expect(try await attempts(9) == 1)
        await stage.pipeline.shutdown(.finish)
    }
}
