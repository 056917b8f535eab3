import InflightLab
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RecordingTests {
    private func began(_ id: Int, _ track: String, _ label: String, thread: Int = 7, at time: Int64) -> RecordedEvent {
        RecordedEvent(
            time: time, what: .began(id: id, track: track, label: label, kind: .work, thread: thread, nice: 0))
    }

    private func ended(_ id: Int, at time: Int64) -> RecordedEvent { RecordedEvent(time: time, what: .ended(id: id)) }

    @Test("The order of records decides whether spans overlap, even if the clock did not advance")
    func overlap() throws {
        let recording = Recording(events: [
            began(1, "a", "first", at: 5), ended(1, at: 5), began(2, "a", "second", at: 5),
            began(3, "b", "third", at: 5),
            ended(2, at: 5), ended(3, at: 5),
        ])
        let spans = try ["first", "second", "third"].map { try #require(recording.span($0)) }
        #expect(spans[0].precedes(spans[1]) && !spans[0].overlaps(spans[1]))
        #expect(spans[1].overlaps(spans[2]) && spans[2].overlaps(spans[1]))
        #expect(!spans[1].precedes(spans[2]))
        #expect(recording.peakConcurrency(recording.spans) == 2)
        #expect(recording.peakConcurrency(recording.spans(on: "a")) == 1)
    }

    @Test("Times count from the first record, and threads are numbered in order of appearance")
    func numbers() throws {
        let recording = Recording(
            tracks: ["z"],
            events: [
                began(1, "a", "x", thread: 4711, at: 1000), began(2, "b", "y", thread: 42, at: 1500),
                ended(1, at: 2000),
                RecordedEvent(time: 2500, what: .marked(track: "a", label: "m", isTrouble: true, thread: 4711)),
                RecordedEvent(time: 2600, what: .counted(name: "n", value: 3)),
            ])
        #expect(recording.tracks == ["z", "a", "b"])
        #expect(recording.spans.map(\.start) == [0, 500])
        #expect(recording.spans.map(\.end) == [1000, nil])
        #expect(recording.spans.map(\.thread) == [1, 2])
        #expect(recording.marks.map(\.thread) == [1] && recording.marks[0].isTrouble && recording.marks[0].time == 1500)
        #expect(recording.duration == 1600)
        #expect(recording.values == ["n": 3])
        #expect(recording.spans(on: "nowhere").isEmpty)
    }

    @Test("An open span overlaps everything after its start and precedes nothing")
    func openEnd() throws {
        let recording = Recording(events: [
            began(1, "a", "open", at: 0), began(2, "b", "closed", at: 1), ended(2, at: 2), ended(9, at: 3),
        ])
        let (open, closed) = (try #require(recording.span("open")), try #require(recording.span("closed")))
        #expect(open.overlaps(closed) && closed.overlaps(open) && !open.precedes(closed))
        #expect(open.duration(until: recording.duration) == 3)
    }

    @Test("A span of kind .away occupies no thread")
    func away() {
        let recording = Recording(events: [
            RecordedEvent(
                time: 0, what: .began(id: 1, track: "a", label: "x", kind: .away, thread: 1, nice: 0)),
            began(2, "a", "y", thread: 2, at: 1),
        ])
        #expect(recording.threads(recording.spans) == 1)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct RecordedEventTests {
    private static let events: [RecordedEvent] = [
        RecordedEvent(
            time: 12, what: .began(id: 3, track: "main queue", label: "a b", kind: .wait, thread: 99, nice: -2)),
        RecordedEvent(time: 13, what: .ended(id: 3)),
        RecordedEvent(time: .max, what: .marked(track: "t", label: "…", isTrouble: true, thread: 1)),
        RecordedEvent(time: 0, what: .counted(name: "lost", value: -5)),
    ]

    @Test("A record can be read back from its line", arguments: events)
    func roundTrip(_ event: RecordedEvent) throws {
        let line = event.line
        #expect(line.last == "\n" && line.filter(\.isNewline).count == 1)
        #expect(RecordedEvent(line: line.dropLast()) == event)
    }

    @Test("A truncated line is not a record", arguments: events)
    func halfLines(_ event: RecordedEvent) {
        let fields = event.line.dropLast().split(separator: "\t")
        for count in 0..<fields.count {
            let half = fields[..<count].joined(separator: "\t")
            #expect(RecordedEvent(line: half[...]) == nil, "\(half)")
        }
    }

    @Test("Tabs and line breaks in names become spaces")
    func separators() throws {
        let event = RecordedEvent(time: 1, what: .marked(track: "a\tb", label: "c\r\nd\n", isTrouble: false, thread: 1))
        let read = try #require(RecordedEvent(line: event.line.dropLast()))
        #expect(read.what == .marked(track: "a b", label: "c d ", isTrouble: false, thread: 1))
    }

    @Test("A malformed line is not a record", arguments: ["", "x\ty", "1\tbegan\t2", "1\tgone\t2", "9\tended\tx"])
    func strangeLines(_ line: String) {
        #expect(RecordedEvent(line: line[...]) == nil)
    }
}
