import Inflight
import InflightConcurrency
import InflightCore

/// Builds the record of a run from pipeline events and the command's reports: no clock, no lock, no I/O.
///
/// Confined to the queue of the recorder that holds it. Its memory is bounded, however many lines there are.
struct RunRecordBuilder {
    /// A load that has ended for the engine and for the command.
    struct EndedLoad {
        var load: RunRecord.Load
        let track: LoadTrack?
    }

    private let start: MonotonicTime
    private var tasks: [ImagePipeline.Event.TaskNumber: LoadTrack] = [:]
    private var jobs: [ImagePipeline.Event.JobNumber: JobTrack] = [:]
    /// The load of each line.
    private var claims: [Int: LoadTrack] = [:]
    /// For each line that was coalesced with another line's load, that other line.
    private var sharers: [Int: Int] = [:]
    /// Ended tasks that no line has claimed: the engine's own, or those that a line is about to claim.
    private var unclaimed: [ImagePipeline.Event.TaskNumber] = []
    private static let mostUnclaimed = 4096
    private(set) var kept: RetainedLoads<EndedLoad>
    private(set) var lanes = LaneOccupancy()
    private var bytes = Samples<Int64>()
    private var receivedBytes: Int64 = 0
    private var histograms: [String: ImagePipeline.Histogram] = [:]
    private var missedEvents = 0
    /// The totals of the loads that are not kept.
    private var unlisted = RecordTotals()
    /// The thumbnails, by the line whose load provided the image. ``ThumbnailBudget`` limits their number.
    private var thumbnails: [Int: [UInt8]] = [:]
    private var answers: [String: RunRecord.Load] = [:]
    private static let mostAnswers = 10_000
    /// The lines that have ended since the last ``takeFinished()``, if stories are printed.
    private var finished: [EndedLoad] = []
    private let describesLoads: Bool

    init(start: MonotonicTime, kept: RetainedLoads<EndedLoad> = RetainedLoads(), describesLoads: Bool = false) {
        self.start = start
        self.kept = kept
        self.describesLoads = describesLoads
    }

    func microseconds(_ time: MonotonicTime) -> Int {
        max(0, Int((time - start).saturatedNanoseconds / 1000))
    }

    // MARK: Events from the pipeline

    mutating func observe(_ event: ImagePipeline.Event) {
        let time = microseconds(event.time)
        switch (event.task, event.job) {
        case (let task?, let job): observe(event.kind, of: task, job.flatMap { jobs[$0] }, at: time)
        case (nil, let job?): observe(event.kind, of: job, at: time)
        case (nil, nil): break
        }
    }

    private mutating func observe(
        _ kind: ImagePipeline.Event.Kind, of number: ImagePipeline.Event.TaskNumber, _ job: JobTrack?, at time: Int
    ) {
        if case .requested = kind, tasks[number] == nil { tasks[number] = LoadTrack() }
        guard let track = tasks[number] else { return }
        switch kind {
        case .subscribed:
            job.map { track.waits(for: $0) }
            if let line = track.firstLine { name(track, line) }
        case .coalesced: job.map { track.joined($0, at: time) }
        default:
            track.observe(kind, at: time)
            guard track.isOver else { return }
            if track.isClaimed { return retire(number, track) }
            unclaimed.append(number)
            if unclaimed.count > Self.mostUnclaimed {
                for number in unclaimed.prefix(Self.mostUnclaimed / 2) where tasks[number]?.isClaimed == false {
                    tasks[number] = nil
                }
                unclaimed.removeFirst(Self.mostUnclaimed / 2)
            }
        }
    }

