import Testing

@testable import InflightBatch

@Suite("Pace of requests to a host", .timeLimit(.minutes(2)))
struct HostPacerTests {
    private func pacer(
        ceiling: Int = 8, initial: Int = 8, _ change: (inout HostPacer.Configuration) -> Void = { _ in }
    ) -> HostPacer {
        var configuration = HostPacer.Configuration()
        configuration.ceiling = ceiling
        configuration.initialLimit = initial
        configuration.window = 4
        change(&configuration)
        return HostPacer(configuration)
    }

    /// Runs requests one after the other, 1 s apart.
    private func run(
        _ pacer: inout HostPacer, _ outcome: HostPacer.Outcome, count: Int = 1, from now: inout Duration
    ) {
        for _ in 0..<count {
            now += .seconds(1)
            pacer.requestDidStart(at: now)
            pacer.requestDidFinish(outcome, startedAt: now, at: now)
        }
    }

    private let fast = HostPacer.Outcome.served(latency: .milliseconds(50))

    @Test("The limit bounds running requests, and the delay separates starts")
    func bounds() {
        var pacer = pacer(ceiling: 2, initial: 9) { $0.minimumDelay = .seconds(3) }
        #expect(pacer.nextStart == .zero)
        pacer.requestDidStart(at: .seconds(1))
        #expect(pacer.nextStart == .seconds(4))
        pacer.requestDidStart(at: .seconds(4))
        #expect(pacer.nextStart == nil)
        pacer.requestDidFinish(.failed, startedAt: .seconds(4), at: .seconds(5))
        #expect(pacer.nextStart == .seconds(7))
    }

    @Test("A window of served requests raises the limit by 1, up to the ceiling")
    func increase() {
        var pacer = pacer(ceiling: 6, initial: 3)
        var now = Duration.zero
        run(&pacer, fast, count: 3, from: &now)
        #expect(pacer.limit == 3)
        run(&pacer, fast, from: &now)
        #expect(pacer.limit == 4)
        run(&pacer, fast, count: 4, from: &now)
        #expect(pacer.limit == 5)
        run(&pacer, fast, count: 4, from: &now)
        #expect(pacer.limit == 5)
        run(&pacer, fast, count: 1, from: &now)
        #expect(pacer.limit == 6)
        run(&pacer, fast, count: 30, from: &now)
        #expect(pacer.limit == 6)
    }

    @Test("A throttled request halves the limit, once for all requests that ran")
    func halving() {
        var pacer = pacer()
        for _ in 0..<4 { pacer.requestDidStart(at: .seconds(1)) }
        for second in 2...5 {
            pacer.requestDidFinish(.throttled(retryAfter: nil), startedAt: .seconds(1), at: .seconds(second))
        }
        #expect(pacer.limit == 4)
        #expect(pacer.running == 0)
        var now = Duration.seconds(6)
        run(&pacer, .throttled(retryAfter: nil), count: 2, from: &now)
        #expect(pacer.limit == 1)
        #expect(pacer.delay == .zero)
    }

    @Test("At a limit of 1 the delay doubles instead, up to a maximum, and a served window halves it")
    func backoff() {
        var pacer = pacer(initial: 1) { $0.maximumBackoff = .seconds(3) }
        var now = Duration.zero
        var delays: [Duration] = []
        for _ in 0..<5 {
            run(&pacer, .throttled(retryAfter: nil), from: &now)
            delays.append(pacer.delay)
        }
        #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
        #expect(pacer.nextStart == now + .seconds(3))
        delays = []
        for _ in 0..<4 {
            run(&pacer, fast, count: 4, from: &now)
            delays.append(pacer.delay)
        }
        #expect(delays == [.milliseconds(1_500), .milliseconds(750), .milliseconds(375), .zero])
        #expect(pacer.limit == 1)
        run(&pacer, fast, count: 4, from: &now)
        #expect(pacer.limit == 2)
    }

    @Test("Retry-After pauses the host, at most for the maximum, also if the limit was just halved")
    func retryAfter() {
        var pacer = pacer { $0.maximumPause = .seconds(100) }
        for _ in 0..<3 { pacer.requestDidStart(at: .seconds(1)) }
        func finish(_ retryAfter: Duration) {
            pacer.requestDidFinish(.throttled(retryAfter: retryAfter), startedAt: .seconds(1), at: .seconds(10))
        }
        finish(.seconds(20))
        #expect(pacer.nextStart == .seconds(30))
        finish(.seconds(-5))
        #expect(pacer.nextStart == .seconds(30))
        finish(.seconds(Int64.max))
        #expect(pacer.nextStart == .seconds(110))
        #expect(pacer.limit == 4)
    }

    @Test("Rising latency halves the limit, and steady latency does not")
    func latency() {
        var pacer = pacer()
        var now = Duration.zero
        run(&pacer, fast, count: 50, from: &now)
        run(&pacer, .served(latency: .milliseconds(1000)), count: 5, from: &now)
        #expect(pacer.limit == 8)
        run(&pacer, .served(latency: .seconds(8)), from: &now)
        #expect(pacer.limit == 4)
        run(&pacer, fast, count: 40, from: &now)
        #expect(pacer.limit == 8)
        var tiny = self.pacer()
        run(&tiny, .served(latency: .milliseconds(1)), count: 50, from: &now)
        run(&tiny, .served(latency: .milliseconds(50)), count: 5, from: &now)
        #expect(tiny.limit == 8)
        var slow = self.pacer()
        run(&slow, .served(latency: .seconds(5)), count: 50, from: &now)
        run(&slow, .served(latency: .seconds(-1)), count: 5, from: &now)
        #expect(slow.limit == 8)
    }

    @Test("Latency that stays high is the new normal, so the limit recovers")
    func newNormal() {
        var pacer = pacer()
        var now = Duration.zero
        run(&pacer, fast, count: 50, from: &now)
        run(&pacer, .served(latency: .seconds(5)), count: 4, from: &now)
        #expect(pacer.limit < 8)
        run(&pacer, .served(latency: .seconds(5)), count: 400, from: &now)
        #expect(pacer.limit == 8)
    }

    @Test("A request that was not sent takes no turn, and a failed one does not change the pace")
    func notSent() {
        var pacer = pacer { $0.minimumDelay = .seconds(10) }
        pacer.requestDidStart(at: .seconds(1))
        pacer.requestDidStart(at: .seconds(11))
        pacer.requestDidFinish(.notSent, startedAt: .seconds(11), at: .seconds(12))
        #expect(pacer.nextStart == .seconds(11))
        pacer.requestDidFinish(.failed, startedAt: .seconds(1), at: .seconds(12))
        #expect(pacer.limit == 8 && pacer.nextStart == .seconds(11))
    }

    @Test("The longer of Crawl-delay and the configured delay applies")
    func crawlDelay() {
        var pacer = pacer { $0.minimumDelay = .seconds(2) }
        pacer.requestDidStart(at: .seconds(1))
        pacer.setCrawlDelay(.seconds(5))
        #expect(pacer.nextStart == .seconds(6))
        #expect(!pacer.isInitial)
        pacer.setCrawlDelay(.seconds(1))
        #expect(pacer.nextStart == .seconds(3))
        pacer.setCrawlDelay(nil)
        #expect(pacer.nextStart == .seconds(3))
    }

    @Test("Nonsensical bounds mean one request at a time")
    func nonsense() {
        #expect(pacer(ceiling: -3, initial: 0).limit == 1)
    }
}
