import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("The machine of previews", .timeLimit(.minutes(10)))
struct PreviewMachineTests {
    private static let start = MonotonicTime(nanoseconds: 1000)

    private static func after(_ milliseconds: Int) -> MonotonicTime { start + .milliseconds(milliseconds) }

    private static func machine(interval: Int = 200, least: Int64 = 1024) -> PreviewMachine {
        var options = PreviewOptions(interval: .milliseconds(interval))
        options.minimumBytes = least
        return PreviewMachine(options, now: start)
    }

    @Test("a body that comes quickly has none, and one that stalls is shown when its time has come")
    func firstWaits() {
        var machine = Self.machine()
        #expect(machine.bytesCame(5000, now: Self.after(10)) == .wake(Self.after(200)))
        #expect(machine.bytesCame(9000, now: Self.after(20)) == .nothing)
        #expect(machine.timeCame(now: Self.after(200)) == .make)
    }

    @Test("one is made at a time, and the next an interval after it was")
    func oneAtATime() {
        var machine = Self.machine()
        #expect(machine.bytesCame(5000, now: Self.after(300)) == .make)
        #expect(machine.bytesCame(90_000, now: Self.after(310)) == .nothing)
        #expect(machine.timeCame(now: Self.after(500)) == .nothing)
        #expect(machine.made(isFinal: false, now: Self.after(600)) == .wake(Self.after(800)))
        #expect(machine.timeCame(now: Self.after(800)) == .make)
    }

    @Test("none is made of too few bytes, and none of hardly more than the last had")
    func worthwhile() {
        var machine = Self.machine()
        #expect(machine.bytesCame(1023, now: Self.after(300)) == .nothing)
        #expect(machine.bytesCame(8000, now: Self.after(310)) == .make)
        #expect(machine.made(isFinal: false, now: Self.after(320)) == .nothing)
        #expect(machine.bytesCame(9000, now: Self.after(900)) == .nothing)
        #expect(machine.bytesCame(9001, now: Self.after(901)) == .make)
    }

    @Test("what has no place is tried again later, however short the interval is")
    func refused() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesCame(5000, now: Self.after(0)) == .make)
        #expect(machine.refused(now: Self.after(1)) == .wake(Self.after(51)))
        #expect(machine.timeCame(now: Self.after(51)) == .make)
    }

    @Test("none follows the last that can be, or the end")
    func ended() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesCame(5000, now: Self.after(0)) == .make)
        #expect(machine.made(isFinal: true, now: Self.after(1)) == .nothing)
        #expect(machine.isEnded)
        #expect(machine.bytesCame(50_000, now: Self.after(2)) == .nothing)
        var other = Self.machine()
        #expect(other.bytesCame(5000, now: Self.after(0)) == .wake(Self.after(200)))
        other.ended()
        #expect(other.timeCame(now: Self.after(200)) == .nothing)
        #expect(other.made(isFinal: false, now: Self.after(300)) == .nothing)
    }

    @Test("a body that begins anew is shown from its beginning")
    func beganAnew() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesCame(50_000, now: Self.after(0)) == .make)
        #expect(machine.made(isFinal: false, now: Self.after(1)) == .nothing)
        machine.beganAnew()
        #expect(machine.bytesCame(2000, now: Self.after(2)) == .make)
    }
}
