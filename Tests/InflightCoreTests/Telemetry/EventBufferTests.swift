import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("Event buffer", .timeLimit(.minutes(10)))
struct EventBufferTests {
    private func event(_ time: Int64, _ task: UInt32 = 1) -> ImagePipeline.Event {
        ImagePipeline.Event(time: MonotonicTime(nanoseconds: time), task: task, kind: .coalesced)
    }

    /// The times of the events taken.
    private func times(_ buffer: inout EventBuffer) -> [Int64] {
        buffer.take().events.map(\.time.nanoseconds)
    }

    @Test("The event buffer is delivered again only after the observer has returned and events remain")
    func flush() {
        var buffer = EventBuffer(capacity: 8)
        var said = [buffer.beginDelivery()]
        buffer.append(event(1))
        said.append(buffer.beginDelivery())
        buffer.append(event(2))
        said.append(buffer.beginDelivery())
        var taken = [times(&buffer)]
        buffer.append(event(3))
        said.append(buffer.didReturn())
        taken.append(times(&buffer))
        said.append(buffer.didReturn())
        buffer.append(event(4))
        said.append(buffer.beginDelivery())
        #expect(said == [false, true, false, true, false, true])
        #expect(taken == [[1, 2], [3]])
    }

    @Test("A full event buffer keeps the first events, counts the dropped ones, and recovers when emptied")
    func bound() {
        var buffer = EventBuffer(capacity: 2)
        for number in 1...5 as ClosedRange<UInt32> { buffer.append(event(1, number)) }
        let full = buffer.take()
        buffer.append(event(2, 6))
        let next = buffer.take()
        #expect(full.events.map(\.task) == [1, 2])
        #expect(full.dropped == 3)
        #expect(next.events.map(\.task) == [6])
        #expect(next.dropped == 0)
    }

    @Test("Event times never decrease, except for events reported late")
    func pastTimes() {
        var buffer = EventBuffer(capacity: 8)
        buffer.append(event(5))
        buffer.append(event(3))
        buffer.append(event(1), isPast: true)
        buffer.append(event(4))
        buffer.append(event(6))
        let taken = times(&buffer)
        #expect(taken == [5, 5, 1, 5, 6])
    }

    @Test("After a queue drops a batch, the event buffer is delivered with the next event")
    func dropped() {
        var buffer = EventBuffer(capacity: 8)
        buffer.append(event(1))
        let first = buffer.beginDelivery()
        buffer.wasDropped()
        buffer.append(event(2))
        let second = buffer.beginDelivery()
        let taken = times(&buffer)
        #expect(first && second)
        #expect(taken == [1, 2])
    }
}
