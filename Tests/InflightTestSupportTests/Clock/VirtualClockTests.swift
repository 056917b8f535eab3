import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Virtual clock", .timeLimit(.minutes(10)))
struct VirtualClockTests {
    let clock = VirtualClock(now: MonotonicTime(nanoseconds: 5), date: 1000)
    let fired = Guarded<[String]>([])

    private func schedule(_ name: String, in delay: Duration) -> any ScheduledWork {
        clock.schedule(at: clock.now() + delay) { [fired] in fired.withLock { $0.append(name) } }
    }

    private var names: [String] { fired.withLock { $0 } }

    @Test("Timers fire in the order of their deadlines, then of their creation") func firingOrder() {
        for (name, delay) in [("c", 3), ("a", 1), ("b1", 2), ("b2", 2), ("late", 10)] {
            _ = schedule(name, in: .seconds(delay))
        }
        #expect(clock.timerCount == 5)
        clock.advance(by: .seconds(3))
        #expect(names == ["a", "b1", "b2", "c"])
        #expect(clock.now().nanoseconds == 3_000_000_005)
        #expect(clock.timerCount == 1)
    }

    @Test("A timer sees its deadline as the current time, and timers it schedules fire in the same advance")
    func nestedTimers() {
        let clock = clock
        let fired = fired
        _ = clock.schedule(at: clock.now() + .seconds(1)) {
            fired.withLock { $0.append("\(clock.now().nanoseconds)") }
            _ = clock.schedule(at: clock.now() + .seconds(1)) {
                fired.withLock { $0.append("\(clock.now().nanoseconds)") }
            }
        }
        clock.advance(by: .seconds(5))
        #expect(names == ["1000000005", "2000000005"])
    }

    @Test("A timer with a past deadline fires on the next advance and not before") func pastDeadline() {
        _ = schedule("past", in: .seconds(-1))
        #expect(names.isEmpty)
        clock.advance(by: .zero)
        #expect(names == ["past"])
        #expect(clock.now().nanoseconds == 5)
    }

    @Test("A cancelled timer does not fire and releases its captures") func cancelledTimer() {
        final class Witness: Sendable {}
        var witness: Witness? = Witness()
        weak let seen = witness
        let timer = clock.schedule(at: clock.now() + .seconds(1)) { [witness] in _ = witness }
        let last = schedule("last", in: .seconds(2))
        witness = nil
        #expect(seen != nil)
        timer.cancel()
        timer.cancel()
        #expect(seen == nil)
        #expect(clock.timerCount == 1)
        #expect(clock.advanceToNextTimer())
        #expect(names == ["last"])
        #expect(!clock.advanceToNextTimer())
        last.cancel()
        #expect(clock.timerCount == 0)
    }

    @Test("A thousand timers, most of them cancelled, fire in order") func manyTimers() {
        var expected: [Int] = []
        for index in 0..<1000 {
            let delay = index * 7919 % 1000
            let timer = schedule("\(delay)", in: .seconds(delay))
            if index % 3 == 0 { expected.append(delay) } else { timer.cancel() }
        }
        #expect(clock.timerCount == expected.count)
        clock.advance(by: .seconds(1000))
        #expect(names == expected.sorted().map(String.init))
    }

    @Test("The date advances with the clock and can be set independently") func settingDate() {
        #expect(clock.secondsSince1970() == 1000)
        clock.advance(by: .milliseconds(1500))
        #expect(clock.secondsSince1970() == 1001.5)
        clock.setDate(secondsSince1970: 10)
        #expect(clock.secondsSince1970() == 10)
        #expect(clock.now().nanoseconds == 1_500_000_005)
    }

    @Test("Waiting for timers returns when another thread has scheduled one, and can time out")
    func waiting() async throws {
        async let waited: Void = clock.waitForTimers()
        _ = schedule("a", in: .seconds(1))
        try await waited
        await #expect(throws: WaitFailure.self) { try await clock.waitForTimers(2, within: .milliseconds(1)) }
    }
}
