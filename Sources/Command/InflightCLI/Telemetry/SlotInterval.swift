/// One interval in which a job had a slot in a lane, and the row of that slot.
struct SlotInterval {
    struct Part: Equatable {
        var stage: RunRecord.Stage
        var start: Int
        var end: Int
    }

    struct Row: Equatable {
        var thread: Int
        var name: String
    }

    var job: Int
    var lane: Int
    var start: Int
    var end: Int
    var stages: [Part]
    var thread = 0

    /// Lane n, from 0, numbers its rows from (n + 1) times this. Lower numbers are those of loads.
    private static let rowsOfLane = 100_000
    /// The lanes of the engine, followed by the command's own threads.
    private static let names = ["store", "fetch", "decode", "write"]

    /// Returns the lane of a stage, or `nil` if it runs in none.
    private static func lane(_ stage: RunRecord.Stage) -> Int? {
        switch stage {
        case .disk: 0
        case .nameLookup, .connect, .tls, .firstByte, .download: 1
        case .decode, .process: 2
        case .encode, .store: 3
        case .queued, .backoff, .deliver: nil
        }
    }

    /// Returns the work that at least one load has waited for.
    static func of(_ record: RunRecord) -> [SlotInterval] {
        // A load records a job only while waiting for it: a late subscriber its end, a cancelled one its beginning.
        var parts: [Int: [RunRecord.Stage: [Part]]] = [:]
        for load in record.loads {
            for span in load.spans {
                guard let job = span.job, lane(span.stage) != nil, span.end > span.start else { continue }
                parts[job, default: [:]][span.stage, default: []].append(
                    Part(stage: span.stage, start: span.start, end: span.end))
            }
        }
        var work: [SlotInterval] = []
        for (job, stages) in parts.sorted(by: { $0.key < $1.key }) {
            var merged = stages.values.flatMap { Self.merged($0) }
            merged.sort { ($0.start, $0.end) < ($1.start, $1.end) }
            for part in merged {
                guard let lane = lane(part.stage) else { continue }
                if let last = work.last, last.job == job, last.lane == lane, part.start <= last.end {
                    // Stages follow one another, so a part begins at the earliest when the previous one ends.
                    let start = max(part.start, last.stages.last?.end ?? part.start)
                    guard part.end > start else { continue }
                    work[work.count - 1].stages.append(Part(stage: part.stage, start: start, end: part.end))
                    work[work.count - 1].end = part.end
                } else {
                    work.append(SlotInterval(job: job, lane: lane, start: part.start, end: part.end, stages: [part]))
                }
            }
        }
        for lane in names.indices {
            let own = work.indices.filter { work[$0].lane == lane }
            for (index, row) in zip(own, TraceRows.rows(of: own.map { (work[$0].start, work[$0].end) })) {
                work[index].thread = (lane + 1) * rowsOfLane + row
            }
        }
        return work
    }

    /// Merges the parts that several loads report of the same work.
    private static func merged(_ parts: [Part]) -> [Part] {
        var merged: [Part] = []
        for part in parts.sorted(by: { $0.start < $1.start }) {
            if let last = merged.last, part.start <= last.end {
                merged[merged.count - 1].end = max(last.end, part.end)
            } else {
                merged.append(part)
            }
        }
        return merged
    }

    /// Returns the rows in use, with their names. Rows beyond a lane's limit are marked.
    static func rows(of work: [SlotInterval], limits: [RunRecord.Lane]) -> [Row] {
        names.enumerated().flatMap { lane, name in
            let used = work.filter { $0.lane == lane }.map { $0.thread - (lane + 1) * rowsOfLane + 1 }.max() ?? 0
            let limit = limits.first { $0.name == name }?.limit ?? 0
            return (0..<used).map { row in
                let over = limit > 0 && row >= limit ? " (beside the lane)" : ""
                return Row(thread: (lane + 1) * rowsOfLane + row, name: "\(name) \(row + 1)\(over)")
            }
        }
    }
}
