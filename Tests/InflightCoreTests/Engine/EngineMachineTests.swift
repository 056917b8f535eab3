import InflightConcurrency
import Testing

@testable import InflightCore

/// The machine with tasks and jobs that are names, and what it says as lines.
final class MachineWorld {
    typealias Machine = EngineMachine<String, String>

    var machine: Machine
    var jobs: [String: Machine.JobID] = [:]
    var tasks: [String: Machine.TaskID] = [:]
    var now = MonotonicTime.zero

    init(fetches: Int = 2, perOrigin: Int = .max, decodes: Int = 2, reserve: Int = 0, lookUps: Int = 2) {
        var fetchLane = Lane<Machine.JobID, OriginKey>.Configuration(limit: fetches)
        fetchLane.groupLimit = perOrigin
        fetchLane.reserve = reserve
        machine = Machine(
            storeLane: .init(limit: lookUps), fetchLane: fetchLane, decodeLane: .init(limit: decodes))
    }

    static let origin = OriginKey(Origin(scheme: "https", host: "a.example", port: 443))
    static let otherOrigin = OriginKey(Origin(scheme: "https", host: "b.example", port: 443))

    /// `"u"`: the bytes of `u`; `"u@s"`: its picture at size `s`; `"u@s+p"`: that processed with `p`.
    static func steps(
        _ want: String, origin: OriginKey = origin, first: Machine.LaneName = .fetch
    ) -> [Machine.Step] {
        let parts = want.split(separator: "@", maxSplits: 1)
        let fetch = FetchKey(url: String(parts[0]), rest: [])
        var steps = [Machine.Step(key: fetch, lane: first, group: first == .store ? .none : origin)]
        guard parts.count > 1 else { return steps }
        let stages = parts[1].split(separator: "+").map(String.init)
        let decode = DecodeKey(fetch: fetch, options: DecodeOptions(resize: Resize(width: Int(stages[0]))))
        steps.append(Machine.Step(key: decode, lane: .decode, group: .none))
        for end in stages.indices.dropFirst() {
            steps.append(
                Machine.Step(
                    key: ProcessKey(decode: decode, identities: Array(stages[1...end])), lane: .decode, group: .none))
        }
        return steps
    }

    /// Jobs are named after what they make: `u`, `u@s`, `u@s+p`; a second one for the same key gets an apostrophe.
    func add(
        _ task: String, _ want: String, _ priority: LoadPriority = .normal, origin: OriginKey = origin,
        first: Machine.LaneName = .fetch
    ) -> [String] {
        var actions = Machine.Actions()
        var made = jobs
        let steps = Self.steps(want, origin: origin, first: first)
        let stages = want.split(separator: "+").map(String.init)
        let (id, _) = machine.taskAdded(
            task, steps: steps.count, step: { steps[$0] }, priority: priority, now: now, actions: &actions
        ) { position, id in
            var name =
                position == 0
                ? String(want.split(separator: "@")[0]) : stages[0...(position - 1)].joined(separator: "+")
            while made[name] != nil { name += "'" }
            made[name] = id
            return name
        }
        jobs = made
        tasks[task] = id
        return lines(actions)
    }

    var isIdle: Bool { machine.isIdle }

    func cancel(_ task: String) -> [String] {
        var actions = Machine.Actions()
        if let id = tasks[task] { machine.taskCancelled(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func prioritize(_ task: String, _ priority: LoadPriority) -> [String] {
        var actions = Machine.Actions()
        if let id = tasks[task] { machine.taskPriorityChanged(id, to: priority, now: now, actions: &actions) }
        return lines(actions)
    }

    func succeed(_ job: String) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] { machine.jobSucceeded(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func startWasInVain(_ job: String) {
        if let id = jobs[job] { machine.startWasInVain(id) }
    }

    func fail(_ job: String) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] { machine.jobFailed(id, now: now, actions: &actions) }
        return lines(actions)
    }

    /// A redirect to another origin, whose turn has come before; or the way on from the store, whose turn has not.
    func move(_ job: String, to origin: OriginKey, ahead: Bool = true) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] {
            machine.jobMoved(id, to: .fetch, group: origin, ahead: ahead, now: now, actions: &actions)
        }
        return lines(actions)
    }

