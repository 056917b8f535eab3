/// What a recorded run adds up to.
struct RecordTotals: Equatable {
    var loads = 0
    var outcomes: [RunRecord.Load.Outcome: Int] = [:]
    /// Of all bodies that were handed out; one that several loads got counts for each.
    var bytes: Int64 = 0
    var jobs: [RunRecord.Job.Kind: Int] = [:]
    var marks: [RunRecord.Mark.Kind: Int] = [:]

    init(_ record: RunRecord) {
        loads = record.loads.count
        for load in record.loads {
            outcomes[load.outcome, default: 0] += 1
            bytes += load.bytes ?? 0
            for mark in load.marks { marks[mark.kind, default: 0] += 1 }
        }
        for job in record.jobs { jobs[job.kind, default: 0] += 1 }
    }
}
