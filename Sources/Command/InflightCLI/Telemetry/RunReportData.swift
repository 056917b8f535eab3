import Inflight
import InflightCore

/// A recorded run as the page's script reads it: each text once, numbers in columns.
struct RunReportData {
    /// JSON without any `<`, so that it cannot end the element that contains it.
    private(set) var json: [UInt8] = []

    private var texts = TextTable()
    private var jobs = JobColumns()

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
        jobs.add(to: &writer)
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
        var columns = LoadColumns()
        var failures = FailureColumns()
        for load in loads { columns.append(load, texts: &texts, failures: &failures) }
        writer.add("loads") { columns.add(to: &$0) }
        writer.add("failures") { failures.add(to: &$0) }
    }

    private mutating func addSpans(
        _ loads: [RunRecord.Load], _ all: [RunRecord.Job], to writer: inout JSONWriter
    ) {
        var (stage, gap, length, job) = (NumberColumn(), NumberColumn(), NumberColumn(), NumberColumn())
        var lastJob = 0
        for load in loads {
            var before = load.start
            for span in load.spans {
                stage.append(span.stage.number)
                gap.append(span.start - before)
                length.append(max(0, span.end - span.start))
                before = span.start + max(0, span.end - span.start)
                guard let index = span.job, all.indices.contains(index) else {
                    job.append(0)
                    continue
                }
                let number = jobs.number(index, all[index], texts: &texts)
                // Zero means no job, so a difference that is not negative is increased by one.
                job.append(number >= lastJob ? number - lastJob + 1 : number - lastJob)
                lastJob = number
            }
        }
        writer.add("spans") { spans in
            spans.add("stage", plain: stage.bytes)
            spans.add("gap", plain: gap.bytes)
            spans.add("length", plain: length.bytes)
            spans.add("job", plain: job.bytes)
        }
    }

    private mutating func addMarks(_ loads: [RunRecord.Load], to writer: inout JSONWriter) {
        var (kind, at, why) = (NumberColumn(), NumberColumn(), NumberColumn())
        for load in loads {
            for mark in load.marks {
                kind.append(mark.kind.number)
                at.append(mark.at - load.start)
                why.append(mark.why.isEmpty ? -1 : texts.number(mark.why))
            }
        }
        writer.add("marks") { marks in
            marks.add("kind", plain: kind.bytes)
            marks.add("at", plain: at.bytes)
            marks.add("why", plain: why.bytes)
        }
    }

    private mutating func addSeries(_ record: RunRecord, to writer: inout JSONWriter) {
        let names = record.lanes.map { texts.number($0.name) }
        writer.add("lanes", zip(record.lanes, names)) { lane, value in
            var (at, running, waiting) = (NumberColumn(), NumberColumn(), NumberColumn())
            for sample in Thinning.lane(value.0.samples, to: RunReportPage.mostSamples) {
                at.append(difference: sample.at)
                running.append(sample.running)
                waiting.append(sample.waiting)
            }
            lane.add("name", value.1)
            lane.add("limit", value.0.limit)
            lane.add("at", plain: at.bytes)
            lane.add("running", plain: running.bytes)
            lane.add("waiting", plain: waiting.bytes)
        }
        writer.add("bytes") { series in
            var (at, bytes) = (NumberColumn(), NumberColumn())
            for sample in Thinning.bytes(record.bytes, to: RunReportPage.mostSamples) {
                at.append(difference: sample.at)
                bytes.append(difference: Int(sample.bytes))
            }
            series.add("at", plain: at.bytes)
            series.add("bytes", plain: bytes.bytes)
        }
        let titles = record.histograms.map { texts.number($0.name) }
        writer.add("histograms", zip(record.histograms, titles)) { histogram, value in
            var (upper, counts) = (NumberColumn(), NumberColumn())
            for bucket in value.0.buckets {
                upper.append(difference: bucket.upper)
                counts.append(bucket.count)
            }
            histogram.add("name", value.1)
            histogram.add("unit", value.0.unit)
            histogram.add("upper", plain: upper.bytes)
            histogram.add("counts", plain: counts.bytes)
            histogram.add("count", value.0.count)
            histogram.add("p50", value.0.p50)
            histogram.add("p90", value.0.p90)
            histogram.add("p95", value.0.p95)
            histogram.add("p99", value.0.p99)
        }
    }
}

extension CaseIterable where Self: Equatable {
    /// The index among all cases, which identifies the case in the page.
    fileprivate var number: Int { Array(Self.allCases).firstIndex(of: self) ?? 0 }
}
