import Inflight
import InflightCore

/// The stages of one job and their times, for a job of the engine or for work of the command itself.
///
/// Confined to the queue of its book. Times are microseconds since the run began.
final class JobTrack {
    typealias Stage = RunRecord.Stage

    let kind: RunRecord.Job.Kind
    let subject: String
    let start: Int
    /// The job whose result is the input of this one.
    let after: JobTrack?
    private(set) var end: Int?
    var waiters = 0
    /// Whether the totals include it, because a load that used it is not kept.
    var isCounted = false
    /// The first line that waited for it.
    var firstLine: Int?
    private(set) var spans: [(stage: Stage, start: Int, end: Int)] = []
    private(set) var marks: [RunRecord.Mark] = []
    /// The results of cache lookups and other events in words, in order, for the story of one load.
    private(set) var words: [String] = []
    /// The lane that the job is in, and whether it is running there.
    var place: (lane: ImagePipeline.Event.Lane, isRunning: Bool)?
    /// The number of body bytes reported so far.
    var receivedBytes: Int64 = 0
    /// Whether the current request reads from this machine.
    private(set) var isLocal = false

    private var open: (stage: Stage, since: Int)?
    /// The time at which the request was sent or the last step of the connection ended.
    private var point = 0
    private var hasConnected = false
    private var hasFirstByte = false
    private var hasAnswer = false
    private var storing: [Int] = []

    init(kind: RunRecord.Job.Kind, subject: String, start: Int, after: JobTrack? = nil) {
        self.kind = kind
        self.subject = subject
        self.start = start
        self.after = after
    }

    /// Whether no more events will follow.
    var isOver: Bool { end != nil && storing.isEmpty }

    /// The job, after the jobs whose results are its input.
    var chain: [JobTrack] { (after?.chain ?? []) + [self] }

    func add(_ stage: Stage, from start: Int, to end: Int) {
        if end > start { spans.append((stage, start, end)) }
    }

    func begin(_ stage: Stage, at time: Int) {
        close(at: time)
        open = (stage, time)
    }

    func close(at time: Int) {
        if let open { add(open.stage, from: open.since, to: time) }
        open = nil
    }

    func ended(at time: Int) {
        close(at: time)
        end = time
        place = nil
    }

    private func mark(_ kind: RunRecord.Mark.Kind, at time: Int, _ why: String = "") {
        marks.append(RunRecord.Mark(kind: kind, at: time, why: why))
    }

    /// Records an event of this job, except for events about its place in a lane, which ``RunRecordBuilder`` handles.
    func observe(_ kind: ImagePipeline.Event.Kind, at time: Int) {
        switch kind {
        case .lookedUp(let found): words.append(Self.word(found))
        case .readFromStore(let bytes): words.append("read \(Quantity.bytes(bytes)) from the cache")
        case .sent(let method, let url, let resumesAt): sent(method, url, resumesAt, at: time)
        case .nameResolved:
            add(.nameLookup, from: point, to: time)
            point = max(point, time)
        case .connected(let reused):
            if !reused { add(.connect, from: point, to: time) }
            hasConnected = true
            point = max(point, time)
            words.append(reused ? "over a reused connection" : "over a new connection")
        case .secured:
            add(.tls, from: point, to: time)
            point = max(point, time)
        case .firstByte:
            add(.firstByte, from: point, to: time)
            hasFirstByte = true
            point = max(point, time)
        case .responded(let status): answered(status, at: time)
        case .exchangeEnded:
            if !hasAnswer, !isLocal { add(hasConnected ? .firstByte : .connect, from: point, to: time) }
            close(at: time)
        case .redirected(let url):
            mark(.redirected, at: time, url)
            words.append("redirected to \(url)")
        case .revalidated:
            mark(.revalidated, at: time)
            words.append("cached response revalidated")
        case .resumed(let start):
            mark(.resumed, at: time, "from byte \(start)")
            words.append("resumed from byte \(Quantity.grouped(Int(start)))")
        case .resent(let why): retried(at: time, why)
        case .retryScheduled(let after, let why):
            retried(at: time, "\(why), after \(Quantity.time(after))")
            begin(.backoff, at: time)
        case .previewed: mark(.preview, at: time)
        case .failed(_, let why): mark(.failed, at: time, why)
        case .storing: storing.append(time)
        case .stored:
            if !storing.isEmpty { add(.store, from: storing.removeFirst(), to: time) }
        default: break
        }
    }

    private func sent(_ method: String, _ url: String, _ resumesAt: Int64, at time: Int) {
        close(at: time)
        point = time
        (hasConnected, hasFirstByte, hasAnswer) = (false, false, false)
        isLocal = url.hasPrefix("file:") || url.hasPrefix("data:")
        if isLocal {
            begin(.disk, at: time)
        } else {
            words.append("sent \(method)\(resumesAt > 0 ? " for the missing bytes" : "")")
        }
    }

    private func answered(_ status: Int, at time: Int) {
        hasAnswer = true
        guard !isLocal else { return }
        if !hasFirstByte { add(.firstByte, from: point, to: time) }
        begin(.download, at: max(point, hasFirstByte ? point : time))
        words.append("received \(status)")
    }

    private func retried(at time: Int, _ why: String) {
        mark(.retried, at: time, why)
        words.append("retried: \(why)")
    }

    private static func word(_ found: ImagePipeline.Event.LookUp) -> String {
        switch found {
        case .nothing: "cache miss"
        case .fresh: "cache hit, fresh"
        case .stale: "cache hit, stale but allowed"
        case .validator: "cache hit, requires revalidation"
        case .part: "cache hit, partial response"
        case .useless: "cached response not usable"
        }
    }
}