    private mutating func observe(
        _ kind: ImagePipeline.Event.Kind, of number: ImagePipeline.Event.JobNumber, at time: Int
    ) {
        if case .created(let kind, let subject, let after) = kind {
            jobs[number] = JobTrack(
                kind: Self.kind(kind), subject: subject, start: time, after: after.flatMap { jobs[$0] })
            return
        }
        guard let job = jobs[number] else { return }
        switch kind {
        case .queued(let lane):
            lanes.move(&job.place, to: (lane, false), at: time)
            job.begin(.queued, at: time)
        case .started(let lane):
            lanes.move(&job.place, to: (lane, true), at: time)
            job.close(at: time)
            switch lane {
            case .store: job.begin(.disk, at: time)
            case .decode: job.begin(job.kind == .process ? .process : .decode, at: time)
            case .fetch: break
            }
        case .received(let bytes):
            guard !job.isLocal else { break }
            receivedBytes += max(0, bytes - job.receivedBytes)
            job.receivedBytes = bytes
            self.bytes.add(receivedBytes, at: time)
        default:
            if case .sent = kind { job.receivedBytes = 0 }
            if case .retryScheduled = kind { lanes.move(&job.place, to: nil, at: time) }
            job.observe(kind, at: time)
        }
        if kind.endsJob {
            lanes.move(&job.place, to: nil, at: time)
            job.ended(at: time)
            for span in job.spans { count(span.end - span.start, span.stage.rawValue) }
        }
        if job.isOver { jobs[number] = nil }
    }

    /// Events were lost, possibly the ends of loads. So from now on, a load ends with the command's report.
    mutating func missed(_ count: Int) {
        guard count > 0 else { return }
        missedEvents += count
        for (number, track) in tasks where track.isClaimed { retire(number, track) }
        jobs = jobs.filter { _, job in tasks.values.contains { $0.jobs.contains { $0 === job } } }
    }

    private static func kind(_ kind: ImagePipeline.Event.JobKind) -> RunRecord.Job.Kind {
        switch kind {
        case .fetch, .source, .lookUp: .fetch
        case .decode: .decode
        case .process: .process
        }
    }

    private mutating func count(_ value: Int, _ name: String) {
        histograms[name, default: ImagePipeline.Histogram()].record(Int64(value))
    }

    // MARK: Reports from the command

    /// A line's load has begun, or the line was coalesced with a load in flight.
    mutating func claimed(_ number: ImagePipeline.Event.TaskNumber, by line: Int) {
        guard number > 0 else { return }
        let track = tasks[number] ?? LoadTrack()
        tasks[number] = track
        if let first = track.firstLine { sharers[line] = first }
        track.firstLine = track.firstLine ?? line
        track.isClaimed = true
        claims[line] = track
        name(track, line)
    }

    /// Labels the jobs of a load with the first line that waited for them.
    private func name(_ track: LoadTrack, _ line: Int) {
        for job in track.jobs where job.firstLine == nil { job.firstLine = line }
    }

    /// The command itself has processed the body of a line's load.
    mutating func worked(_ line: Int, _ work: [ProcessingStep], subject: String) {
        guard let track = claims[line] else { return }
        for work in work {
            let (first, last) = (microseconds(work.start), microseconds(work.end))
            let kind = RunRecord.Job.Kind(rawValue: work.stage.rawValue) ?? .store
            track.worked(work.stage, kind, subject: subject, from: first, to: last)
            count(last - first, work.stage.rawValue)
        }
    }

    /// A thumbnail was made from the result of a line's load.
    mutating func showed(_ thumbnail: [UInt8], of line: Int) {
        thumbnails[line] = thumbnail
    }

    /// Remembers a result for later lines with the same URL. Only the first 10,000 results are remembered.
    mutating func remember(_ load: RunRecord.Load, as key: String) {
        if answers.count < Self.mostAnswers, answers[key] == nil { answers[key] = load }
    }

    func answer(of key: String) -> RunRecord.Load? { answers[key] }

    /// A line has ended.
    mutating func concluded(_ load: RunRecord.Load) {
        var load = load
        if let first = sharers.removeValue(forKey: load.id) {
            load.marks.append(RunRecord.Mark(kind: .joined, at: load.start, why: "coalesced with line \(first)"))
        }
        if load.outcome == .ok || load.outcome == .failed { count(load.end - load.start, Self.total) }
        if let bytes = load.bytes { count(Int(bytes), Self.bodies) }
        guard let track = claims.removeValue(forKey: load.id) else { return keep(EndedLoad(load: load, track: nil)) }
        track.concluded.append(load)
        if track.isOver || missedEvents > 0 { settle(track) }
    }

    private mutating func retire(_ number: ImagePipeline.Event.TaskNumber, _ track: LoadTrack) {
        tasks[number] = nil
        settle(track)
    }