    func goToSleep(_ job: String) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] { machine.jobSlept(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func wake(_ job: String) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] { machine.jobWoke(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func leaveTable(_ job: String) {
        if let id = jobs[job] { machine.jobLeftTable(id) }
    }

    func expire(_ job: String) -> [String] {
        var actions = Machine.Actions()
        if let id = jobs[job] { machine.queuedJobFailed(id, now: now, actions: &actions) }
        return lines(actions)
    }

    func setLimit(_ limit: Int) -> [String] {
        var actions = Machine.Actions()
        machine.originLimitChanged(Self.origin, to: limit, now: now, actions: &actions)
        return lines(actions)
    }

    private func lines(_ actions: Machine.Actions) -> [String] {
        actions.map { action in
            switch action {
            case .start(let job, let priority): "start \(job) \(priority)"
            case .cancel(let job): "cancel \(job)"
            case .discard(let job): "discard \(job)"
            case .reprioritize(let job, let priority): "reprioritize \(job) \(priority)"
            case .feed(let job, let from): "feed \(job) from \(from)"
            case .deliver(let task, let from): "deliver \(task) from \(from)"
            case .refuse(let job, let refusal): "refuse \(job) for \(refusal.origin)"
            case .scheduleProbe(let origin, let time): "probe \(origin) at \(time.nanoseconds)"
            }
        }
    }
}

@Suite("The engine's machine", .timeLimit(.minutes(10)))
struct EngineMachineTests {
    @Test("who joins a waiting job of low priority raises it into the place that was left free, at once")
    func raisedIntoTheReserve() {
        let world = MachineWorld(fetches: 2, reserve: 1)
        #expect(world.add("a", "u", .low) == ["start u low"])
        #expect(world.add("b", "v", .low) == [])
        #expect(world.add("c", "v", .high) == ["start v high"])
    }

    @Test("takes a task through its stages to its ending")
    func stages() {
        let world = MachineWorld()
        #expect(world.add("t", "u@100+blur") == ["start u normal"])
        #expect(world.succeed("u") == ["feed u@100 from u", "start u@100 normal"])
        #expect(world.succeed("u@100") == ["feed u@100+blur from u@100", "start u@100+blur normal"])
        #expect(world.succeed("u@100+blur") == ["deliver t from u@100+blur"])
        #expect(world.isIdle)
    }

    @Test("has one job for a key, however many wait for it")
    func sharing() {
        let world = MachineWorld()
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

    @Test("stops the work when the last who waits for it leaves, and not before")
    func lastOneOut() {
        let world = MachineWorld()
        _ = world.add("a", "u@100")
        _ = world.add("b", "u@100")
        _ = world.add("c", "u@200")
        #expect(world.cancel("a") == [])
        #expect(world.cancel("b") == ["discard u@100"])
        #expect(world.cancel("c") == ["discard u@200", "cancel u"])
        #expect(!world.isIdle)
        #expect(world.fail("u") == [])
        #expect(world.isIdle)
    }

    @Test("never lets a newcomer inherit a job that is being cancelled, nor wait for it")
    func newcomer() {
        let world = MachineWorld(fetches: 2)
        _ = world.add("a", "u")
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.add("b", "u") == ["start u' normal"])
        // The dying one succeeds all the same: nobody hears of it, and the newcomer's job stays the job of its key.
        #expect(world.succeed("u") == [])
        #expect(world.add("c", "u") == [])
        #expect(world.succeed("u'") == ["deliver b from u'", "deliver c from u'"])
    }

    @Test("looks up beside the fetches, and waits for a fetch's place only for what was not found")
    func storeLane() {
        let world = MachineWorld(fetches: 1, lookUps: 2)
        #expect(world.add("a", "u", first: .store) == ["start u normal"])
        #expect(world.add("b", "v", first: .store) == ["start v normal"])
        #expect(world.add("c", "w", first: .store) == [])
        // Not found: it is fetched, and its place goes to the next look-up.
        #expect(world.move("u", to: MachineWorld.origin, ahead: false) == ["start w normal", "start u normal"])
        #expect(world.machine.startedFetches == 1)
        // The look-up's start was none of a fetch.
        world.startWasInVain("w")
        #expect(world.machine.startedFetches == 1)
        world.startWasInVain("u")
        #expect(world.machine.startedFetches == 0)
        #expect(world.move("v", to: MachineWorld.origin, ahead: false) == [])
        // Found: no fetch that waits holds it back.
        #expect(world.succeed("w") == ["deliver c from w"])
        #expect(world.succeed("u") == ["deliver a from u", "start v normal"])
        #expect(world.succeed("v") == ["deliver b from v"])
        #expect(world.isIdle)
    }

    @Test("a job that sleeps gives its place back, hears nothing of priorities, and wakes at the front of its level")
    func sleeping() {
        let world = MachineWorld(fetches: 1)
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

    @Test("a job that sleeps is let go of when nobody waits for it any more, and never wakes")
    func leftAsleep() {
        let world = MachineWorld(fetches: 1)
        _ = world.add("a", "u")
        #expect(world.goToSleep("u") == [])
        #expect(!world.isIdle)
        #expect(world.cancel("a") == ["discard u"])
        #expect(world.isIdle)
        #expect(world.wake("u") == [])
        #expect(world.add("b", "u") == ["start u' normal"])
    }

    @Test("a job that nobody wants any more is let go of where it would have gone to sleep")
    func abandonedBeforeSleep() {
        let world = MachineWorld(fetches: 1)
        _ = world.add("a", "u")
        _ = world.add("b", "v")
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.goToSleep("u") == ["discard u", "start v normal"])
    }

    @Test("gives a cancelled job's place back only when its work has stopped")
    func place() {
        let world = MachineWorld(fetches: 1)
        _ = world.add("a", "u")
        #expect(world.add("b", "v") == [])
        #expect(world.cancel("a") == ["cancel u"])
        #expect(world.fail("u") == ["start v normal"])
    }

    @Test("gives a job the highest priority of those who wait, through every stage, up and down")
    func priorities() {
        let world = MachineWorld(fetches: 1)
        _ = world.add("running", "r")
        _ = world.add("a", "u@100", .low)
        _ = world.add("v", "v", .normal)
        // The one who joins raises the fetch behind the decode; when he leaves, it is lowered again.
        _ = world.add("b", "u@100", .veryHigh)
        #expect(world.succeed("r") == ["deliver running from r", "start u veryHigh"])
        #expect(world.cancel("b") == ["reprioritize u low"])
        #expect(world.prioritize("a", .high) == ["reprioritize u high"])
        #expect(world.prioritize("a", .high) == [])
    }

    @Test("starts a waiting job sooner when its priority is raised")
    func raising() {
        let world = MachineWorld(fetches: 1)
        _ = world.add("running", "r")
        _ = world.add("a", "u")
        _ = world.add("b", "v")
        _ = world.prioritize("b", .high)
        #expect(world.succeed("r") == ["deliver running from r", "start v high"])
    }

    @Test("ends everybody who waits, over all stages, when a job fails")
    func failure() {
        let world = MachineWorld()
        _ = world.add("a", "u@100+blur")
        _ = world.add("b", "u@100")
        _ = world.add("c", "u")
        #expect(
            world.fail("u") == [
                "deliver c from u", "deliver b from u", "deliver a from u", "discard u@100+blur", "discard u@100",
            ])
        #expect(world.isIdle)
    }

    @Test("lets a task be cancelled once, and not after its ending")
    func idempotent() {
        let world = MachineWorld()
        _ = world.add("a", "u")
        #expect(world.succeed("u") == ["deliver a from u"])
        #expect(world.cancel("a") == [])
        _ = world.add("b", "u")
        // The slot was used again: the old identity means nobody.
        #expect(world.cancel("a") == [])
        #expect(world.cancel("b") == ["cancel u'"])
        #expect(world.cancel("b") == [])
    }

    @Test("moves a redirected job to the other origin's places, before those who wait there")
    func redirects() {
        let world = MachineWorld(fetches: 10, perOrigin: 1)
        _ = world.add("a", "u")
        _ = world.add("b", "v", origin: MachineWorld.otherOrigin)
        #expect(world.add("c", "w", origin: MachineWorld.otherOrigin) == [])
        #expect(world.add("d", "x") == [])
        #expect(world.move("u", to: MachineWorld.otherOrigin) == ["start x normal"])
        #expect(world.succeed("v") == ["deliver b from v", "start u normal"])
        #expect(world.succeed("u") == ["deliver a from u", "start w normal"])
    }

    @Test("ends a job that waits after a redirect when its time is up, and not one that runs")
    func expiry() {
        let world = MachineWorld(fetches: 10, perOrigin: 1)
        _ = world.add("b", "v", origin: MachineWorld.otherOrigin)
        _ = world.add("a", "u@100")
        #expect(world.expire("u") == [])
        #expect(world.move("u", to: MachineWorld.otherOrigin) == [])
        #expect(world.expire("u") == ["deliver a from u", "discard u@100"])
        #expect(world.succeed("v") == ["deliver b from v"])
        #expect(world.isIdle)
    }

    @Test("lets go of a job that is redirected when nobody wants it any more")
    func lateRedirect() {
        let world = MachineWorld()
        _ = world.add("a", "u@100")
        #expect(world.cancel("a") == ["discard u@100", "cancel u"])
        #expect(world.move("u", to: MachineWorld.otherOrigin) == ["discard u"])
        #expect(world.isIdle)
    }

    @Test("lets nobody join a job whose key does not say all, nor what comes of it, and ends those who wait")
    func unjoinable() {
        let world = MachineWorld(fetches: 10)
        _ = world.add("a", "u@100+blur")
        world.leaveTable("u")
        #expect(world.add("b", "u@100+blur") == ["start u' normal"])
        #expect(world.succeed("u") == ["feed u@100 from u", "start u@100 normal"])
        #expect(world.succeed("u'") == ["feed u@100' from u'", "start u@100' normal"])
        #expect(world.fail("u@100") == ["deliver a from u@100", "discard u@100+blur"])
        #expect(world.fail("u@100'") == ["deliver b from u@100'", "discard u@100+blur'"])
        #expect(world.isIdle)
    }

    @Test("starts more at an origin that turns out to carry many at once")
    func multiplexing() {
        let world = MachineWorld(fetches: 10, perOrigin: 1)
        _ = world.add("a", "u")
        #expect(world.add("b", "v") == [])
        #expect(world.add("c", "w") == [])
        #expect(world.setLimit(64) == ["start v normal", "start w normal"])
    }

    @Test("names everybody who waits for a job or for what comes of it")
    func listeners() {
        let world = MachineWorld()
        for (task, want) in [("a", "u"), ("b", "u@100"), ("c", "u@100+blur"), ("d", "v")] { _ = world.add(task, want) }
        var names: [String] = []
        if let id = world.jobs["u"] { world.machine.forEachTask(of: id) { names.append($1) } }
        #expect(names.sorted() == ["a", "b", "c"])
    }
}
