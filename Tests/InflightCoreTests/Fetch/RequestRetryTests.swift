import InflightCore
import InflightTestSupport
import Testing

/// `ImageRequest.retry`: the policy of one request instead of the pipeline's.
@Suite("Retry policies of requests", .timeLimit(.minutes(10)))
struct RequestRetryTests {
    private let log = Log()

    private func stage(_ policy: RetryPolicy?) throws -> Stage {
        let stage = try Stage { $0.retry = policy }
        stage.transport.serve(Stage.url, inOrder: [.status(503), .ok(Bytes("x"))])
        return stage
    }

    /// Runs everything, with the waits before retries.
    private func lines(_ stage: Stage) -> [String] {
        while stage.transport.finishAll() > 0 || stage.clock.timerCount > 0 { stage.clock.advanceToNextTimer() }
        stage.queue.runAll()
        return log.lines.sorted()
    }

    @Test("A request with a policy is repeated by a pipeline without one")
    func own() throws {
        let stage = try stage(nil)
        stage.load(log: log) { $0.retry = RetryPolicy() }
        #expect(lines(stage) == ["end: x"])
        #expect(stage.transport.startCount == 2)
    }

    @Test("A request whose policy allows no retry is not repeated by a pipeline that repeats others")
    func none() throws {
        let stage = try stage(RetryPolicy())
        stage.load(log: log) { request in
            var policy = RetryPolicy()
            policy.maximumRetries = 0
            request.retry = policy
        }
        #expect(lines(stage) == ["end: badStatus"])
        #expect(stage.transport.startCount == 1)
    }

    @Test("Requests with different policies share a fetch, which has the one with the most retries")
    func shared() throws {
        let stage = try stage(nil)
        stage.load(log: log, name: "without")
        stage.load(log: log, name: "with") { $0.retry = RetryPolicy() }
        #expect(lines(stage) == ["with: x", "without: x"])
        #expect(stage.transport.startCount == 2)
    }
}
