import Inflight
import InflightCore

/// The record of one load of the engine, from its events and from reports of the command.
///
/// Confined to the queue of its book. Times are microseconds since the run began.
final class LoadTrack {
    /// The jobs that the load has waited for, in that order; the command's own work comes last.
    private(set) var jobs: [JobTrack] = []
    private(set) var marks: [RunRecord.Mark] = []
    /// Its events in words, in order: memory hits, rerouting, and jobs that it shares with others.
    private(set) var words: [String] = []
    /// Whether the engine has reported its end.
    private(set) var isOver = false
    /// The line for which it began.
    var firstLine: Int?
    /// Whether a line has claimed it.
    var isClaimed = false
    private var finishedAt: Int?
    private var delivered: (start: Int, end: Int)?
    /// The lines of the load that have ended, until the engine has reported the end of the load, too.
    var concluded: [RunRecord.Load] = []

    func waits(for job: JobTrack) {
        for job in job.chain where !jobs.contains(where: { $0 === job }) {
            job.waiters += 1
            jobs.append(job)
        }
    }

    func joined(_ job: JobTrack, at time: Int) {
        let why = job.firstLine.map { "coalesced with line \($0)" } ?? "coalesced with a job in flight"
        marks.append(RunRecord.Mark(kind: .joined, at: time, why: why))
        words.append(why)
    }

    func observe(_ kind: ImagePipeline.Event.Kind, at time: Int) {
        switch kind {
        case .foundInMemory: words.append("in memory")
        case .rerouted(let why): words.append(why)
        case .finished: finishedAt = time
        case .delivered, .dropped:
            isOver = true
            if let finishedAt, time > finishedAt { delivered = (finishedAt, time) }
        case .cancelled:
            isOver = true
            marks.append(RunRecord.Mark(kind: .cancelled, at: time, why: ""))
        default: break
        }
    }

    /// The command itself has processed the load's body.
    func worked(_ stage: RunRecord.Stage, _ kind: RunRecord.Job.Kind, subject: String, from start: Int, to end: Int) {
        let job = JobTrack(kind: kind, subject: subject, start: start)
        job.waiters = 1
        job.add(stage, from: start, to: end)
        job.ended(at: end)
        jobs.append(job)
    }

    /// Returns the spans within a line's own time. The number of a job is its index in ``jobs``.
    func spans(from start: Int, to end: Int) -> [RunRecord.Span] {
        var spans: [RunRecord.Span] = []
        for (number, job) in jobs.enumerated() {
            for span in job.spans {
                let (first, last) = (max(span.start, start), min(span.end, end))
                if last > first {
                    spans.append(RunRecord.Span(stage: span.stage, start: first, end: last, job: number))
                }
            }
        }
        if let delivered, min(delivered.end, end) > max(delivered.start, start) {
            spans.append(
                RunRecord.Span(
                    stage: .deliver, start: max(delivered.start, start), end: min(delivered.end, end), job: nil))
        }
        return spans.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
            .map(\.element)
    }

    func marks(from start: Int, to end: Int) -> [RunRecord.Mark] {
        (marks + jobs.flatMap(\.marks)).filter { (start...max(start, end)).contains($0.at) }
            .enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}
