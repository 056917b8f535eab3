import InflightConcurrency
import InflightContract
import InflightCore
import Testing

@Suite("Event model", .timeLimit(.minutes(10)))
struct EventModelTests {
    private static let good: [(UInt32?, UInt64?, ImagePipeline.Event.Kind)] = [
        (1, nil, .requested(url: "u")), (nil, 7, .created(.fetch, subject: "u", after: nil)), (1, 7, .subscribed),
        (nil, 7, .queued(.fetch)), (nil, 7, .started(.fetch)),
        (nil, 7, .sent(method: "GET", url: "u", resumesAt: 0)), (nil, 7, .responded(status: 200)),
        (nil, 7, .exchangeEnded(wireBytes: 1)), (nil, 7, .succeeded), (1, nil, .finished(.success(.network))),
        (1, nil, .delivered),
    ]

    private func problem(_ events: [(UInt32?, UInt64?, ImagePipeline.Event.Kind)]) -> String? {
        var model = EventModel()
        for (time, event) in events.enumerated() {
            model.observe(
                ImagePipeline.Event(
                    time: MonotonicTime(nanoseconds: Int64(time)), task: event.0, job: event.1, kind: event.2))
        }
        return model.atEnd
    }

    @Test("A complete load is valid, and leaving out a required event is a violation")
    func leftOut() {
        #expect(problem(Self.good) == nil)
        // Three events are optional: a load's subscription to its job, the head of a response, and the end of an
        // exchange whose job has ended already.
        for index in Self.good.indices where ![2, 6, 7].contains(index) {
            var events = Self.good
            events.remove(at: index)
            #expect(problem(events) != nil, "without event \(index)")
        }
    }

    @Test("An event that occurs twice or after the end is a violation")
    func twice() {
        for index in Self.good.indices where index != 6 && index != 2 {
            var events = Self.good
            events.insert(events[index], at: index + 1)
            #expect(problem(events) != nil, "twice event \(index)")
        }
        #expect(problem(Self.good + [(1, nil, .cancelled)]) != nil)
        #expect(problem(Self.good + [(nil, 7, .queued(.fetch))]) != nil)
        #expect(problem(Self.good + [(2, nil, .requested(url: "u")), (2, 7, .subscribed)]) != nil)
    }
}
