/// The totals of a recorded run.
struct RecordTotals: Equatable, Sendable {
    /// Failures with one code, and with one status if that is the reason.
    struct FailureGroup: Equatable, Sendable {
        var code: String
        var status: Int?
        /// The message of one of them.
        var message: String
        var count: Int
    }

    var loads = 0
    var outcomes: [RunRecord.Load.Outcome: Int] = [:]
    /// The bytes of all delivered bodies. A body that was delivered to several loads counts for each of them.
    var bytes: Int64 = 0
    /// The loads that gave an image.
    var images = 0
    var jobs: [RunRecord.Job.Kind: Int] = [:]
    var marks: [RunRecord.Mark.Kind: Int] = [:]
    var failures: [FailureGroup] = []
    var timeline = LoadTimeline()

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
        if load.width != nil, load.error == nil { images += 1 }
        for mark in load.marks { marks[mark.kind, default: 0] += 1 }
        if let error = load.error { add(error, status: load.status) }
        timeline.add(load)
    }

    private mutating func add(_ error: RunRecord.Failure, status: Int?) {
        let status = error.code == "badStatus" ? status : nil
        if let index = failures.firstIndex(where: { $0.code == error.code && $0.status == status }) {
            failures[index].count += 1
        } else {
            failures.append(FailureGroup(code: error.code, status: status, message: error.message, count: 1))
        }
    }
}

/// The loads that began, ended and failed in each part of a run. The parts get longer with the run, so that a long one
/// takes as much memory as a short one.
struct LoadTimeline: Equatable, Sendable {
    struct Part: Equatable, Sendable {
        var started = 0
        var ended = 0
        var failed = 0
    }

    /// The maximum number of parts, as many as a drawing can show.
    private static let most = 1024

    /// The length of a part in microseconds.
    private(set) var step = 1
    private(set) var parts: [Part] = []

    mutating func add(_ load: RunRecord.Load) {
        let end = max(load.start, load.end)
        while end / step >= Self.most { merge() }
        while parts.count <= end / step { parts.append(Part()) }
        parts[load.start / step].started += 1
        parts[end / step].ended += 1
        if load.outcome == .failed { parts[end / step].failed += 1 }
    }

    /// Doubles the length of the parts.
    private mutating func merge() {
        step *= 2
        for (index, part) in parts.enumerated() {
            if index % 2 == 0 {
                parts[index / 2] = part
            } else {
                parts[index / 2].started += part.started
                parts[index / 2].ended += part.ended
                parts[index / 2].failed += part.failed
            }
        }
        parts.removeLast(parts.count / 2)
    }
}
