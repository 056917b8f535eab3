import FoundationEssentials
import Glibc
import Inflight
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The page of `--report` as bytes; how it behaves in a browser is tested by `make test-report`, on the pages that are
/// written here where `INFLIGHT_REPORT_PAGES` names a folder.
@Suite(.timeLimit(.minutes(10)))
struct RunReportPageTests {
    private static let opening = Array("<script type=\"application/json\" id=\"run\">".utf8)

    /// Keeps a page, and what it has to say, for the test in the browser.
    private func keep(_ name: String, _ record: RunRecord, _ html: [UInt8]) {
        guard let folder = unsafe getenv("INFLIGHT_REPORT_PAGES") else { return }
        for (ending, bytes) in [("html", html), ("jsonl", record.lines)] {
            let path = unsafe String(cString: folder) + "/\(name).\(ending)"
            #expect(throws: Never.self) { try WholeFile(path).finish(bytes) }
        }
    }

    private func thumbnails() throws -> [[UInt8]] {
        try (0..<8).map { try Pictures.make($0 % 2 == 0 ? .jpeg : .png, 48, 28 + $0).array }
    }

    /// What stands in the page as data.
    private func data(_ html: [UInt8]) throws -> [UInt8] {
        let start = try #require(html.firstRange(of: Self.opening)).upperBound
        let end = try #require(html[start...].firstRange(of: Array("</script>".utf8))).lowerBound
        return Array(html[start..<end])
    }

    @Test("A run with everything there is to see becomes a page")
    func ordinary() throws {
        let record = RecordFixture.record(loads: 300, thumbnails: try thumbnails())
        let html = RunReportPage(record).html
        keep("ordinary", record, html)
        let json = try decoded(data(html))
        #expect(json.totals.loads == 300)
        #expect(json.duration == record.duration)
    }

    @Test(
        "A page of ten thousand loads is below 3 MB, with as many pictures as there is room for",
        .enabled(if: !Sanitizer.isOn, "it is the same again and again, and would take minutes"))
    func tenThousand() throws {
        let record = RecordFixture.record(loads: 10_000, thumbnails: try thumbnails())
        let html = RunReportPage(record).html
        keep("many", record, html)
        #expect(html.count < 3_000_000, "\(html.count) bytes")
        #expect(html.count > 2_500_000, "room for pictures is left: \(html.count) bytes")
    }