    private mutating func settle(_ track: LoadTrack) {
        for load in track.concluded { keep(EndedLoad(load: load, track: track)) }
        track.concluded = []
    }

    private mutating func keep(_ load: EndedLoad) {
        for other in kept.add(load, duration: load.load.end - load.load.start) { forget(other) }
        // A load that several lines share is reported once.
        if describesLoads, load.track?.firstLine == load.load.id { finished.append(load) }
    }

    /// Drops a load, but adds it and its jobs to the totals.
    private mutating func forget(_ kept: EndedLoad) {
        var load = kept.load
        if let track = kept.track {
            load.marks += track.marks(from: load.start, to: load.end)
            for local in track.spans(from: load.start, to: load.end).compactMap(\.job) {
                let job = track.jobs[local]
                if !job.isCounted { unlisted.jobs[job.kind, default: 0] += 1 }
                job.isCounted = true
            }
        }
        unlisted.add(load)
    }

    var hasFinished: Bool { !finished.isEmpty }

    /// Returns and removes the loads that have ended since the last call.
    mutating func takeFinished() -> [EndedLoad] {
        defer { finished = [] }
        return finished
    }

    // MARK: The record

    /// Returns the record after the run. Lines without a reported ending are left out.
    mutating func record(
        command: String, startedAt: String, end: MonotonicTime, limits: [ImagePipeline.Event.Lane: Int]
    ) -> RunRecord {
        for (number, track) in tasks { retire(number, track) }
        for load in kept.settle() { forget(load) }
        var record = RunRecord(command: command, startedAt: startedAt, duration: microseconds(end))
        var numbers: [ObjectIdentifier: Int] = [:]
        for kept in kept.all.sorted(by: { $0.load.id < $1.load.id }) {
            var load = kept.load
            load.thumbnail = load.pictureLine.flatMap { thumbnails[$0] }
            if let track = kept.track {
                load.marks += track.marks(from: load.start, to: load.end)
                for var span in track.spans(from: load.start, to: load.end) {
                    if let local = span.job {
                        let job = track.jobs[local]
                        let number = numbers[ObjectIdentifier(job)] ?? record.jobs.count
                        if number == record.jobs.count {
                            numbers[ObjectIdentifier(job)] = number
                            // A dropped load that shared the job has counted it already.
                            if job.isCounted { unlisted.jobs[job.kind, default: 0] -= 1 }
                            record.jobs.append(
                                RunRecord.Job(
                                    kind: job.kind, subject: job.subject, start: job.start,
                                    end: job.end ?? record.duration, waiters: job.waiters))
                        }
                        span.job = number
                    }
                    load.spans.append(span)
                }
            }
            record.loads.append(load)
        }
        record.lanes = ImagePipeline.Event.Lane.allCases.map { lane in
            RunRecord.Lane(name: lane.rawValue, limit: limits[lane] ?? 0, samples: lanes.samples(of: lane))
        }
        record.bytes = bytes.values.map { RunRecord.BytesSample(at: $0.at, bytes: $0.value) }
        record.histograms = histograms.sorted { Self.rank($0.key) < Self.rank($1.key) }.map(Self.histogram)
        record.unlisted = unlisted
        record.dropped = missedEvents
        return record
    }

    /// The names of the histograms of no stage: durations of loads, and sizes of bodies.
    private static let total = "total"
    private static let bodies = "bodies"

    private static func rank(_ name: String) -> Int {
        RunRecord.Stage.allCases.firstIndex { $0.rawValue == name } ?? (name == total ? -2 : -1)
    }

    private static func histogram(_ name: String, _ histogram: ImagePipeline.Histogram) -> RunRecord.Histogram {
        RunRecord.Histogram(
            name: name, unit: name == bodies ? "B" : "us",
            buckets: RunRecord.Histogram.ranges(histogram.buckets),
            count: histogram.count, p50: Int(histogram.p50), p90: Int(histogram.p90), p95: Int(histogram.p95),
            p99: Int(histogram.p99))
    }
}

/// A step in which the command itself processed a loaded body.
struct ProcessingStep: Sendable {
    var stage: RunRecord.Stage
    var start: MonotonicTime
    var end: MonotonicTime
}
