import Inflight
import InflightCore

/// A recorded run as the page's script reads it: each text once, numbers in columns.
struct RunReportData {
    /// JSON without any `<`, so that it cannot end the element that contains it.
    private(set) var json: [UInt8] = []

    private var texts = TextTable()
    /// The jobs of the listed loads, by their index in the record.
    private var jobs = NumberedRows<Int>(
        ColumnTable(["kind", "subject", "start", "length", "waiters"], differences: ["start"]))

    /// - Parameter room: The number of bytes up to which thumbnails are added. The lists are never shortened.
    init(_ record: RunRecord, room: Int) {
        let listed = record.loads
        var writer = JSONWriter()
        writer.add("command", TextTable.cut(record.command))
        writer.add("startedAt", record.startedAt)
        writer.add("duration", max(0, record.duration))
        writer.add("dropped", record.dropped)
        addNames(listed, to: &writer)
        Self.add(RecordTotals(record), to: &writer)
        addLoads(listed, to: &writer)
        addSpans(listed, record.jobs, to: &writer)
        addMarks(listed, to: &writer)
        writer.add("jobs") { jobs.columns.add(to: &$0) }
        addSeries(record, to: &writer)
        writer.add("texts") { texts.add(to: &$0) }
        let pictures = ThumbnailColumns(listed, room: room - Self.escaped(writer.line).count)
        writer.add("thumbnails") { pictures.add(to: &$0) }
        json = Self.escaped(writer.line)
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

    private mutating func addNames(_ loads: [RunRecord.Load], to writer: inout JSONWriter) {
        var sources: [String] = []
        for load in loads {
            if let from = load.from, !sources.contains(from) { sources.append(from) }
        }
        sources.sort()
        for source in sources { _ = texts.number(source) }
        writer.add("names") { names in
            names.add("outcomes", RunRecord.Load.Outcome.allCases.map(\.rawValue))
            names.add("stages", RunRecord.Stage.allCases.map(\.rawValue))
            names.add("marks", RunRecord.Mark.Kind.allCases.map(\.rawValue))
            names.add("jobs", RunRecord.Job.Kind.allCases.map(\.rawValue))
            names.add("from", sources)
        }
    }

    private static func add(_ totals: RecordTotals, to writer: inout JSONWriter) {
        writer.add("totals") { inner in
            inner.add("loads", totals.loads)
            inner.add("bytes", totals.bytes)
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
        }
    }

    private mutating func addLoads(_ loads: [RunRecord.Load], to writer: inout JSONWriter) {
        // -1 means unknown.
        var columns = ColumnTable(
            [
                "id", "url", "outcome", "from", "start", "length", "bytes", "status", "format", "width", "height",
                "file",
                "error", "spans", "marks",
            ], differences: ["id", "url", "start"])
        var failures = NumberedRows<RunRecord.Failure>(ColumnTable(["code", "stage", "message"]))
        for load in loads {
            let (url, from) = (texts.number(load.url), texts.number(load.from))
            let (format, file) = (texts.number(load.format), texts.number(load.file))
            var failure = -1
            if let error = load.error {
                let (number, isNew) = failures.number(error)
                failure = number
                if isNew {
                    failures.columns.append(
                        texts.number(error.code), texts.number(error.stage), texts.number(error.message))
                }
            }
            columns.append(
                load.id, url, load.outcome.number, from, load.start, max(0, load.end - load.start),
                load.bytes.map(Int.init) ?? -1, load.status ?? -1, format, load.width ?? -1, load.height ?? -1, file,
                failure, load.spans.count, load.marks.count)
        }
        writer.add("loads") { columns.add(to: &$0) }
        writer.add("failures") { failures.columns.add(to: &$0) }
    }

    private mutating func addSpans(_ loads: [RunRecord.Load], _ all: [RunRecord.Job], to writer: inout JSONWriter) {
        var columns = ColumnTable(["stage", "gap", "length", "job"])
        var lastJob = 0
        for load in loads {
            var before = load.start
            for span in load.spans {
                let length = max(0, span.end - span.start)
                var job = 0
                if let index = span.job, all.indices.contains(index) {
                    let number = number(of: all[index], index)
                    // Zero means no job, so a difference that is not negative is increased by one.
                    job = number >= lastJob ? number - lastJob + 1 : number - lastJob
                    lastJob = number
                }
                columns.append(span.stage.number, span.start - before, length, job)
                before = span.start + length
            }
        }
        writer.add("spans") { columns.add(to: &$0) }
    }

    private mutating func number(of job: RunRecord.Job, _ index: Int) -> Int {
        let (number, isNew) = jobs.number(index)
        if isNew {
            // A job with a single load needs no subject, because the load identifies it.
            let subject = job.waiters > 1 ? texts.number(job.subject) : -1
            jobs.columns.append(job.kind.number, subject, job.start, max(0, job.end - job.start), job.waiters)
        }
        return number
    }

    private mutating func addMarks(_ loads: [RunRecord.Load], to writer: inout JSONWriter) {
        var columns = ColumnTable(["kind", "at", "why"])
        for load in loads {
            for mark in load.marks {
                columns.append(mark.kind.number, mark.at - load.start, mark.why.isEmpty ? -1 : texts.number(mark.why))
            }
        }
        writer.add("marks") { columns.add(to: &$0) }
    }

    private mutating func addSeries(_ record: RunRecord, to writer: inout JSONWriter) {
        let names = record.lanes.map { texts.number($0.name) }
        writer.add("lanes", zip(record.lanes, names)) { lane, value in
            var columns = ColumnTable(["at", "running", "waiting"], differences: ["at"])
            for sample in Thinning.lane(value.0.samples, to: RunReportPage.mostSamples) {
                columns.append(sample.at, sample.running, sample.waiting)
            }
            lane.add("name", value.1)
            lane.add("limit", value.0.limit)
            columns.add(to: &lane)
        }
        writer.add("bytes") { series in
            var columns = ColumnTable(["at", "bytes"], differences: ["at", "bytes"])
            for sample in Thinning.bytes(record.bytes, to: RunReportPage.mostSamples) {
                columns.append(sample.at, Int(sample.bytes))
            }
            columns.add(to: &series)
        }
        let titles = record.histograms.map { texts.number($0.name) }
        writer.add("histograms", zip(record.histograms, titles)) { histogram, value in
            var columns = ColumnTable(["upper", "counts"], differences: ["upper"])
            for bucket in value.0.buckets { columns.append(bucket.upper, bucket.count) }
            histogram.add("name", value.1)
            histogram.add("unit", value.0.unit)
            columns.add(to: &histogram)
            for (name, number) in [
                ("count", value.0.count), ("p50", value.0.p50), ("p90", value.0.p90), ("p95", value.0.p95),
                ("p99", value.0.p99),
            ] {
                histogram.add(name, number)
            }
        }
    }
}

extension CaseIterable where Self: Equatable {
    /// The index among all cases, which identifies the case in the page.
    fileprivate var number: Int { Array(Self.allCases).firstIndex(of: self) ?? 0 }
}
