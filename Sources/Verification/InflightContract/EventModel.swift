public import InflightCore

/// The rules that the events of a pipeline must satisfy together.
///
/// - A load is requested once, before any other event of it, and has exactly one ending, after which no event follows.
/// - It subscribes to jobs only while they are live. A job works on the result of an existing one.
/// - A job is queued and started in turn, in the same lane, and has exactly one ending. Events of its exchange occur
///   while it has a slot, and each exchange that is sent ends before the next.
public struct EventModel: Sendable {
    private struct Task {
        var isFinished = false
        var hasEnded = false
        var waits = false
    }

    private enum State: Equatable {
        case waiting
        case queued(ImagePipeline.Event.Lane)
        case running(ImagePipeline.Event.Lane)
        case ended
    }

    private struct Job {
        var state = State.waiting
        var isSent = false
        var isAbandoned = false
        var storing = 0
    }

    private var tasks: [ImagePipeline.Event.TaskNumber: Task] = [:]
    private var jobs: [ImagePipeline.Event.JobNumber: Job] = [:]
    /// A description of the first violated rule.
    public private(set) var problem: String?

    public init() {}

    private mutating func report(_ text: String, _ event: ImagePipeline.Event) {
        guard problem == nil else { return }
        problem = "\(text): task \(event.task ?? 0), job \(event.job ?? 0), \(event.kind)"
    }

    public mutating func observe(_ event: ImagePipeline.Event) {
        if let task = event.task {
            observe(event, of: task)
        } else if let job = event.job {
            observe(event, ofJob: job)
        } else {
            report("neither a task nor a job", event)
        }
    }

    private mutating func observe(_ event: ImagePipeline.Event, of number: ImagePipeline.Event.TaskNumber) {
        if case .requested = event.kind {
            if tasks.updateValue(Task(), forKey: number) != nil { report("requested twice", event) }
            return
        }
        guard var task = tasks[number] else { return report("never requested", event) }
        if task.hasEnded { report("after its ending", event) }
        switch event.kind {
        case .subscribed, .coalesced:
            let state = event.job.flatMap { jobs[$0]?.state }
            if state == nil || state == .ended { report("its job is not live", event) }
            if event.kind == .coalesced, !task.waits { report("coalesced before its subscription", event) }
            task.waits = true
        case .finished:
            if task.isFinished { report("finished twice", event) }
            task.isFinished = true
        case .delivered, .dropped:
            if !task.isFinished { report("delivered or dropped before it finished", event) }
            task.hasEnded = true
        case .cancelled: task.hasEnded = true
        default: break
        }
        tasks[number] = task
    }

    private mutating func observe(_ event: ImagePipeline.Event, ofJob number: ImagePipeline.Event.JobNumber) {
        if case .created(_, _, let after) = event.kind {
            if jobs.updateValue(Job(), forKey: number) != nil { report("created twice", event) }
            if let after, jobs[after] == nil || jobs[after]?.state == .ended {
                report("works on the result of a job that is not live", event)
            }
            return
        }
        guard var job = jobs[number] else { return report("never created", event) }
        switch event.kind {
        case .storing: job.storing += 1
        case .stored:
            job.storing -= 1
            if job.storing < 0 { report("stored without a preceding storing event", event) }
        default:
            // A preview that is being decoded ends after the job.
            if case .previewed = event.kind { break }
            if job.state == .ended { report("after its ending", event) }
        }
        switch event.kind {
        case .queued(let lane):
            if job.state == .queued(lane) { report("queued twice", event) }
            if job.isAbandoned { report("queued after it was abandoned", event) }
            job.state = .queued(lane)
        case .started(let lane):
            if job.state != .queued(lane) { report("started in a lane in which it was not queued", event) }
            job.state = .running(lane)
        case .sent:
            if job.isSent { report("sent before its last exchange ended", event) }
            if case .running = job.state {} else { report("sent without a slot", event) }
            job.isSent = true
        case .exchangeEnded:
            if !job.isSent { report("an exchange ended without being sent", event) }
            job.isSent = false
        case .responded, .received:
            if !job.isSent { report("a response without an exchange", event) }
        case .abandoned:
            if job.isAbandoned { report("abandoned twice", event) }
            job.isAbandoned = true
        case .stopped:
            if !job.isAbandoned { report("stopped without being abandoned", event) }
        default: break
        }
        if event.kind.endsJob { job.state = .ended }
        jobs[number] = job
    }

    /// The problem found after everything has ended.
    public var atEnd: String? {
        if let problem { return problem }
        if let task = tasks.filter({ !$0.value.hasEnded }).keys.min() { return "task \(task) has no ending" }
        if let job = jobs.filter({ $0.value.state != .ended }).keys.min() { return "job \(job) has no ending" }
        if let job = jobs.filter({ $0.value.storing > 0 }).keys.min() { return "job \(job) never finishes storing" }
        return nil
    }
}
