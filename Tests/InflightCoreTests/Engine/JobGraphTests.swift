import InflightConcurrency
import Testing

@testable import InflightCore

/// A graph whose tasks and jobs have names, and whose actions are lines of text.
final class GraphWorld {
    var graph: JobGraph
    var jobs: [String: JobGraph.JobID] = [:]
    var tasks: [String: JobGraph.TaskID] = [:]
    var now = MonotonicTime.zero
    /// The number of jobs that were made.
    let made = Guarded(0)
    /// Its tasks and jobs belong to this engine, which they never use.
    private static let engine = try! Stage().pipeline.engine

    private static func task(_ name: String) -> ImageTask {
        let error = LoadError(.invalidRequest, stage: .request, message: "It is never loaded.")
        return ImageTask(
            .rejected(ImageTask.RejectedRequest(ImageRequest(name), error, .data)),
            engine: engine, sink: nil, observesProgress: false)
    }

    static func name(_ task: ImageTask) -> String { task.request.url }
    private func name(_ job: Job) -> String { jobs.first { $0.value == job.id }?.key ?? "another job" }

    init(fetches: Int = 2, perOrigin: Int = .max, decodes: Int = 2, reserve: Int = 0, lookUps: Int = 2) {
        var fetchLane = Lane<JobGraph.JobID, OriginKey>.Configuration(limit: fetches)
        fetchLane.groupLimit = perOrigin
        fetchLane.reserve = reserve
        graph = JobGraph(
            storeLane: .init(limit: lookUps), fetchLane: fetchLane, decodeLane: .init(limit: decodes))
        graph.makeJob = { [made] plan, _, id in
            made.withLock { $0 += 1 }
            return Job(engine: Self.engine, id: id, plan: plan)
        }
        graph.journal = []
    }

    static let origin = OriginKey(Origin(scheme: "https", host: "a.example", port: 443))
    static let otherOrigin = OriginKey(Origin(scheme: "https", host: "b.example", port: 443))

    /// `"u"`: the bytes of `u`; `"u@s"`: its image at size `s`; `"u@s+p"`: that image processed with `p`.
    private static func plan(_ want: String, _ origin: OriginKey) -> RequestPlan {
        let parts = want.split(separator: "@", maxSplits: 1)
        var request = ImageRequest("\(origin)/\(parts[0])")
        guard parts.count > 1 else { return try! RequestPlan(request, goal: .data, fieldsExcludedFromKey: []) }
        let stages = parts[1].split(separator: "+").map(String.init)
        request.resize = Resize(width: Int(stages[0]))
        request.processors = stages.dropFirst().map { ImageProcessor(FakeProcessor(name: $0)) }
        return try! RequestPlan(request, goal: .image, fieldsExcludedFromKey: [])
    }

    /// Jobs are named after their results: `u`, `u@s`, `u@s+p`. A second job for the same key gets an apostrophe.
    func add(
        _ task: String, _ want: String, _ priority: ImageRequest.Priority = .normal, origin: OriginKey = origin,
        first: JobGraph.LaneName = .fetch, observes: Bool = false
    ) -> [String] {
        var actions = JobGraph.Actions()
        let stages = want.split(separator: "+").map(String.init)
        let (id, _) = graph.taskAdded(
            Self.task(task), plan: Self.plan(want, origin), first: first, priority: priority, observes: observes,
            now: now, actions: &actions)
        for case .made(let id, let position, _) in graph.takeJournal() ?? [] {
            var name =
                position == 0
                ? String(want.split(separator: "@")[0]) : stages[0...(position - 1)].joined(separator: "+")
            while jobs[name] != nil { name += "'" }
            jobs[name] = id
        }
        tasks[task] = id
        return lines(actions)
    }

    var isIdle: Bool { graph.isIdle }

