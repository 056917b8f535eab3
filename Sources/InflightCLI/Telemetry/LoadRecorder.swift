import Inflight
import InflightConcurrency
import InflightCore

/// Keeps what came of each URL that was asked for, as far as the command sees it by itself: beginning, end, and outcome.
///
/// Confined to the run's queue. It takes memory for each load.
final class LoadRecorder {
    /// What a line tells of.
    enum Story {
        /// An answer that was not there before; those who ask for the same later name its key.
        case new(Report, key: String?)
        case repeated(key: String)
    }

    private let start: MonotonicTime
    private let startedAt: String
    private var loads: [RunRecord.Load] = []
    /// Where the first load of each key stands.
    private var places: [String: Int] = [:]
    private var samples: [RunRecord.BytesSample] = []

    /// - Parameter date: seconds since 1970 when the run began.
    init(start: MonotonicTime, date: Double) {
        self.start = start
        startedAt = Timestamp.text(secondsSince1970: date)
    }

    func concluded(_ waiter: Ask.Waiter, _ story: Story, from: String?, start: MonotonicTime, end: MonotonicTime) {
        var load = newLoad(waiter, outcome: .ok, start: start, end: end)
        load.from = from
        switch story {
        case .new(let report, let key):
            load.fill(report)
            guard let key else { break }
            // Of the two that stand for one answer only the first has fetched it.
            if places[key] == nil {
                places[key] = loads.count
                count(report.wireBytes ?? 0, at: load.end)
            }
        case .repeated(let key):
            guard let place = places[key] else { break }
            load.fill(loads[place])
        }
        if load.outcome == .failed {
            load.marks.append(RunRecord.Mark(kind: .failed, at: load.end, why: load.error?.code ?? ""))
        }
        loads.append(load)
    }

    /// The run ended before it did.
    func cancelled(_ waiter: Ask.Waiter, at end: MonotonicTime) {
        var load = newLoad(waiter, outcome: .cancelled, start: waiter.askedAt, end: end)
        load.marks = [RunRecord.Mark(kind: .cancelled, at: load.end, why: "the run was ended")]
        loads.append(load)
    }

    /// All of it, in the order of asking.
    func record(command: String, end: MonotonicTime) -> RunRecord {
        var record = RunRecord(command: command, startedAt: startedAt, duration: microseconds(end))
        record.loads = loads.sorted { $0.id < $1.id }
        record.bytes = samples
        let times = loads.lazy.filter { $0.outcome == .ok }.map { $0.end - $0.start }
        let bytes = loads.lazy.filter { $0.outcome == .ok }.compactMap { $0.bytes.map(Int.init) }
        record.histograms = [
            RunRecord.Histogram(name: "Time of a load that went well", unit: "us", of: Array(times)),
            RunRecord.Histogram(name: "Bytes of a body", unit: "B", of: Array(bytes)),
        ].filter { $0.count > 0 }
        return record
    }

    private func newLoad(
        _ waiter: Ask.Waiter, outcome: RunRecord.Load.Outcome, start: MonotonicTime, end: MonotonicTime
    ) -> RunRecord.Load {
        // The same rounding as that of the line: both say how long it took.
        let begin = microseconds(start)
        let duration = Int((end - start).saturatedNanoseconds / 1000)
        return RunRecord.Load(
            id: waiter.order, url: ShownCommand.withoutUser(waiter.text), outcome: outcome, start: begin,
            end: begin + duration)
    }

    private func count(_ bytes: Int64, at time: Int) {
        guard bytes > 0 else { return }
        samples.append(RunRecord.BytesSample(at: time, bytes: (samples.last?.bytes ?? 0) + bytes))
    }

    private func microseconds(_ time: MonotonicTime) -> Int {
        Int((time - start).saturatedNanoseconds / 1000)
    }
}

extension RunRecord.Load {
    fileprivate mutating func fill(_ report: Report) {
        switch report.outcome {
        case .ok: outcome = .ok
        case .failed: outcome = .failed
        case .skipped: outcome = .skipped
        }
        bytes = report.bytes
        status = report.status
        format = report.picture?.format.rawValue
        width = report.picture?.width
        height = report.picture?.height
        file = report.file
        error = report.error.map {
            RunRecord.Failure(code: $0.code.rawValue, stage: $0.stage.rawValue, message: $0.message)
        }
    }

    /// What came of the same before.
    fileprivate mutating func fill(_ other: RunRecord.Load) {
        outcome = other.outcome
        bytes = other.bytes
        status = other.status
        format = other.format
        width = other.width
        height = other.height
        file = other.file
        error = other.error
    }
}
