import FoundationEssentials
import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The page of `--report` as bytes. `make test-report` tests its behaviour in a browser, on the pages that this suite
/// writes to the folder that `INFLIGHT_REPORT_PAGES` names.
@Suite(.timeLimit(.minutes(10)))
struct RunReportPageTests {
    private static let opening = Array("<script type=\"application/json\" id=\"run\">".utf8)

    /// Writes a page and its expected content for the browser test.
    private func keep(_ name: String, _ record: RunRecord, _ html: [UInt8]) {
        guard let folder = unsafe getenv("INFLIGHT_REPORT_PAGES") else { return }
        for (ending, bytes) in [("html", html), ("jsonl", record.lines)] {
            let path = unsafe String(cString: folder) + "/\(name).\(ending)"
            #expect(throws: Never.self) { try AtomicFile(path).finish(bytes) }
        }
    }

    /// Thumbnails of varied images, made as in a run.
    private func thumbnails(_ count: Int) throws -> [[UInt8]] {
        let maker = ThumbnailRenderer(codecs: TestImages.codecs, cancellation: CancellationFlag())
        return try (0..<count).map {
            try #require(maker.thumbnail(of: .pixels(TestImages.noise(64, 40 + $0 % 50, seed: $0))))
        }
    }

    /// The JSON data that is embedded in the page.
    private func data(_ html: [UInt8]) throws -> [UInt8] {
        let start = try #require(html.firstRange(of: Self.opening)).upperBound
        let end = try #require(html[start...].firstRange(of: Array("</script>".utf8))).lowerBound
        return Array(html[start..<end])
    }

    @Test("The page of a full run contains its load count and duration")
    func ordinary() throws {
        let record = RecordFixture.record(loads: 300, thumbnails: try thumbnails(60))
        let html = RunReportPage(record).html
        keep("ordinary", record, html)
        let json = try decoded(data(html))
        #expect(json.totals.loads == 300)
        #expect(json.duration == record.duration)
    }

    @Test(
        "A page of 10,000 loads stays below 3 MB with a full budget of thumbnails",
        .enabled(if: !Sanitizer.isOn, "it is the same again and again, and would take minutes"))
    func tenThousand() throws {
        let pictures = try thumbnails(ThumbnailBudget().pictures)
        var record = RecordFixture.record(loads: 10_000)
        var budget = ThumbnailBudget()
        for (index, load) in record.loads.enumerated() where load.outcome == .ok && budget.takes(decoding: 0) {
            let picture = pictures[(ThumbnailBudget().pictures - budget.pictures - 1) % pictures.count]
            record.loads[index].thumbnail = picture
            budget.made(picture.count)
        }
        let html = RunReportPage(record).html
        keep("many", record, html)
        #expect(html.count < 3_000_000, "\(html.count) bytes")
        let shown = record.loads.filter { $0.thumbnail != nil }.count
        #expect(try decoded(data(html)).thumbnails.count == shown, "there is no room for all small pictures")
        #expect(shown > 500)
    }

    @Test("A page with too many thumbnails keeps those of the first loads")
    func crowded() throws {
        var record = RecordFixture.record(loads: 40)
        for index in record.loads.indices {
            record.loads[index].thumbnail = [0xFF, 0xD8, 0xFF, UInt8(index)] + [UInt8](repeating: 7, count: 300_000)
        }
        let html = RunReportPage(record).html
        #expect(html.count < RunReportPage.mostBytesWithPictures)
        let shown = try decoded(data(html)).thumbnails
        #expect(shown.loadsOf == [0, 1, 2, 3, 4, 5])
    }

    @Test("A thumbnail that many loads share is in the page once")
    func once() throws {
        var record = RecordFixture.record(loads: 40)
        let two = try thumbnails(2)
        for index in record.loads.indices { record.loads[index].thumbnail = two[index % 2] }
        let shown = try decoded(data(RunReportPage(record).html)).thumbnails
        #expect(shown.pictures == two.map { "data:image/webp;base64,\(Base64.encoded($0))" })
        #expect(shown.loadsOf == Array(0..<40))
        #expect(shown.numbersOf == (0..<40).map { $0 % 2 })
    }

