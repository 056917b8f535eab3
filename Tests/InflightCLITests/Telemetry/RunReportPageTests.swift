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
        let json = try decoded(data(html))
        #expect(json.thumbnails.map(\.loads.count).reduce(0, +) == shown, "there is no room for all small pictures")
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
        #expect(try decoded(data(html)).thumbnails.map(\.loads) == [[0], [1], [2], [3], [4], [5]])
    }

    @Test("A thumbnail that many loads share is in the page once")
    func once() throws {
        var record = RecordFixture.record(loads: 40)
        let two = try thumbnails(2)
        for index in record.loads.indices { record.loads[index].thumbnail = two[index % 2] }
        let shown = try decoded(data(RunReportPage(record).html)).thumbnails
        #expect(shown.map(\.image) == two.map { "data:image/webp;base64,\(Base64.encoded($0))" })
        #expect(shown.map(\.loads) == [Array(stride(from: 0, to: 40, by: 2)), Array(stride(from: 1, to: 40, by: 2))])
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
        #expect(json.loads[0].url == "https://example.org/</script><img src=x onerror=\"document.title='owned'\">")
        #expect(json.loads.contains { $0.error?.message.hasSuffix("more characters") == true })
        // Only real images become thumbnails.
        #expect(json.thumbnails.map(\.loads) == [[3]])
        #expect(json.thumbnails.allSatisfy { $0.image.hasPrefix("data:image/webp;base64,") })
    }

    @Test("A run without requests still becomes a page")
    func empty() throws {
        let record = RunRecord(command: "inflight get", startedAt: "2026-03-14T15:09:26.535Z", duration: 0)
        let html = RunReportPage(record).html
        keep("empty", record, html)
        let json = try decoded(data(html))
        #expect(json.totals.loads == 0 && json.duration == 0)
        #expect(json.loads.isEmpty && json.timeline.parts.isEmpty)
        #expect(json.thumbnails.isEmpty && html.suffix(8).elementsEqual("</html>\n".utf8))
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
        #expect(json.loads.count == 50)
    }

    @Test(
        "A page of 10,000 loads lists the first, the last and the slowest between, and adds up all",
        .enabled(if: !Sanitizer.isOn, "it is the same again and again, and would take minutes"))
    func sample() throws {
        let record = RecordFixture.record(loads: 10_000)
        let json = try decoded(data(RunReportPage(record).html))
        let between = record.loads[2000..<9500].sorted { $0.end - $0.start > $1.end - $1.start }
        #expect(
            json.loads.map(\.id)
                == Array(1...2000) + between.prefix(500).map(\.id).sorted() + Array(9501...10_000))
        #expect(json.totals.loads == 10_000)
        #expect(json.totals.images == record.loads.filter { $0.width != nil && $0.error == nil }.count)
        let groups = Dictionary(grouping: record.loads.filter { $0.error != nil }) {
            "\($0.error!.code) \($0.status ?? 0)"
        }
        #expect(
            Dictionary(uniqueKeysWithValues: json.totals.failures.map { ("\($0.code) \($0.status ?? 0)", $0.count) })
                == groups.mapValues(\.count))
        let (parts, step) = (json.timeline.parts, json.timeline.step)
        #expect((512...1024).contains(parts.count))
        for (index, part) in parts.enumerated() {
            let time = index * step..<(index + 1) * step
            let ended = record.loads.filter { time.contains($0.end) }
            #expect(
                part == [
                    record.loads.filter { time.contains($0.start) }.count, ended.count,
                    ended.filter { $0.outcome == .failed }.count,
                ])
        }
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
        struct Failures: Decodable, Equatable {
            var code: String
            var status: Int?
            var count: Int
        }

        var loads: Int
        var images: Int
        var outcomes: [String: Int]
        var failures: [Failures]
    }

    struct Timeline: Decodable {
        var step: Int
        /// The loads that started, ended and failed in each part.
        var parts: [[Int]]
    }

    struct Load: Decodable {
        struct Failure: Decodable {
            var code: String
            var message: String
        }

        var id: Int
        var url: String
        var outcome: String
        var error: Failure?
    }

    /// An image, and the indices of its loads.
    struct Thumbnail: Decodable {
        var image: String
        var loads: [Int] = []

        init(from decoder: any Decoder) throws {
            var row = try decoder.unkeyedContainer()
            image = try row.decode(String.self)
            while !row.isAtEnd { loads.append(try row.decode(Int.self)) }
        }
    }

    var totals: Totals
    var timeline: Timeline
    var duration: Int
    var loads: [Load]
    var thumbnails: [Thumbnail]
}

private func decoded(_ bytes: [UInt8]) throws -> PageData {
    try JSONDecoder().decode(PageData.self, from: Data(bytes))
}
