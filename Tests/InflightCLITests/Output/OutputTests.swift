import FoundationEssentials
import InflightCore
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct QuantityTests {
    @Test(
        "Byte counts are rounded and use the unit that fits",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"), (999_499, "999 kB"),
            (999_500, "1.0 MB"), (12_345_678, "12 MB"), (Int64.max, "9223 PB"),
        ] as [(Int64, String)])
    func bytes(_ count: Int64, _ expected: String) {
        #expect(Quantity.bytes(count) == expected)
    }

    @Test(
        "Durations use the units that fit",
        arguments: [
            (0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (59_900, "60 s"), (60_000, "1 min"), (200_000, "3 min 20 s"),
            (3_600_000, "1 h"), (7_500_000, "2 h 5 min"), (864_000_000, "10 days"),
        ] as [(Int64, String)])
    func times(_ milliseconds: Int64, _ expected: String) {
        #expect(Quantity.time(.milliseconds(milliseconds)) == expected)
    }

    @Test("Numbers are grouped by thousands")
    func grouping() {
        #expect(Quantity.grouped(1_234_567) == "1,234,567")
        #expect(Quantity.grouped(-1000) == "-1,000")
        #expect(Quantity.grouped(100) == "100")
    }
}

@Suite(.timeLimit(.minutes(10)))
struct JSONWriterTests {
    @Test("A JSON line decodes to its values and contains no unsafe terminal characters")
    func roundTrip() throws {
        struct Line: Decodable, Equatable {
            struct Inner: Decodable, Equatable { var code: String }
            var text: String
            var number: Int
            var flag: Bool
            var error: Inner
        }
        let nasty =
            (0..<0x250).compactMap { Unicode.Scalar(UInt32($0)) }.map(String.init).joined()
            + "\u{2028}\u{202E}🐈\u{E0041}"
        var writer = JSONWriter()
        writer.add("text", nasty)
        writer.add("number", -5)
        writer.add("flag", true)
        writer.add("error") { $0.add("code", "x") }
        let line = writer.line
        #expect(line.last == UInt8(ascii: "\n"))
        let decoded = try JSONDecoder().decode(Line.self, from: Data(line))
        #expect(decoded == Line(text: nasty, number: -5, flag: true, error: .init(code: "x")))
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        #expect(!text.unicodeScalars.contains(where: TerminalText.isUnsafe))
    }

