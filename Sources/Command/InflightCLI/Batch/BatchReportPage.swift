import Inflight
import InflightBatch
import InflightCore

/// A random sample of the rows of a run: some that have an image, and some that failed.
struct BatchSample: Sendable {
    /// The maximum number of rows of each kind.
    static let limit = 500

    private(set) var images: [BatchRowEnd] = []
    private(set) var failures: [BatchRowEnd] = []
    private var imageCount = 0
    private var failureCount = 0

    /// Adds a row, or not. Each row of its kind has the same chance to remain (algorithm R, Vitter 1985).
    mutating func add(_ row: BatchRowEnd) {
        if case .failure = row.kind {
            Self.add(row, to: &failures, &failureCount)
        } else {
            Self.add(row, to: &images, &imageCount)
        }
    }

    private static func add(_ row: BatchRowEnd, to rows: inout [BatchRowEnd], _ count: inout Int) {
        count += 1
        if rows.count < limit { return rows.append(row) }
        let place = Int.random(in: 0..<count)
        if place < limit { rows[place] = row }
    }
}

/// The file of `batch --report`: totals, failures, and a sample of rows, as one self-contained HTML page of bounded
/// size.
struct BatchReportPage {
    private static let mostMessageLength = 300
    private static let style =
        "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color-scheme:light dark}"
        + "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #8888;padding:.2em .6em;text-align:left}"
        + "td{overflow-wrap:anywhere}"

    let folder: String
    let monitor: BatchMonitor
    let sample: BatchSample
    /// All rows of the folder; if `nil`, the run did not end all of them.
    let status: BatchStatus?
    let elapsed: Duration

    /// The file, in UTF-8.
    var html: [UInt8] {
        let source = "'sha256-\(Base64.encoded(ContentDigest(of: Bytes(Self.style)).bytes))'"
        var page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \(source)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Inflight: report of a batch run</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <h1>\(Self.escaped(folder))</h1>

            """
        page += Self.table(["This run", ""], totals)
        if let status {
            page += Self.table(["All runs", ""], Self.totals(of: status))
            page += Self.table(["Failures", "Class", "Host"], Self.failures(of: status))
        } else {
            page += Self.table(["Failures", "Class", "Host"], failures)
        }
        let header = ["Row", "Host", "Outcome", "Message", "Bytes"]
        page += Self.table(header, sample.failures.sorted { $0.row < $1.row }.map(Self.cells), "Sample of failed rows")
        page += Self.table(header, sample.images.sorted { $0.row < $1.row }.map(Self.cells), "Sample of other rows")
        return Array((page + "</body>\n</html>\n").utf8)
    }

    private var totals: [[String]] {
        [
            ["Rows", Quantity.grouped(monitor.rows)], ["Images", Quantity.grouped(monitor.successes)],
            ["Duplicates", Quantity.grouped(monitor.duplicates)],
            ["Failed", Quantity.grouped(monitor.failures)],
            ["Received", Quantity.bytes(monitor.receivedBytes)], ["Stored", Quantity.bytes(monitor.imageBytes)],
            ["Time", Quantity.time(elapsed)],
        ]
    }

    private var failures: [[String]] {
        monitor.groups.sorted { ($1.value, $0.key.host) < ($0.value, $1.key.host) }.prefix(1000).map {
            [Quantity.grouped($0.value), $0.key.failureClass, $0.key.host]
        }
    }

    private static func totals(of status: BatchStatus) -> [[String]] {
        [
            ["Rows", Quantity.grouped(status.rows)], ["Images", Quantity.grouped(status.summary.successes)],
            ["Duplicates", Quantity.grouped(status.summary.duplicates)],
            [
                "Failed",
                "\(Quantity.grouped(status.summary.failures)) \(BatchText.percent(status.summary.failures, of: status.rows))",
            ],
            ["Transient failures", Quantity.grouped(status.transientFailures)],
            ["Shards", Quantity.grouped(status.summary.finishedShards)],
        ]
    }

    private static func failures(of status: BatchStatus) -> [[String]] {
        status.failures.map { [Quantity.grouped($0.count), $0.failureClass, $0.host] }
    }

    private static func cells(_ row: BatchRowEnd) -> [String] {
        let outcome =
            switch row.kind {
            case .success: "image"
            case .duplicate: "duplicate"
            case .failure(let name): name
            }
        return [
            Quantity.grouped(row.row), row.host, outcome, String((row.message ?? "").prefix(mostMessageLength)),
            row.imageBytes > 0 ? Quantity.bytes(row.imageBytes) : "",
        ]
    }

    private static func table(_ header: [String], _ rows: [[String]], _ title: String? = nil) -> String {
        guard !rows.isEmpty else { return "" }
        func line(_ cells: [String], _ tag: String) -> String {
            "<tr>" + cells.map { "<\(tag)>\(escaped($0))</\(tag)>" }.joined() + "</tr>\n"
        }
        return (title.map { "<h2>\(escaped($0))</h2>\n" } ?? "") + "<table>\n" + line(header, "th")
            + rows.map { line($0, "td") }.joined() + "</table>\n"
    }

    private static func escaped(_ text: String) -> String { MarkupText.escaped(text) }
}
