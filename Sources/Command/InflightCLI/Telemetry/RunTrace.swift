/// The record of a run as a trace: each load on a row of its own while it lasts, each slot of a lane as a row, the
/// lanes' occupancy and the bytes as counters, and arrows from loads to the jobs that they share.
struct RunTrace {
    static let loads = 1
    static let lanes = 2
    /// The first number of the loads' rows; ``SlotInterval`` numbers those of lanes. There are at most 10,000 loads.
    private static let firstRow = 11

    private let record: RunRecord
    private(set) var events: [TraceEvent] = []

    init(_ record: RunRecord) {
        self.record = record
        let work = SlotInterval.of(record)
        addLoads()
        addWork(work)
        addCounters()
        addFlows(work)
        // Viewers do not need this order, but human readers do: metadata first, then by time, the longer slice first.
        events = events.enumerated().sorted { left, right in
            let (first, second) = (left.element, right.element)
            let isMetadata = (first.phase == .metadata, second.phase == .metadata)
            if isMetadata.0 != isMetadata.1 { return isMetadata.0 }
            if first.time != second.time { return first.time < second.time }
            let (long, short) = (first.duration ?? -1, second.duration ?? -1)
            return long == short ? left.offset < right.offset : long > short
        }.map(\.element)
    }

    /// Writes the whole file, in pieces.
    func write(_ write: ([UInt8]) throws(SystemError) -> Void) throws(SystemError) {
        // Omits `displayTimeUnit`: viewers show milliseconds by default, and some use it as the unit of all times.
        var bytes = Array("{\"otherData\":{".utf8)
        var writer = JSONWriter()
        writer.add("command", record.command)
        writer.add("startedAt", record.startedAt)
        writer.add("loadsLeftOut", record.unlisted.loads)
        writer.add("eventsLeftOut", record.dropped)
        bytes += writer.members + Array("},\"traceEvents\":[\n".utf8)
        for (number, event) in events.enumerated() {
            bytes += event.json + Array(number + 1 < events.count ? ",\n".utf8 : "\n".utf8)
            if bytes.count > 1 << 20 {
                try write(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        try write(bytes + Array("]}\n".utf8))
    }

    /// Names a process or a thread of it, and sets its position among the others.
    private mutating func name(process: Int, thread: Int? = nil, _ name: String, order: Int) {
        let what = thread == nil ? "process" : "thread"
        for (kind, value) in [("name", TraceEvent.Argument.text(name)), ("sort_index", .number(order))] {
            add(.metadata, "\(what)_\(kind)", process: process, thread: thread ?? 0, [(kind, value)])
        }
    }

    private mutating func add(
        _ phase: TraceEvent.Phase, _ name: String, _ category: String = "", process: Int, thread: Int = 0,
        at time: Int = 0, id: Int? = nil, _ arguments: [(name: String, value: TraceEvent.Argument)] = []
    ) {
        events.append(
            TraceEvent(
                phase: phase, name: name, category: category, process: process, thread: thread, time: time, id: id,
                arguments: arguments))
    }

    private mutating func add(
        _ name: String, _ category: String, process: Int, thread: Int, from start: Int, to end: Int,
        _ arguments: [(name: String, value: TraceEvent.Argument)] = []
    ) {
        events.append(
            TraceEvent(
                phase: .complete, name: name, category: category, process: process, thread: thread, time: start,
                duration: end - start, arguments: arguments))
    }

    // MARK: Loads

    private var loadRows: [Int] {
        TraceRows.rows(of: record.loads.map { ($0.start, max($0.end, $0.start + 1)) })
    }

    private mutating func addLoads() {
        name(process: Self.loads, "loads", order: 0)
        let rows = loadRows
        for row in 0..<((rows.max() ?? -1) + 1) {
            name(process: Self.loads, thread: Self.firstRow + row, "loads \(row + 1)", order: Self.firstRow + row)
        }
        for (load, row) in zip(record.loads, rows) {
            let thread = Self.firstRow + row
            let end = max(load.end, load.start + 1)
            add(
                load.url, "load", process: Self.loads, thread: thread, from: load.start, to: end,
                Self.arguments(of: load))
            var free = load.start
            for span in load.spans where min(span.end, end) > max(span.start, free) {
                let start = max(span.start, free)
                free = min(span.end, end)
                add(span.stage.rawValue, "stage", process: Self.loads, thread: thread, from: start, to: free)
            }
            for mark in load.marks where (load.start...end).contains(mark.at) {
                add(
                    .instant, mark.kind.rawValue, "mark", process: Self.loads, thread: thread, at: mark.at,
                    mark.why.isEmpty ? [] : [("why", .text(mark.why))])
            }
        }
    }

    private static func arguments(of load: RunRecord.Load) -> [(String, TraceEvent.Argument)] {
        var arguments: [(String, TraceEvent.Argument)] = [
            ("line", .number(load.id)), ("outcome", .text(load.outcome.rawValue)),
        ]
        if let from = load.from { arguments.append(("from", .text(from))) }
        if let status = load.status { arguments.append(("status", .number(status))) }
        if let bytes = load.bytes { arguments.append(("bytes", .number(Int(bytes)))) }
        if let file = load.file { arguments.append(("file", .text(file))) }
        if let error = load.error {
            arguments.append(("error", .text(error.code)))
            arguments.append(("message", .text(error.message)))
        }
        return arguments
    }

    // MARK: Work

    private mutating func addWork(_ work: [SlotInterval]) {
        name(process: Self.lanes, "lanes", order: 1)
        for row in SlotInterval.rows(of: work, limits: record.lanes) {
            name(process: Self.lanes, thread: row.thread, row.name, order: row.thread)
        }
        for piece in work {
            let job = record.jobs[piece.job]
            add(
                job.subject, job.kind.rawValue, process: Self.lanes, thread: piece.thread, from: piece.start,
                to: piece.end, [("kind", .text(job.kind.rawValue)), ("waiters", .number(job.waiters))])
            for part in piece.stages {
                add(
                    part.stage.rawValue, "stage", process: Self.lanes, thread: piece.thread, from: part.start,
                    to: part.end)
            }
        }
    }

    private mutating func addCounters() {
        for lane in record.lanes {
            for sample in lane.samples {
                add(
                    .counter, "\(lane.name) lane", process: Self.lanes, at: sample.at,
                    [("running", .number(sample.running)), ("waiting", .number(sample.waiting))])
            }
        }
        for sample in record.bytes {
            add(
                .counter, "bytes off the network", process: Self.lanes, at: sample.at,
                [("bytes", .number(Int(sample.bytes)))])
        }
    }

    // MARK: Flows

    /// Adds an arrow from each load to each job that it waited for, while both last.
    private mutating func addFlows(_ work: [SlotInterval]) {
        let rows = loadRows
        let pieces = Dictionary(grouping: work, by: \.job)
        var id = 0
        for (load, row) in zip(record.loads, rows) {
            var seen: Set<Int> = []
            for job in load.spans.compactMap(\.job) where seen.insert(job).inserted {
                guard let piece = pieces[job]?.first(where: { $0.end > load.start }), piece.start < max(load.end, 1)
                else { continue }
                id += 1
                add(
                    .flowStart, "waits for", "flow", process: Self.loads, thread: Self.firstRow + row, at: load.start,
                    id: id)
                add(
                    .flowEnd, "waits for", "flow", process: Self.lanes, thread: piece.thread,
                    at: max(load.start, piece.start), id: id)
            }
        }
    }
}

/// Places intervals on as few rows as possible without overlap.
enum TraceRows {
    /// - Returns: The row of each interval, from 0.
    static func rows(of intervals: [(start: Int, end: Int)]) -> [Int] {
        var rows = [Int](repeating: 0, count: intervals.count)
        /// The time at which each row is free.
        var free: [Int] = []
        for index in intervals.indices.sorted(by: { (intervals[$0].start, $0) < (intervals[$1].start, $1) }) {
            let row = free.firstIndex { $0 <= intervals[index].start } ?? free.count
            if row == free.count { free.append(0) }
            free[row] = intervals[index].end
            rows[index] = row
        }
        return rows
    }
}
