/// The totals of a recorded run.
struct RecordTotals: Equatable, Sendable {
    var loads = 0
    var outcomes: [RunRecord.Load.Outcome: Int] = [:]
    /// The bytes of all delivered bodies. A body that was delivered to several loads counts for each of them.
    var bytes: Int64 = 0
    var jobs: [RunRecord.Job.Kind: Int] = [:]
    var marks: [RunRecord.Mark.Kind: Int] = [:]

    init() {}

    /// Adds up all loads, including those that are not listed.
    init(_ record: RunRecord) {
        self = record.unlisted
        for load in record.loads { add(load) }
        for job in record.jobs { jobs[job.kind, default: 0] += 1 }
    }

    /// Adds a load with its marks. Jobs are added separately, because loads share them.
    mutating func add(_ load: RunRecord.Load) {
        loads += 1
        outcomes[load.outcome, default: 0] += 1
        bytes += load.bytes ?? 0
        for mark in load.marks { marks[mark.kind, default: 0] += 1 }
    }
}