    @Test("Malicious text from servers and lists cannot break out of the page data")
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
        // Only real images become thumbnails.
        #expect(json.thumbnails.loadsOf == [3])
        #expect(json.thumbnails.pictures.allSatisfy { $0.hasPrefix("data:image/webp;base64,") })
    }

    @Test("A run without requests still becomes a page")
    func empty() throws {
        let record = RunRecord(command: "inflight get", startedAt: "2026-03-14T15:09:26.535Z", duration: 0)
        let html = RunReportPage(record).html
        keep("empty", record, html)
        let json = try decoded(data(html))
        #expect(json.totals.loads == 0 && json.duration == 0)
        #expect(json.loads["outcome"]?.isEmpty == true && json.texts.rests.count <= 1)
        #expect(json.thumbnails.count == 0 && html.suffix(8).elementsEqual("</html>\n".utf8))
    }

    @Test("Totals include the loads that are not listed")
    func beyondTheList() throws {
        var record = RecordFixture.record(loads: 50)
        let listed = RecordTotals(record)
        for load in RecordFixture.record(loads: 70).loads { record.unlisted.add(load) }
        keep("long", record, RunReportPage(record).html)
        let json = try decoded(data(RunReportPage(record).html))
        #expect(json.totals.loads == 120)
        #expect(json.totals.outcomes["ok"]! > listed.outcomes[.ok]!)
        #expect(json.totals.outcomes.values.reduce(0, +) == 120)
        #expect(json.loads["outcome"]?.utf8.count == 50)
    }

    @Test(
        "Number columns are encoded as the page decodes them",
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

    @Test("Thinned samples keep the last, the peak and the total")
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

    @Test("Fixture histograms have nearest-rank percentiles, and their ranges hold every value")
    func histogram() {
        let histogram = RunRecord.Histogram(name: "x", unit: "us", of: Array((1...1000).reversed()))
        #expect([histogram.p50, histogram.p90, histogram.p95, histogram.p99] == [500, 900, 950, 990])
        #expect(histogram.buckets.map(\.count).reduce(0, +) == 1000)
        #expect(histogram.buckets.map(\.upper) == histogram.buckets.map(\.upper).sorted())
        #expect(RunRecord.Histogram(name: "x", unit: "us", of: []).buckets.isEmpty)
        #expect(RunRecord.Histogram(name: "x", unit: "us", of: [0, 0, 7]).p99 == 7)
    }

    @Test(
        "A URL, valid or malformed, is shown without user name and password, otherwise unchanged",
        arguments: [
            ("http://me:word@a.example/x", "http://a.example/x"),
            ("HTTP://me:word@A.example/x y", "HTTP://A.example/x y"),
            ("me:word@a.example/x", "a.example/x"), ("//me:word@a.example/x", "//a.example/x"),
            ("http//me:word@a.example/x", "http//a.example/x"), ("http://me:w/rd@a.example/x", "http://a.example/x"),
            ("http://me:w@rd@[bad/x", "http://[bad/x"), ("ftp://me:word@a.example/", "ftp://a.example/"),
            ("--proxy=http://me:word@a.example", "--proxy=http://a.example"),
            ("http://a.example:80/x@y", "http://a.example:80/x@y"), ("logo@2x.png", "logo@2x.png"),
            ("data:text/plain,a:b@c", "data:text/plain,a:b@c"),
            ("http://a.example/?q=//u:p@h", "http://a.example/?q=//u:p@h"),
        ])
    func withoutUser(_ text: String, _ shown: String) {
        #expect(RedactedText.withoutUser(text) == shown)
    }

    @Test("A displayed command omits its secrets and is quoted for a shell")
    func command() {
        let shown = RedactedText.text([
            "get", "https://me:word@example.org/a?b=c", "https://me:word@a.example/x y", "https://me:word@a.example/1",
            "--header", "Cookie: secret", "--header-for", "example.org", "X-Key: secret",
            "--header=Authorization: secret", "http://me:word@[bad/x", "-o", "it's here",
        ])
        #expect(
            shown == "inflight get 'https://example.org/a?b=c' 'https://a.example/x y' https://a.example/1 "
                + "--header 'Cookie: …' --header-for example.org 'X-Key: …' '--header=Authorization: …' "
                + #"'http://[bad/x' -o 'it'\''s here'"#)
    }

    @Test(
        "Timestamps are correct for leap years and for dates before 1970",
        arguments: [
            (0.0, "1970-01-01T00:00:00.000Z"), (951_782_400.5, "2000-02-29T00:00:00.500Z"),
            (1_772_323_199.999, "2026-02-28T23:59:59.999Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-0.5, "1969-12-31T23:59:59.500Z"),
        ])
    func dates(_ seconds: Double, _ text: String) {
        #expect(Timestamp.text(secondsSince1970: seconds, fractions: true) == text)
    }
}

/// The parts of a page's data that the tests read.
private struct PageData: Decodable {
    struct Totals: Decodable {
        var loads: Int
        var outcomes: [String: Int]
    }

    struct Thumbnails: Decodable {
        var loads: String
        var numbers: String
        var pictures: [String]

        var count: Int { numbersOfColumn(loads).count }
        /// The indices of the loads that have a thumbnail; `numbersOf` has the indices of these thumbnails.
        var loadsOf: [Int] { sums(loads) }
        var numbersOf: [Int] { sums(numbers) }

        private func sums(_ column: String) -> [Int] {
            var sum = 0
            return numbersOfColumn(column).map {
                sum += $0
                return sum
            }
        }
    }

    struct Texts: Decodable {
        var back: String
        var shared: String
        var rests: [String]

        /// Every text in full, rebuilt from shared prefixes.
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

/// The numbers of a column, decoded as the page decodes them.
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
