import Inflight
import InflightCore

/// A recorded run as the page's script reads it.
enum RunReportData {
    /// The maximum length of a text in Unicode scalars. Longer texts are truncated and end with the number of missing
    /// characters, because people read the page.
    private static let longestText = 2000

    /// Returns JSON without any `<`, so that it cannot end the element that contains it.
    ///
    /// - Parameter room: The number of bytes up to which thumbnails are added.
    static func json(_ record: RunRecord, room: Int) -> [UInt8] {
        let loads = listed(record.loads)
        var writer = JSONWriter()
        writer.add("command", cut(record.command))
        writer.add("startedAt", record.startedAt)
        writer.add("duration", max(0, record.duration))
        writer.add("dropped", record.dropped)
        writer.add("stages", RunRecord.Stage.allCases.map(\.rawValue))
        add(RecordTotals(record), to: &writer)
        add(loads, record.jobs, to: &writer)
        addSeries(record, to: &writer)
        addThumbnails(of: loads, room: room - escaped(writer.members).count, to: &writer)
        return escaped(writer.object)
    }

    /// Returns the loads that the page lists, in their order: of a long run a sample, so that the page opens at once.
    private static func listed(_ all: [RunRecord.Load]) -> [RunRecord.Load] {
        var sample = RetainedLoads<RunRecord.Load>(first: 2000, last: 500, slowest: 500)
        for load in all { _ = sample.add(load, duration: load.end - load.start) }
        _ = sample.settle()
        return sample.all.sorted { $0.id < $1.id }
    }

    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for byte in bytes {
            // `<` occurs only in strings, because JSON's own syntax does not use it.
            if byte == UInt8(ascii: "<") { result += "\\u003c".utf8 } else { result.append(byte) }
        }
        return result
    }

    private static func cut(_ text: String) -> String {
        // The number of bytes is checked first, because it takes constant time.
        guard text.utf8.count > longestText, text.unicodeScalars.count > longestText else { return text }
        var cut = String(String.UnicodeScalarView(text.unicodeScalars.prefix(longestText)))
        cut += "… and \(Quantity.grouped(text.unicodeScalars.count - longestText)) more characters"
        return cut
    }

    private static func add(_ totals: RecordTotals, to writer: inout JSONWriter) {
        writer.add("totals") { inner in
            inner.add("loads", totals.loads)
            inner.add("bytes", totals.bytes)
            inner.add("images", totals.images)
            inner.add("outcomes") { counts in
                for outcome in RunRecord.Load.Outcome.allCases {
                    counts.add(outcome.rawValue, totals.outcomes[outcome, default: 0])
                }
            }
            inner.add("jobs") { counts in
                for kind in RunRecord.Job.Kind.allCases { counts.add(kind.rawValue, totals.jobs[kind, default: 0]) }
            }
            inner.add("marks") { counts in
                for kind in RunRecord.Mark.Kind.allCases { counts.add(kind.rawValue, totals.marks[kind, default: 0]) }
            }
            inner.add("failures", totals.failures) { group, failure in
                group.add("code", cut(failure.code))
                if let status = failure.status { group.add("status", status) }
                group.add("message", cut(failure.message))
                group.add("count", failure.count)
            }
        }
        writer.add("timeline") { timeline in
            timeline.add("step", totals.timeline.step)
            timeline.add("parts", rows: totals.timeline.parts) { row, part in
                row.append(part.started)
                row.append(part.ended)
                row.append(part.failed)
            }
        }
    }

    /// Adds the loads, and the jobs that several of all loads shared.
    private static func add(_ loads: [RunRecord.Load], _ jobs: [RunRecord.Job], to writer: inout JSONWriter) {
        /// The index in the page of each shared job, by its index in the record.
        var numbers: [Int: Int] = [:]
        var shared: [RunRecord.Job] = []
        writer.add("loads", loads) { row, load in
            row.add("id", load.id)
            row.add("url", cut(load.url))
            row.add("outcome", load.outcome.rawValue)
            if let from = load.from { row.add("from", cut(from)) }
            row.add("start", load.start)
            row.add("time", max(0, load.end - load.start))
            if let bytes = load.bytes { row.add("bytes", bytes) }
            if let status = load.status { row.add("status", status) }
            if let format = load.format { row.add("format", cut(format)) }
            if let width = load.width { row.add("width", width) }
            if let height = load.height { row.add("height", height) }
            if let file = load.file { row.add("file", cut(file)) }
            if let error = load.error {
                row.add("error") { inner in
                    inner.add("code", cut(error.code))
                    inner.add("stage", cut(error.stage))
                    inner.add("message", cut(error.message))
                }
            }
            // Stage, start, duration, and the job if others had a part in it.
            row.add("spans", rows: load.spans) { row, span in
                row.append(span.stage.rawValue)
                row.append(span.start)
                row.append(max(0, span.end - span.start))
                guard let index = span.job, jobs.indices.contains(index), jobs[index].waiters > 1 else { return }
                let number = numbers[index] ?? shared.count
                if number == shared.count {
                    numbers[index] = number
                    shared.append(jobs[index])
                }
                row.append(number)
            }
            row.add("marks", rows: load.marks) { row, mark in
                row.append(mark.kind.rawValue)
                row.append(mark.at)
                row.append(cut(mark.why))
            }
        }
        writer.add("jobs", shared) { row, job in
            row.add("kind", job.kind.rawValue)
            row.add("subject", cut(job.subject))
            row.add("waiters", job.waiters)
        }
    }

    private static func addSeries(_ record: RunRecord, to writer: inout JSONWriter) {
        writer.add("lanes", record.lanes) { inner, lane in
            inner.add("name", cut(lane.name))
            inner.add("limit", lane.limit)
            inner.add("samples", rows: lane.samples) { row, sample in
                row.append(sample.at)
                row.append(sample.running)
                row.append(sample.waiting)
            }
        }
        writer.add("bytes", rows: record.bytes) { row, sample in
            row.append(sample.at)
            row.append(sample.bytes)
        }
        writer.add("histograms", record.histograms) { inner, histogram in
            inner.add("name", cut(histogram.name))
            inner.add("unit", histogram.unit)
            inner.add("buckets", rows: histogram.buckets) { row, bucket in
                row.append(bucket.upper)
                row.append(bucket.count)
            }
            inner.add("count", histogram.count)
            inner.add("p50", histogram.p50)
            inner.add("p90", histogram.p90)
            inner.add("p95", histogram.p95)
            inner.add("p99", histogram.p99)
        }
    }

    /// Adds the distinct thumbnails of the first loads, each with the indices of its loads.
    private static func addThumbnails(of loads: [RunRecord.Load], room: Int, to writer: inout JSONWriter) {
        var left = room - 64
        var known: [[UInt8]: Int] = [:]
        var thumbnails: [(image: String, loads: [Int])] = []
        for (index, load) in loads.enumerated() {
            guard let bytes = load.thumbnail, let type = mediaType(bytes) else { continue }
            let number = known[bytes]
            // The index of the load; for a new one also base64, its prefix, names and punctuation.
            let cost = 8 + (number == nil ? (bytes.count + 2) / 3 * 4 + 56 : 0)
            guard cost <= left else { continue }
            left -= cost
            if let number {
                thumbnails[number].loads.append(index)
            } else {
                known[bytes] = thumbnails.count
                thumbnails.append(("data:\(type);base64,\(Base64.encoded(bytes))", [index]))
            }
        }
        writer.add("thumbnails", rows: thumbnails) { row, thumbnail in
            row.append(thumbnail.image)
            for load in thumbnail.loads { row.append(load) }
        }
    }

    /// Returns the media type for the first bytes, or `nil` if this program's encoders cannot have written them.
    private static func mediaType(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        return bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) ? "image/png" : nil
    }
}
