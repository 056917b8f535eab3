import Testing

@testable import InflightBatch
@testable import InflightCLI

@Suite("Texts of inflight batch", .timeLimit(.minutes(2)))
struct BatchTextTests {
    private func status(_ classes: [String: Int], images: Int = 90) -> BatchStatus {
        var status = BatchStatus(folder: "cats")
        status.classes = classes
        status.summary.successes = images
        status.summary.failures = classes.values.reduce(0, +)
        return status
    }

    @Test(
        "The exit status follows from the failures, and transient ones come first",
        arguments: [
            ([:], 0, true, 0), (["http_404": 10], 1, true, 0), (["http_404": 10], 0.1, true, 0),
            (["http_404": 10], 0.09, true, 1), (["http_503": 10], 1, false, 0), (["http_503": 10], 1, true, 75),
            (["http_404": 9, "timedOut": 1], 0.05, true, 75), (["http_404": 9, "timedOut": 1], 0.05, false, 1),
        ] as [([String: Int], Double, Bool, Int32)])
    func exitStatus(_ classes: [String: Int], _ rate: Double, _ isStrict: Bool, _ expected: Int32) {
        #expect(status(classes).exitStatus(maximumFailureRate: rate, isStrict: isStrict) == expected)
    }

    @Test("The exit status of a run without rows is 0")
    func noRows() {
        #expect(status([:], images: 0).exitStatus(maximumFailureRate: 0, isStrict: true) == 0)
    }

    @Test("Failures are grouped by class and host, the largest first, in a bounded number of lines")
    func groups() {
        var found = status(["http_404": 1200, "timedOut": 5])
        found.failures = ["a", "b", "c", "d"].map { FailureCount(failureClass: "http_404", host: $0, count: 300) }
        found.failures.append(FailureCount(failureClass: "timedOut", host: "e\u{1B}[2J", count: 5))
        let lines = BatchText.lines(found, style: .plain)
        #expect(lines[0] == "  rows         1,295")
        #expect(
            lines.suffix(4) == [
                "Failures:", "  1,200 × http_404: a 300, b 300, c 300, other hosts 300",
                "  5 × timedOut (transient): e\\u{1b}[2J 5",
                "To retry 5 transient failures: inflight batch retry cats",
            ])
        let many = Dictionary(uniqueKeysWithValues: (400..<500).map { ("http_\($0)", $0) })
        #expect(BatchText.lines(status(many), style: .plain).count < 30)
    }

    @Test("The progress line leaves out what does not fit, and keeps the slowest host and the most frequent failures")
    func progress() {
        var progress = BatchText.Progress(
            monitor: BatchMonitor(), state: BatchState(), resumedRows: 1000, elapsed: .seconds(10))
        for number in 0..<100 {
            let name = number < 30 ? number < 10 ? "timedOut" : "http_404" : nil
            var row = BatchRowEnd(row: number, host: "a", kind: name.map { .failure(class: $0) } ?? .success)
            row.receivedBytes = 50_000
            _ = progress.monitor.rowDidEnd(row, at: .seconds(1))
        }
        let short = "1,100 rows  70 images  5.0 MB  7.0/s  20 http_404  10 timedOut"
        #expect(BatchText.line(progress, columns: 200) == short)
        #expect(BatchText.line(progress, columns: 50) == "1,100 rows  70 images  5.0 MB  7.0/s  20 http_404")
        progress.state.estimatedRowCount = 1_234_567
        #expect(BatchText.line(progress, columns: 34) == "1,100 of about 1,230,000 rows")
        progress.state.estimatedRowCount = 999
        #expect(BatchText.line(progress, columns: 26) == "1,100 of about 1,100 rows")
        progress.state.rowCount = 1200
        progress.state.stragglers = [(host: "slow.org", duration: .seconds(35))]
        let whole =
            "1,100 of 1,200 rows  70 images  5.0 MB  7.0/s  10 s left  slow.org for 35 s  20 http_404  10 timedOut"
        #expect(BatchText.line(progress, columns: 200) == whole)
        let short80 = "1,100 of 1,200 rows  70 images  7.0/s  10 s left  slow.org for 35 s  20 http_404"
        #expect(BatchText.line(progress, columns: 80) == short80)
        progress.state.rowCount = nil
        progress.state.estimatedRowCount = 12_345_678
        progress.state.stragglers = [(host: "images.a-host-with-a-long-name.example.org", duration: .seconds(35))]
        let large = BatchText.line(progress, columns: 79)
        #expect(large.contains("images.") && large.contains(" for 35 s") && large.contains("20 http_404"), "\(large)")
        progress.state.stragglers = []
        progress.state.rowCount = 1190
        #expect(!BatchText.line(progress, columns: 200).contains("left"), "9 s say nothing of the last rows")
        progress.state.rowCount = 1300
        progress.state.running = 200
        #expect(!BatchText.line(progress, columns: 200).contains("left"), "all of the last rows are being fetched")
        #expect(BatchText.line(progress, columns: 5) == "1,100")
    }

    @Test("A report of any number of rows is small, and shows text from servers as text")
    func report() {
        var (monitor, sample) = (BatchMonitor(), BatchSample())
        for number in 0..<20_000 {
            let kind = number % 2 == 0 ? BatchRowEnd.Kind.success : .failure(class: "notAnImage")
            let message = String(repeating: "<b>", count: 1000)
            let row = BatchRowEnd(row: number, host: "<i>\(number)", kind: kind, message: message)
            _ = monitor.rowDidEnd(row, at: .zero)
            sample.add(row)
        }
        #expect(sample.images.count == 500 && sample.failures.count == 500)
        let page = BatchReportPage(folder: "<u>", monitor: monitor, sample: sample, status: nil, elapsed: .seconds(1))
        let text = String(decoding: page.html, as: UTF8.self)
        #expect(text.utf8.count < 3_000_000)
        for tag in ["<b>", "<i>", "<u>"] { #expect(!text.contains(tag)) }
        #expect(text.contains("&lt;u&gt;"))
    }
}