    @Test("JSON for files escapes what JSON requires, and nothing else")
    func required() {
        var writer = JSONWriter(.required)
        writer.add("text", "\u{1}\t\"\\\u{7F}\u{2028}é")
        writer.add("absent", orNull: String?.none)
        #expect(
            String(decoding: writer.object, as: UTF8.self)
                == #"{"text":"\u0001\t\"\\"# + "\u{7F}\u{2028}é" + #"","absent":null}"#)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct TerminalTextTests {
    @Test("Terminal control characters are escaped")
    func safety() {
        #expect(TerminalText.safe("a\u{1B}[31mb\u{9B}c\r\n\u{202E}d") == "a\\u{1b}[31mb\\u{9b}c\\u{d}\\u{a}\\u{202e}d")
        #expect(TerminalText.safe("kätzchen 猫") == "kätzchen 猫")
    }

    @Test("Text is shortened in its middle, by display columns rather than characters")
    func shortening() {
        #expect(TerminalText.shortened("https://example.org/pictures/cat.jpg", to: 21) == "https://ex…es/cat.jpg")
        #expect(TerminalText.width("猫a") == 3)
        for columns in 0..<12 { #expect(TerminalText.width(TerminalText.shortened("猫猫猫猫猫猫", to: columns)) <= columns) }
    }

    @Test("Lines wrap at spaces, and a long word stays whole")
    func wrapping() {
        #expect(TerminalText.wrapped("one two three", columns: 7) == ["one two", "three"])
        #expect(TerminalText.wrapped("a http://long/word b", columns: 5) == ["a", "http://long/word", "b"])
    }
}

@Suite(.timeLimit(.minutes(10)))
struct OrderedLinesTests {
    @Test("Lines are emitted in request order, as early as that order allows")
    func order() {
        var lines = OrderedLines()
        for _ in 0..<4 { _ = lines.opened() }
        #expect(lines.closed(1, [1]) == [])
        #expect(lines.closed(3, [3]) == [])
        #expect(lines.waitingBytes == 2)
        #expect(lines.closed(0, [0]) == [[0], [1]])
        #expect(lines.opened() == 4)
        #expect(lines.closed(2, [2]) == [[2], [3]])
        #expect(lines.count == 1 && lines.waitingBytes == 0)
        #expect(lines.closed(4, [4]) == [[4]])
    }

    @Test("An early end emits the finished lines and drops the unfinished ones")
    func earlyEnd() {
        var lines = OrderedLines()
        for _ in 0..<3 { _ = lines.opened() }
        _ = lines.closed(2, [2])
        #expect(lines.remaining() == [[2]])
        #expect(lines.count == 0)
        #expect(lines.opened() == 3)
    }

    @Test("Emitted lines are released")
    func room() {
        var lines = OrderedLines()
        for number in 0..<10_000 {
            #expect(lines.opened() == number)
            if number >= 10 { #expect(lines.closed(number - 10, [1]).count == 1) }
        }
        #expect(lines.count == 10)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct ReportTests {
    @Test("A report digest survives encoding and yields the same line with a new source")
    func digest() throws {
        var report = Report(
            outcome: .ok, file: "out/a.png", picture: .init(format: .png, width: 3, height: 2),
            source: .init(format: .jpeg, width: 6, height: 4), bytes: 10, wireBytes: 9, status: 200, from: .network)
        let digest = report.digest(withMembers: true)
        #expect(Report.Digest(encoded: digest.encoded) == digest)
        let line = String(decoding: digest.line(url: "http://a", from: "shared", milliseconds: 5), as: UTF8.self)
        #expect(
            line == """
                {"url":"http://a","outcome":"ok","file":"out/a.png","format":"png","width":3,"height":2,"bytes":10,\
                "wireBytes":9,"status":200,"sourceFormat":"jpeg","sourceWidth":6,"sourceHeight":4,"from":"shared","ms":5}

                """)
        report = .failure(LoadError(.badStatus, stage: .fetch, message: "No.", status: 404))
        let failed = report.digest(withMembers: true)
        #expect(Report.Digest(encoded: failed.encoded) == failed)
        #expect(failed.failure == .init(code: "badStatus", status: 404))
        #expect(Report.Digest(encoded: [0, 0, 0]) == nil)
        #expect(Report.Digest(encoded: [0, 0, 0, 0, 9]) == nil)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct ProgressLineTests {
    private let state = ProgressLine.State(
        done: 37, failed: 2, requested: 60, isOpen: false, bytes: 12_000_000, elapsed: .seconds(4))

    @Test("The progress line fits the terminal width", arguments: [10, 20, 39, 40, 60, 79, 200])
    func width(_ columns: Int) {
        var line = ProgressLine()
        let text = line.text(state, columns: columns)
        #expect(text.count <= columns, "\(text)")
        #expect(text.contains("37 of 60"))
    }

    @Test("A wide progress line shows counts, bytes, rate and time left")
    func parts() {
        var line = ProgressLine()
        let text = line.text(state, columns: 100)
        #expect(text.hasSuffix("] 37 of 60  2 failed  12 MB  3.0 MB/s  2.0 s left"))
        #expect(text.hasPrefix("[##############----------]"))
    }

    @Test("The progress line of an open list shows no bar and no time left")
    func open() {
        var line = ProgressLine()
        var open = state
        open.isOpen = true
        #expect(line.text(open, columns: 100) == "37 of 60+  2 failed  12 MB  3.0 MB/s")
    }
}

@Suite(.timeLimit(.minutes(10)))
struct SummaryTests {
    private var totals: RunTotals {
        var totals = RunTotals()
        totals.requested = 180
        totals.ok = 175
        totals.failed = 5
        totals.shared = 120
        totals.requests = 61
        totals.receivedBytes = 12_000_000
        totals.storedFiles = 57
        totals.storedBytes = 3_400_000
        totals.note(.init(code: "damaged\u{1B}"))
        for _ in 0..<4 { totals.note(.init(code: "badStatus", status: 404)) }
        return totals
    }

    @Test("The summary shows what was requested, transferred and stored, and groups failures")
    func contents() {
        let text = Summary(totals: totals, elapsed: .seconds(2), directory: "out").lines(columns: 80, style: .plain)
            .joined(separator: "\n")
        for part in [
            "175 of 180 images stored, 5 failed, in 2.0 s", "60 unique", "requests sent", "61", "120", "12 MB",
            "6.0 MB/s", "57 files in out", "Failures: 4 × http_404, 1 × damaged",
        ] {
            #expect(text.contains(part), "\(part) in:\n\(text)")
        }
        #expect(!text.unicodeScalars.contains { TerminalText.isUnsafe($0) && $0 != "\n" })
        let line = Summary(totals: totals, elapsed: .seconds(2), directory: "out").line
        #expect(line.hasPrefix("175 of 180 images stored, 5 failed, in 2.0 s (requests sent 61, coalesced 120, "))
        #expect(line.hasSuffix(").") && !line.contains("\n"))
    }

    @Test("The summary fits the terminal width", arguments: [40, 60, 80])
    func width(_ columns: Int) {
        let lines = Summary(totals: totals, elapsed: .seconds(2), directory: "out").lines(
            columns: columns, style: .plain)
        for line in lines { #expect(TerminalText.width(line) <= columns, "\(line)") }
    }

    @Test("At most 40 kinds of failures are kept, and the others are only counted")
    func groups() {
        var totals = RunTotals()
        for status in 0..<10_000 {
            totals.note(.init(code: "badStatus", status: status))
        }
        #expect(totals.failures.count == 40)
        #expect(totals.ungroupedFailures == 9960)
    }
}