    func cancel(_ task: String) -> [String] {
        var actions = JobGraph.Actions()
        if let id = tasks[task] { graph.taskCancelled(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func prioritize(_ task: String, _ priority: ImageRequest.Priority) -> [String] {
        var actions = JobGraph.Actions()
        if let id = tasks[task] { graph.taskPriorityChanged(id, to: priority, now: now, actions: &actions) }
        return lines(actions)
    }

    func succeed(_ job: String) -> [String] {
        var actions = JobGraph.Actions()
        if let id = jobs[job] { graph.jobSucceeded(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func jobEndedWithoutWork(_ job: String) {
        if let id = jobs[job] { graph.jobEndedWithoutWork(id) }
    }

    func fail(_ job: String) -> [String] {
        var actions = JobGraph.Actions()
        if let id = jobs[job] { graph.jobFailed(id, now: now, actions: &actions) }
        return lines(actions)
    }

    /// Moves a job after a redirect (`ahead`, because it has had a slot before) or after a miss in the store.
    func move(_ job: String, to origin: OriginKey, ahead: Bool = true) -> [String] {
        var actions = JobGraph.Actions()
        if let id = jobs[job] {
            graph.jobMoved(id, to: .fetch, origin: origin, ahead: ahead, now: now, actions: &actions)
        }
        return lines(actions)
    }

    func goToSleep(_ job: String) -> [String] {
        var actions = JobGraph.Actions()
        if let id = jobs[job] { graph.jobSlept(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func wake(_ job: String) -> [String] {
        var actions = JobGraph.Actions()
        if let id = jobs[job] { graph.jobWoke(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func leaveTable(_ job: String) {
        if let id = jobs[job] { graph.jobLeftTable(id) }
    }

    func setLimit(_ limit: Int) -> [String] {
        var actions = JobGraph.Actions()
        graph.originLimitChanged(Self.origin, to: limit, now: now, actions: &actions)
        return lines(actions)
    }

    private func lines(_ actions: JobGraph.Actions) -> [String] {
        actions.map { action in
            switch action {
            case .start(let job, let priority): "start \(name(job)) \(priority)"
            case .cancel(let job): "cancel \(name(job))"
            case .discard(let job): "discard \(name(job))"
            case .reprioritize(let job, let priority): "reprioritize \(name(job)) \(priority)"
            case .limitsChanged(let job): "limits of \(name(job))"
            case .feed(let job, let from): "feed \(name(job)) from \(name(from))"
            case .report(let task, let progress): "report \(progress.receivedBytes) to \(Self.name(task))"
            case .deliver(let task, let from): "deliver \(Self.name(task)) from \(name(from))"
            case .refuse(let job, let refusal): "refuse \(name(job)) for \(refusal.origin)"
            case .scheduleProbe(let origin, let time): "probe \(origin) at \(time.nanoseconds)"
            }
        }
    }
}

@Suite("Job graph", .timeLimit(.minutes(10)))
struct JobGraphTests {
    @Test("A high-priority subscriber starts a queued low-priority job in the reserved slot at once")
    func raisedIntoTheReserve() {
        let world = GraphWorld(fetches: 2, reserve: 1)
        #expect(world.add("a", "u", .low) == ["start u low"])
        #expect(world.add("b", "v", .low) == [])
        #expect(world.add("c", "v", .high) == ["start v high"])
    }

    @Test("A task passes through fetch, decode and processing to its ending")
    func stages() {
        let world = GraphWorld()
        #expect(world.add("t", "u@100+blur") == ["start u normal"])
        #expect(world.succeed("u") == ["feed u@100 from u", "start u@100 normal"])
        #expect(world.succeed("u@100") == ["feed u@100+blur from u@100", "start u@100+blur normal"])
        #expect(world.succeed("u@100+blur") == ["deliver t from u@100+blur"])
        #expect(world.isIdle)
    }

    @Test("Tasks with equal keys share one job at every stage")
    func sharing() {
        let world = GraphWorld()
        #expect(world.add("a", "u@100") == ["start u normal"])
        #expect(world.add("b", "u@100") == [])
        #expect(world.add("c", "u@200") == [])
        #expect(world.add("d", "u") == [])
        #expect(world.add("e", "u@100+blur") == [])
        #expect(
            world.succeed("u") == [
                "deliver d from u", "feed u@100 from u", "start u@100 normal", "feed u@200 from u",
                "start u@200 normal",
            ])
        #expect(
            world.succeed("u@100") == [
                "deliver a from u@100", "deliver b from u@100", "feed u@100+blur from u@100",
                "start u@100+blur normal",
            ])
    }

    @Test("A job is made when it starts, not while it is queued, and never if it is cancelled before")
    func onDemand() {
        let world = GraphWorld(fetches: 1)
        #expect(world.add("a", "u@100") == ["start u normal"])
        #expect(world.add("b", "v@100") == [])
        #expect(world.add("c", "w@100") == [])
        #expect(world.made.withLock { $0 } == 1)
        #expect(world.cancel("b") == [])
        #expect(world.succeed("u") == ["feed u@100 from u", "start u@100 normal", "start w normal"])
        #expect(world.made.withLock { $0 } == 3)
    }

    @Test("A job stops when its last subscriber leaves, and not before")
    func lastOneOut() {
        let world = GraphWorld()
        _ = world.add("a", "u@100")
        _ = world.add("b", "u@100")
        _ = world.add("c", "u@200")
        #expect(world.cancel("a") == [])
        #expect(world.cancel("b") == [])
        #expect(world.cancel("c") == ["cancel u"])
        #expect(!world.isIdle)
        #expect(world.fail("u") == [])
        #expect(world.isIdle)
    }

    @Test("A new task neither joins nor waits for a job that is being cancelled")
    func newcomer() {
        let world = GraphWorld(fetches: 2)
        _ = world.add("a", "u")
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.add("b", "u") == ["start u' normal"])
        // The cancelled job succeeds anyway: nothing is delivered, and the new job remains the job of its key.
        #expect(world.succeed("u") == [])
        #expect(world.add("c", "u") == [])
        #expect(world.succeed("u'") == ["deliver b from u'", "deliver c from u'"])
    }

    @Test("Cache lookups run beside fetches, and only a miss waits for a fetch slot")
    func storeLane() {
        let world = GraphWorld(fetches: 1, lookUps: 2)
        #expect(world.add("a", "u", first: .store) == ["start u normal"])
        #expect(world.add("b", "v", first: .store) == ["start v normal"])
        #expect(world.add("c", "w", first: .store) == [])
        // A miss: the job is fetched, and its slot goes to the next lookup.
        #expect(world.move("u", to: GraphWorld.origin, ahead: false) == ["start w normal", "start u normal"])
        #expect(world.graph.startedFetches == 1)
        // The start of a lookup does not count as a fetch.
        world.jobEndedWithoutWork("w")
        #expect(world.graph.startedFetches == 1)
        world.jobEndedWithoutWork("u")
        #expect(world.graph.startedFetches == 0)
        #expect(world.move("v", to: GraphWorld.origin, ahead: false) == [])
        // A hit: queued fetches do not delay it.
        #expect(world.succeed("w") == ["deliver c from w"])
        #expect(world.succeed("u") == ["deliver a from u", "start v normal"])
        #expect(world.succeed("v") == ["deliver b from v"])
        #expect(world.isIdle)
    }

    @Test("A sleeping job frees its slot, ignores priority changes, and wakes at the front of its level")
    func sleeping() {
        let world = GraphWorld(fetches: 1)
        #expect(world.add("a", "u") == ["start u normal"])
        #expect(world.add("b", "v") == [])
        #expect(world.add("c", "w") == [])
        #expect(world.goToSleep("u") == ["start v normal"])
        #expect(world.prioritize("a", .high) == [])
        #expect(world.prioritize("a", .normal) == [])
        #expect(world.add("d", "u") == [], "who comes while it sleeps waits with it")
        #expect(world.wake("u") == [])
        #expect(world.wake("u") == [], "it woke before")
        #expect(world.succeed("v") == ["deliver b from v", "start u normal"])
        #expect(world.succeed("u") == ["deliver a from u", "deliver d from u", "start w normal"])
    }

    @Test("A sleeping job is discarded when its last subscriber leaves, and never wakes")
    func leftAsleep() {
        let world = GraphWorld(fetches: 1)
        _ = world.add("a", "u")
        #expect(world.goToSleep("u") == [])
        #expect(!world.isIdle)
        #expect(world.cancel("a") == ["discard u"])
        #expect(world.isIdle)
        #expect(world.wake("u") == [])
        #expect(world.add("b", "u") == ["start u' normal"])
    }

    @Test("A cancelled job is discarded instead of going to sleep")
    func abandonedBeforeSleep() {
        let world = GraphWorld(fetches: 1)
        _ = world.add("a", "u")
        _ = world.add("b", "v")
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.goToSleep("u") == ["discard u", "start v normal"])
    }

    @Test("A cancelled job keeps its slot until it has stopped")
    func place() {
        let world = GraphWorld(fetches: 1)
        _ = world.add("a", "u")
        #expect(world.add("b", "v") == [])
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.fail("u") == ["start v normal"])
    }

    @Test("A job has the highest priority of its subscribers at every stage, up and down")
    func priorities() {
        let world = GraphWorld(fetches: 1)
        _ = world.add("running", "r")
        _ = world.add("a", "u@100", .low)
        _ = world.add("v", "v", .normal)
        // The new subscriber raises the fetch behind the decode, and lowers it again by leaving.
        _ = world.add("b", "u@100", .veryHigh)
        #expect(world.succeed("r") == ["deliver running from r", "start u veryHigh"])
        #expect(world.cancel("b") == ["reprioritize u low"])
        #expect(world.prioritize("a", .high) == ["reprioritize u high"])
        #expect(world.prioritize("a", .high) == [])
    }

    @Test("A raised job starts before older queued jobs of lower priority")
    func raising() {
        let world = GraphWorld(fetches: 1)
        _ = world.add("running", "r")
        _ = world.add("a", "u")
        _ = world.add("b", "v")
        _ = world.prioritize("b", .high)
        #expect(world.succeed("r") == ["deliver running from r", "start v high"])
    }

    @Test("A failed job ends its subscribers at every stage, and their jobs are never made")
    func failure() {
        let world = GraphWorld()
        _ = world.add("a", "u@100+blur")
        _ = world.add("b", "u@100")
        _ = world.add("c", "u")
        #expect(world.fail("u") == ["deliver c from u", "deliver b from u", "deliver a from u"])
        #expect(world.isIdle)
    }

    @Test("A task can be cancelled only once, and not after its ending")
    func idempotent() {
        let world = GraphWorld()
        _ = world.add("a", "u")
        #expect(world.succeed("u") == ["deliver a from u"])
        #expect(world.cancel("a") == [])
        _ = world.add("b", "u")
        // The slot was reused: the old ID refers to no task.
        #expect(world.cancel("a") == [])
        #expect(world.cancel("b") == ["cancel u'"])
        #expect(world.cancel("b") == [])
    }

    @Test("A redirected job moves to the target origin, ahead of the jobs queued there")
    func redirects() {
        let world = GraphWorld(fetches: 10, perOrigin: 1)
        _ = world.add("a", "u")
        _ = world.add("b", "v", origin: GraphWorld.otherOrigin)
        #expect(world.add("c", "w", origin: GraphWorld.otherOrigin) == [])
        #expect(world.add("d", "x") == [])
        #expect(world.move("u", to: GraphWorld.otherOrigin) == ["start x normal"])
        #expect(world.succeed("v") == ["deliver b from v", "start u normal"])
        #expect(world.succeed("u") == ["deliver a from u", "start w normal"])
    }

    @Test("A cancelled job is discarded when it is redirected")
    func lateRedirect() {
        let world = GraphWorld()
        _ = world.add("a", "u@100")
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.move("u", to: GraphWorld.otherOrigin) == ["discard u"])
        #expect(world.isIdle)
    }

    @Test("A job that has left the table and its later stages are not joined, but end their tasks")
    func unjoinable() {
        let world = GraphWorld(fetches: 10)
        _ = world.add("a", "u@100+blur")
        world.leaveTable("u")
        #expect(world.add("b", "u@100+blur") == ["start u' normal"])
        #expect(world.succeed("u") == ["feed u@100 from u", "start u@100 normal"])
        #expect(world.succeed("u'") == ["feed u@100' from u'", "start u@100' normal"])
        #expect(world.fail("u@100") == ["deliver a from u@100"])
        #expect(world.fail("u@100'") == ["deliver b from u@100'"])
        #expect(world.isIdle)
    }

    @Test("Raising the limit of an origin starts its queued jobs")
    func multiplexing() {
        let world = GraphWorld(fetches: 10, perOrigin: 1)
        _ = world.add("a", "u")
        #expect(world.add("b", "v") == [])
        #expect(world.add("c", "w") == [])
        #expect(world.setLimit(64) == ["start v normal", "start w normal"])
    }

    @Test("A job is observed while a task that observes it, or a job after it, is there")
    func observers() throws {
        let world = GraphWorld()
        _ = world.add("a", "u")
        _ = world.add("b", "u@100+blur", observes: true)
        _ = world.add("c", "u@100", observes: true)
        let fetch = try #require(world.jobs["u"])
        let decode = try #require(world.jobs["u@100"])
        func isObserved() -> [Bool] { [world.graph.isObserved(fetch), world.graph.isObserved(decode)] }
        #expect(isObserved() == [true, true])
        _ = world.cancel("b")
        #expect(isObserved() == [true, true])
        _ = world.cancel("c")
        #expect(isObserved() == [false, false])
        _ = world.add("d", "u@50", observes: true)
        #expect(isObserved() == [true, false])
        _ = world.succeed("u")
        let next = world.graph.isObserved(try #require(world.jobs["u@50"]))
        #expect(next)
        _ = world.add("e", "v")
        let other = world.graph.isObserved(try #require(world.jobs["v"]))
        #expect(!other)
    }

    @Test("The tasks of a job include those that wait for its later stages")
    func listeners() {
        let world = GraphWorld()
        for (task, want) in [("a", "u"), ("b", "u@100"), ("c", "u@100+blur"), ("d", "v")] { _ = world.add(task, want) }
        var names: [String] = []
        if let id = world.jobs["u"] { world.graph.forEachTask(of: id) { names.append(GraphWorld.name($1)) } }
        #expect(names.sorted() == ["a", "b", "c"])
    }
}
