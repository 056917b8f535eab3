import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Minimum transfer rate", .timeLimit(.minutes(1)))
struct RateMonitorTests {
    /// An event of a monitor of 1,024 bytes per second over 30 s. Times are in seconds from its start.
    enum Event: Sendable {
        case bytes(Int)
        case pause(Int)
        case resume(Int)
        case check(Int, RateMonitor.Verdict)
    }

    private static func second(_ number: Int) -> MonotonicTime { .zero + .seconds(number) }

    private static func again(_ second: Int) -> RateMonitor.Verdict { .checkAgain(at: Self.second(second)) }

    /// Returns a check every 5 s, each after the given number of bytes.
    private static func slices(_ bytes: [Int], last: RateMonitor.Verdict) -> [Event] {
        bytes.indices.flatMap { index -> [Event] in
            let isLast = index == bytes.count - 1
            return [.bytes(bytes[index]), .check(5 * (index + 1), isLast ? last : again(5 * (index + 2)))]
        }
    }

    @Test(
        "A transfer below the average rate of the period is too slow, not counting paused time",
        arguments: [
            // Just fast enough, and one byte less.
            slices([5120, 5120, 5120, 5120, 5120, 5120], last: again(35)),
            slices([5120, 5120, 5120, 5120, 5120, 5119], last: .tooSlow),
            // A burst counts for the length of the period.
            slices([30_720, 0, 0, 0, 0, 0], last: again(35)),
            slices([30_720, 0, 0, 0, 0, 0, 0], last: .tooSlow),
            slices([0, 0, 0, 0, 0, 30_720, 0, 0, 0, 0, 0], last: again(60)),
            // There is no verdict before the period is over.
            slices([0, 0, 0, 0, 0], last: again(30)),
            [.check(3, again(5)), .check(5, again(10))],
            // After a long time without a check, the average covers all of that time.
            [.bytes(102_400), .check(100, again(105))],
            [.bytes(102_399), .check(100, .tooSlow)],
            // A pause of an hour does not count, even if it is resumed twice.
            [
                .bytes(20_480), .pause(20), .check(3600, .paused), .resume(3620), .resume(3630),
                .check(3620, again(3625)), .bytes(10_240), .check(3630, again(3635)),
            ],
            [.bytes(20_480), .pause(20), .resume(3620), .bytes(10_239), .check(3630, .tooSlow)],
            // The clock jumps to its maximum.
            [.check(.max, .tooSlow)],
        ])
    func decides(events: [Event]) throws {
        var monitor = try #require(RateMonitor(ImageRequest.Limits(), at: .zero))
        for event in events {
            switch event {
            case .bytes(let count): monitor.received(count)
            case .pause(let time): monitor.paused(at: Self.second(time))
            case .resume(let time): monitor.resumed(at: Self.second(time))
            case .check(let time, let verdict): #expect(monitor.check(at: Self.second(time)) == verdict)
            }
        }
    }

    @Test("A minimum of 0 disables the rate monitor")
    func disabled() {
        var limits = ImageRequest.Limits()
        limits.minimumBytesPerSecond = 0
        #expect(RateMonitor(limits, at: .zero) == nil)
    }

    /// Loads a body of 1,000 single bytes without an announced length, up to its head.
    private func drip(_ change: (inout ImageRequest) -> Void = { _ in }) throws -> (Stage, Log, ImageTask) {
        let stage = try Stage()
        let byte = Bytes("x")
        let steps = (0..<1000).map { _ in ScriptedTransport.Script.Step.bytes(byte) }
        stage.transport.serve(
            Stage.url, ScriptedTransport.Script([.head(ResponseHead(status: 200), expectedBytes: nil)] + steps))
        let log = Log()
        let task = stage.load(log: log, change: change)
        stage.transport.step(Stage.url)
        return (stage, log, task)
    }

    @Test("A transfer of one byte per second times out after 30 s and leaves no timer")
    func tooSlow() throws {
        let (stage, log, _) = try drip()
        for _ in 0..<29 {
            stage.transport.step(Stage.url)
            stage.clock.advance(by: .seconds(1))
        }
        #expect(stage.clock.timerCount == 1)
        stage.transport.step(Stage.url)
        stage.clock.advance(by: .seconds(1))
        stage.transport.step(Stage.url)
        stage.queue.runAll()
        #expect(log.lines == ["end: timedOut"])
        #expect(stage.clock.timerCount == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
    }

    @Test("A lower minimum, none or a longer period lets a slow transfer complete")
    func fastEnough() throws {
        let changes: [(inout ImageRequest) -> Void] = [
            { $0.limits.minimumBytesPerSecond = 1 }, { $0.limits.minimumBytesPerSecond = 0 },
            { $0.limits.minimumRatePeriod = .seconds(61) },
        ]
        for change in changes {
            let (stage, log, _) = try drip(change)
            for _ in 0..<60 {
                stage.transport.step(Stage.url)
                stage.clock.advance(by: .seconds(1))
            }
            stage.transport.finishAll()
            stage.queue.runAll()
            #expect(log.lines == ["end: " + String(repeating: "x", count: 1000)])
            #expect(stage.clock.timerCount == 0)
        }
        // A body in one piece sets no timer.
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        stage.load()
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        #expect(stage.clock.timerCount == 0)
    }

    @Test("A cancelled slow transfer delivers nothing and leaves no timer")
    func cancelled() throws {
        let (stage, log, task) = try drip()
        stage.transport.step(Stage.url)
        stage.clock.advance(by: .seconds(29))
        task.cancel()
        stage.clock.advance(by: .seconds(60))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.isEmpty)
        #expect(stage.clock.timerCount == 0)
    }

    @Test("The error states the minimum rate, the period and a remedy")
    func message() async throws {
        let (stage, _, _) = try drip()
        let failure = Guarded<LoadError?>(nil)
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, result in
            if case .failure(let error) = result { failure.withLock { $0 = error } }
        }
        stage.transport.step(Stage.url)
        stage.clock.advance(by: .seconds(30))
        stage.transport.step(Stage.url)
        stage.queue.runAll()
        #expect(
            failure.withLock { $0?.message }
                == "The transfer was too slow: http://a.example:80 sent less than 1024 bytes per second over 30 s. "
                + "Lower minimumBytesPerSecond.")
    }
}
