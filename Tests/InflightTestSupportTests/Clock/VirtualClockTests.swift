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

    @Test("Timers fire in the order of their deadlines, then of their making") func timersFireOrder() {
        for (name, delay) in [("c", 3), ("a", 1), ("b1", 2), ("b2", 2), ("late", 10)] {
            _ = schedule(name, in: .seconds(delay))
        }
        #expect(clock.timerCount == 5)
        clock.advance(by: .seconds(3))
        #expect(names == ["a", "b1", "b2", "c"])
        #expect(clock.now().nanoseconds == 3_000_000_005)
        #expect(clock.timerCount == 1)
    }

    @Test("A timer's body sees its own deadline, and what it schedules runs in the same move") func timersBodySees() {
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

    @Test("A deadline that has passed fires with the next move, and not before") func deadlineHasPassed() {
        _ = schedule("past", in: .seconds(-1))
        #expect(names.isEmpty)
        clock.advance(by: .zero)
        #expect(names == ["past"])
        #expect(clock.now().nanoseconds == 5)
    }

    @Test("A cancelled timer does not fire, and lets go of what it captured") func cancelledTimerDoes() {
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

    @Test("Many timers, most of them cancelled, stay in order") func manyTimersMost() {
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

    @Test("The date goes with the time, and jumps where it is told") func dateGoesTime() {
        #expect(clock.secondsSince1970() == 1000)
        clock.advance(by: .milliseconds(1500))
        #expect(clock.secondsSince1970() == 1001.5)
        clock.setDate(secondsSince1970: 10)
        #expect(clock.secondsSince1970() == 10)
        #expect(clock.now().nanoseconds == 1_500_000_005)
    }

    @Test("A test can wait until another thread has scheduled") func testCanWait() async throws {
        async let waited: Void = clock.waitForTimers()
        _ = schedule("a", in: .seconds(1))
        try await waited
        await #expect(throws: WaitFailure.self) { try await clock.waitForTimers(2, within: .milliseconds(1)) }
    }
}