    @Test("Nothing that a server or a list says ends the data, or is not text")
    func hostile() throws {
        let record = RunRecord.hostile
        let html = RunReportPage(record).html
        keep("hostile", record, html)
        let data = try data(html)
        #expect(!data.contains(UInt8(ascii: "<")))
        #expect(!data.contains { $0 < 0x20 && $0 != 0x0A })
        let json = try decoded(data)
        #expect(
            json.texts.whole.contains("https://example.org/</script><img src=x onerror=\"document.title='owned'\">"))
        #expect(json.texts.whole.contains { $0.hasSuffix("more characters") })
        // What is no picture is not called one.
        #expect(json.thumbnails.pictures.isEmpty)
    }

    @Test("A run in which nothing was asked for becomes a page too")
    func empty() {
        let record = RunRecord(command: "inflight get", startedAt: "2026-03-14T15:09:26.535Z", duration: 0)
        keep("empty", record, RunReportPage(record).html)
    }

    @Test("Beyond what is listed, totals are still those of all, and the page says what is left out")
    func beyondTheList() throws {
        var record = RunRecord(command: "inflight get", startedAt: "2026-03-14T15:09:26.535Z", duration: 1)
        let load = RunRecord.Load(id: 1, url: "data:,", outcome: .failed, start: 0, end: 1)
        record.loads = Array(repeating: load, count: RunReportPage.mostLoads + 3)
        let json = try decoded(data(RunReportPage(record).html))
        #expect(json.totals.loads == RunReportPage.mostLoads + 3)
        #expect(json.totals.outcomes["failed"] == RunReportPage.mostLoads + 3)
        #expect(json.loads["id"]?.utf8.count == RunReportPage.mostLoads)
    }

    @Test(
        "Numbers are written as their readers have them",
        arguments: [
            ([0], "A"), ([1], "C"), ([-1], "B"), ([15], "e"), ([16], "gB"), ([-16], "f"), ([-17], "hB"),
            ([1 << 51], "ggggggggggE"), ([5, -5], "KJ"),
        ])
    func columns(_ numbers: [Int], _ text: String) {
        var column = NumberColumn()
        for number in numbers { column.append(number) }
        #expect(String(decoding: column.bytes, as: UTF8.self) == text)
        #expect(numbersOfColumn(text) == numbers)
    }

    @Test("Fewer samples keep the last, the busiest, and all that came")
    func thinning() {
        let lane = (0..<10_000).map { RunRecord.Lane.Sample(at: $0 * 7, running: $0 == 5_555 ? 99 : 1, waiting: 0) }
        let thinned = Thinning.lane(lane, to: 400)
        #expect(thinned.count <= 400)
        #expect(thinned.contains { $0.running == 99 })
        #expect(thinned.last?.at == lane.last?.at)
        let bytes = (1...10_000).map { RunRecord.BytesSample(at: $0 * 3, bytes: Int64($0) * 10) }
        let fewer = Thinning.bytes(bytes, to: 400)
        #expect(fewer.count <= 400)
        #expect(fewer.last?.bytes == 100_000)
        #expect(Thinning.bytes(fewer, to: 400).count == fewer.count)
    }

    @Test("Percentiles are values that occurred, and every value falls into one range")
    func histogram() {
        let histogram = RunRecord.Histogram(name: "x", unit: "us", of: Array((1...1000).reversed()))
        #expect([histogram.p50, histogram.p90, histogram.p95, histogram.p99] == [500, 900, 950, 990])
        #expect(histogram.buckets.map(\.count).reduce(0, +) == 1000)
        #expect(histogram.buckets.map(\.upper) == histogram.buckets.map(\.upper).sorted())
        #expect(RunRecord.Histogram(name: "x", unit: "us", of: []).buckets.isEmpty)
        #expect(RunRecord.Histogram(name: "x", unit: "us", of: [0, 0, 7]).p99 == 7)
    }

    @Test("A command is shown without its secrets, and can be typed again")
    func command() {
        let shown = ShownCommand.text([
            "get", "https://me:word@example.org/a?b=c", "--header", "Cookie: secret", "--header-for", "example.org",
            "X-Key: secret", "--header=Authorization: secret", "http://me:word@[bad/x", "-o", "it's here",
        ])
        #expect(!shown.contains("secret") && !shown.contains("word"))
        #expect(shown.contains("'https://example.org/a?b=c'") && shown.contains("--header 'Cookie: …'"))
        #expect(shown.hasSuffix(#"-o 'it'\''s here'"#))
    }

    @Test(
        "Dates are those of the calendar",
        arguments: [
            (0.0, "1970-01-01T00:00:00.000Z"), (951_782_400.5, "2000-02-29T00:00:00.500Z"),
            (1_772_323_199.999, "2026-02-28T23:59:59.999Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-0.5, "1969-12-31T23:59:59.500Z"),
        ])
    func dates(_ seconds: Double, _ text: String) {
        #expect(Timestamp.text(secondsSince1970: seconds) == text)
    }
}

/// What is looked at of a page's data.
private struct PageData: Decodable {
    struct Totals: Decodable {
        var loads: Int
        var outcomes: [String: Int]
    }

    struct Thumbnails: Decodable {
        var pictures: [String]
    }

    struct Texts: Decodable {
        var back: String
        var shared: String
        var rests: [String]

        /// Every text as it was.
        var whole: [String] {
            var result: [String] = []
            for (rest, (back, shared)) in zip(rests, zip(numbersOfColumn(back), numbersOfColumn(shared))) {
                result.append(shared == 0 ? rest : String(result[result.count - back].prefix(shared)) + rest)
            }
            return result
        }
    }

    var totals: Totals
    var duration: Int
    var loads: [String: String]
    var texts: Texts
    var thumbnails: Thumbnails
}

/// What a column holds, read as the page reads it.
private func numbersOfColumn(_ column: String) -> [Int] {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var (result, value, shift) = ([Int](), 0, 0)
    for character in column {
        let digit = digits.firstIndex(of: character) ?? 0
        value |= (digit & 31) << shift
        shift += 5
        if digit < 32 {
            result.append(value & 1 == 0 ? value >> 1 : -(value >> 1) - 1)
            (value, shift) = (0, 0)
        }
    }
    return result
}

private func decoded(_ bytes: [UInt8]) throws -> PageData {
    try JSONDecoder().decode(PageData.self, from: Data(bytes))
}
