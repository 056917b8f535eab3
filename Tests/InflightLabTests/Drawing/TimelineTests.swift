import InflightPrograms
import InflightTestSupport
import Testing

@testable import InflightLab

/// Drawings are pure functions of the recording.
@Suite(.timeLimit(.minutes(10)))
struct TimelineTextTests {
    /// `start` and `end` are in milliseconds.
    private func span(
        _ track: Int, _ label: String, _ start: Int64, _ end: Int64?, order: (Int, Int?), thread: Int = 1,
        kind: Recording.Kind = .work
    ) -> Recording.Span {
        Recording.Span(
            track: track, label: label, kind: kind, start: start * 1_000_000, end: end.map { $0 * 1_000_000 },
            thread: thread, nice: 0, startOrder: order.0, endOrder: order.1)
    }

    private func mark(_ track: Int, _ label: String, _ time: Int64, order: Int, isTrouble: Bool = false)
        -> Recording.Mark
    {
        Recording.Mark(
            track: track, label: label, isTrouble: isTrouble, time: time * 1_000_000, thread: 1, order: order)
    }

    private var recording: Recording {
        var recording = Recording()
        recording.tracks = ["main", "queue", "idle"]
        recording.spans = [
            span(1, "a", 0, 50, order: (0, 4)), span(1, "b", 25, 100, order: (2, 6), thread: 2),
            span(1, "c", 50, 75, order: (5, 7), thread: 3, kind: .wait), span(0, "load", 20, nil, order: (1, nil)),
            span(0, "net", 75, 100, order: (8, 9), kind: .away),
        ]
        recording.marks = [mark(0, "ask", 0, order: 0), mark(0, "bad", 100, order: 10, isTrouble: true)]
        recording.duration = 100_000_000
        return recording
    }

    @Test("Overlapping spans take separate rows, and thread numbers end the rows")
    func rows() {
        let lines = TimelineText(columns: 56, style: .plain).lines(recording)
        #expect(
            lines == [
                "main   ▾ask                                  bad✗",
                "               ┣━load━━━━━━━━━━━━━━━━━━━━━━━━━━━▸ t1",
                "                                       ├─net────┤",
                "queue  ┣━a━━━━━━━━━━━━━━━━━┫├╌c╌╌╌╌╌╌╌┤           t1,3",
                "                  ┣━b━━━━━━━━━━━━━━━━━━━━━━━━━━━┫ t2",
                "idle",
                "       0                    50 ms",
            ], "\(lines.joined(separator: "\n"))")
    }

    @Test("A timeline fits the terminal width, whatever was recorded", arguments: [32, 40, 56, 80, 120, 200])
    func width(_ columns: Int) {
        var random = SeededGenerator(seed: UInt64(columns))
        for _ in 0..<200 {
            let lines = TimelineText(columns: columns, style: .plain).lines(Self.arbitrary(&random))
            for line in lines { #expect(TerminalText.width(line) <= columns, "\(line)") }
        }
    }

    @Test("Colours appear only in styled output and change no characters")
    func colors() {
        let plain = TimelineText(columns: 80, style: .plain).lines(recording)
        let colored = TimelineText(columns: 80, style: Style(isPlain: false)).lines(recording)
        #expect(!plain.joined().contains("\u{1B}"))
        #expect(colored.joined().contains("\u{1B}[31m"))
        // Plain lines drop trailing blanks, which coloured lines may paint.
        let bare = colored.map { $0.replacing(/\u{1B}\[[0-9]*m/, with: "").trimmingEnd() }
        #expect(bare == plain)
    }

    @Test("Every span is visible, however short")
    func shortSpans() {
        var recording = Recording()
        recording.tracks = ["a"]
        recording.spans = (0..<20).map { number in
            var span = span(0, "", 0, 0, order: (number * 2, number * 2 + 1))
            (span.start, span.end) = (Int64(number), Int64(number) + 1)
            return span
        }
        recording.duration = 1_000_000_000
        let row = Canvas(room: 40, duration: recording.duration).spanRow(recording.spans)
        #expect(row.prefix(20).allSatisfy { $0.letter == "┃" } && row[20] == .empty)
    }

    @Test("An empty recording draws nothing")
    func empty() {
        #expect(TimelineText(columns: 80, style: .plain).lines(Recording()) == [])
    }

    @Test("A label that many marks share is shown once")
    func manyMarks() {
        var recording = Recording()
        recording.tracks = ["heart"]
        recording.marks = (0..<9).map { mark(0, "beat", Int64($0) * 10, order: $0) }
        recording.duration = 80_000_000
        let lines = TimelineText(columns: 80, style: .plain).lines(recording)
        #expect(lines[0].filter { $0 == "▾" }.count == 9)
        #expect(lines[0].hasSuffix(" beat"))
    }

    @Test(
        "The time axis has more than one tick, all at round values",
        arguments: [
            (100_000_000, ["0", "20", "40", "60", "80", "100"]), (1_100_000, ["0", "0.5", "1.0"]),
            (7_000_000_000, ["0", "2000", "4000", "6000"]), (40_000, ["0", "0.01", "0.02", "0.03", "0.04"]),
        ] as [(Int64, [String])])
    func ticks(_ duration: Int64, _ expected: [String]) {
        let ticks = TimelineRows.ticks(duration, most: 6)
        #expect(ticks.map(\.text) == expected)
        #expect(ticks.allSatisfy { (0...duration).contains($0.time) })
    }

    @Test("Rows never hold overlapping spans, and no span is lost")
    func packing() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<200 {
            let spans = Self.arbitrary(&random).spans
            let rows = TimelineRows.rows(spans)
            #expect(rows.reduce(0) { $0 + $1.count } == spans.count)
            for row in rows {
                for (left, right) in zip(row, row.dropFirst()) { #expect(left.precedes(right)) }
            }
        }
    }

    /// A random recording whose events occur in a possible order.
    static func arbitrary(_ random: inout SeededGenerator) -> Recording {
        var events: [RecordedEvent] = []
        var (time, open): (Int64, [Int]) = (0, [])
        for id in 0..<Int.random(in: 1...40, using: &random) {
            time += Int64.random(in: 0...3_000_000, using: &random)
            let track = "track \(String(repeating: "x", count: Int.random(in: 0...30, using: &random)))"
            switch Int.random(in: 0...3, using: &random) {
            case 0:
                events.append(
                    RecordedEvent(
                        time: time,
                        what: .marked(track: track, label: "mark \(id)", isTrouble: id % 2 == 0, thread: id % 5)))
            case 1 where !open.isEmpty:
                let ended = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                events.append(RecordedEvent(time: time, what: .ended(id: ended)))
            default:
                open.append(id)
                let kind = [Recording.Kind.work, .wait, .away][id % 3]
                events.append(
                    RecordedEvent(
                        time: time,
                        what: .began(id: id, track: track, label: "work \(id)", kind: kind, thread: id % 7, nice: 0)))
            }
        }
        return Recording(events: events)
    }
}
