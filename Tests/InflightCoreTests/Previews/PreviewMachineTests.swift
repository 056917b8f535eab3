import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("Previews: state machine", .timeLimit(.minutes(10)))
struct PreviewMachineTests {
    private static let start = MonotonicTime(nanoseconds: 1000)

    private static func after(_ milliseconds: Int) -> MonotonicTime { start + .milliseconds(milliseconds) }

    private static func machine(interval: Int = 200, least: Int64 = 1024) -> PreviewMachine {
        var options = ImageRequest.PreviewOptions(interval: .milliseconds(interval))
        options.minimumBytes = least
        return PreviewMachine(options, now: start)
    }

    @Test("The first preview is made one interval after the start, even if the body has stalled")
    func firstWaits() {
        var machine = Self.machine()
        #expect(machine.bytesReceived(5000, now: Self.after(10)) == .wake(Self.after(200)))
        #expect(machine.bytesReceived(9000, now: Self.after(20)) == .nothing)
        #expect(machine.timerFired(now: Self.after(200)) == .make)
    }

    @Test("Previews are made one at a time, each an interval after the previous one")
    func oneAtATime() {
        var machine = Self.machine()
        #expect(machine.bytesReceived(5000, now: Self.after(300)) == .make)
        #expect(machine.bytesReceived(90_000, now: Self.after(310)) == .nothing)
        #expect(machine.timerFired(now: Self.after(500)) == .nothing)
        #expect(machine.made(isFinal: false, now: Self.after(600)) == .wake(Self.after(800)))
        #expect(machine.timerFired(now: Self.after(800)) == .make)
    }

    @Test("A preview requires a minimum number of bytes, and enough new bytes since the last one")
    func worthwhile() {
        var machine = Self.machine()
        #expect(machine.bytesReceived(1023, now: Self.after(300)) == .nothing)
        #expect(machine.bytesReceived(8000, now: Self.after(310)) == .make)
        #expect(machine.made(isFinal: false, now: Self.after(320)) == .nothing)
        #expect(machine.bytesReceived(9000, now: Self.after(900)) == .nothing)
        #expect(machine.bytesReceived(9001, now: Self.after(901)) == .make)
    }

    @Test("A refused preview is attempted again after 50 ms, even if the interval is zero")
    func refused() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesReceived(5000, now: Self.after(0)) == .make)
        #expect(machine.refused(now: Self.after(1)) == .wake(Self.after(51)))
        #expect(machine.timerFired(now: Self.after(51)) == .make)
    }

    @Test("No preview follows the final one or the end of the load")
    func ended() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesReceived(5000, now: Self.after(0)) == .make)
        #expect(machine.made(isFinal: true, now: Self.after(1)) == .nothing)
        #expect(machine.isEnded)
        #expect(machine.bytesReceived(50_000, now: Self.after(2)) == .nothing)
        var other = Self.machine()
        #expect(other.bytesReceived(5000, now: Self.after(0)) == .wake(Self.after(200)))
        other.ended()
        #expect(other.timerFired(now: Self.after(200)) == .nothing)
        #expect(other.made(isFinal: false, now: Self.after(300)) == .nothing)
    }

    @Test("A restarted body is previewed from its beginning")
    func restarted() {
        var machine = Self.machine(interval: 0)
        #expect(machine.bytesReceived(50_000, now: Self.after(0)) == .make)
        #expect(machine.made(isFinal: false, now: Self.after(1)) == .nothing)
        machine.restarted()
        #expect(machine.bytesReceived(2000, now: Self.after(2)) == .make)
    }
}
