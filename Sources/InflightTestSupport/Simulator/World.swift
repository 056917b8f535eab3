internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// One schedule: the shipping pipeline on one thread, everything around it replaced, and the model that looks on.
// Unchecked: everything in a simulation happens on one thread.
final class World: @unchecked Sendable {
    let setup: Setup
    var draws: Draws
    let model: ContractModel
    var place = Place()
    /// How many threads are stopped in the middle of something, above the one that runs.
    var depth = 0
    private(set) var steps = 0
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private let records: Bool
    private(set) var lines: [String] = []

    private(set) var clock: SimulatedClock! = nil
    private(set) var transport: SimulatedTransport! = nil
    private(set) var threads: SimulatedThreads! = nil
    let executor = SimulatedTaskExecutor()
    private(set) var queues: [SimulatedQueue] = []
    private(set) var callbackQueues: [CallbackQueue] = []
    var pipeline: ImagePipeline?
    private weak var codec: SimulatedCodec?

    var callers: [Caller] = []
    var requests: [Wish: ImageRequest] = [:]
    /// By exchange.
    var answersVary: [Bool] = []
    /// The task whose request is being made ready, or -1.
    var joining = -1
    var isEnding = false

    init(setup: Setup, records: Bool) {
        self.setup = setup
        self.records = records
        draws = Draws(0)
        model = ContractModel(bounds: setup.bounds)
        callers.reserveCapacity(32)
        clock = SimulatedClock(self)
        transport = SimulatedTransport(self)
        threads = SimulatedThreads(self)
        queues = [SimulatedQueue.Kind.serial, .concurrent, .emptied, .serial].enumerated()
            .map { SimulatedQueue(self, index: $0, kind: $1) }
        callbackQueues = queues.map { .executor($0) }
        let codec = SimulatedCodec(self)
        self.codec = codec
        do throws(LoadError) {
            pipeline = try ImagePipeline(configuration: setup.configuration(self, codec: codec))
        } catch {
            preconditionFailure("a pipeline cannot be made: \(error)")
        }
    }

    func note(_ kind: UInt64, _ number: UInt64, _ text: @autoclosure () -> String) {
        hash = (hash ^ (kind << 32 | number)) &* 0x0000_0100_0000_01B3
        if records { lines.append(String(repeating: "    ", count: depth) + text()) }
    }

    /// Code of the caller calls back: into anything, from everywhere.
    func poke() {
        guard draws.once(in: 8) else { return }
        _ = pipeline?.statistics
        for caller in callers.suffix(2) { _ = caller.task?.isCancelled }
    }

    // MARK: Steps

    func step(_ word: UInt64) {
        draws = Draws(word)
        advance()
        rest()
    }

    /// Nothing is on its way.
    private func rest() {
        if let pipeline { model.rests(pipeline.statistics) }
    }

    /// Other threads run, while this one stands in code of the caller: once in `count` times.
    func interleave(in count: Int) {
        guard setup.nests, depth < 3, draws.once(in: count) else { return }
        let before = place
        place = Place()
        depth += 1
        for _ in 0...draws.below(2) { advance() }
        depth -= 1
        place = before
    }

    private func advance() {
        steps += 1
        var weights: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0, 0, 0)
        var ready = 0
        for queue in queues where queue.isReady { ready += 1 }
        weights.0 = UInt8(ready * 4)
        weights.1 = threads.isReady ? 5 : 0
        weights.2 = transport.isReady ? 10 : 0
        weights.3 = executor.isReady ? 6 : 0
        weights.4 = 1
        weights.5 = isEnding ? 0 : 7
        var choice = draws.below(
            Int(weights.0 + weights.1 + weights.2 + weights.3 + weights.4 + weights.5))
        func isChosen(_ weight: UInt8) -> Bool {
            if choice < Int(weight) && choice >= 0 { choice = -1; return true }
            choice -= Int(weight)
            return false
        }
        if isChosen(weights.0) {
            var chosen = draws.below(ready)
            for queue in queues where queue.isReady {
                if chosen == 0 { return queue.runOne() }
                chosen -= 1
            }
        }
        if choice == -1 { return }
        if isChosen(weights.1) { return threads.runOne() }
        if isChosen(weights.2) { return transport.runOne() }
        if isChosen(weights.3) { return executor.runOne(self) }
        if isChosen(weights.4) {
            return clock.advance(by: Int64(1 + draws.below(10)) * (setup.isSlow ? 1_000_000_000 : 1_000_000))
        }
        act()
    }

    // MARK: The end

    private var isAnythingReady: Bool {
        queues.contains { $0.isReady } || threads.isReady || transport.isReady || executor.isReady
    }

    /// Everything goes on until nothing is left to do.
    func drain(seed: UInt64) {
        isEnding = true
        var words = Draws(seed)
        var idle = 0
        while idle < 3, model.violation == nil {
            for queue in queues { queue.isSuspended = false }
            transport.endHanging()
            if isAnythingReady {
                idle = 0
            } else {
                idle += 1
                draws = Draws(words.next())
                if clock.hasTimers { clock.advance(to: clock.nextDeadline) }
                rest()
                continue
            }
            step(words.next())
            if steps > 20_000 { return model.neverEnds() }
        }
        if model.violation == nil { finish() }
    }

    private func finish() {
        model.finishes()
        let statistics = pipeline?.statistics
        if let statistics, statistics.tasksUnderWay + statistics.jobsUnderWay > 0 { model.neverEnds() }
        pipeline = nil
        callers = []
        requests = [:]
        if codec != nil { model.leaks() }
    }
}

extension World {
    private static let broken = Guarded([World]())

    static func keepForEver(_ world: World) {
        broken.withLock { $0.append(world) }
    }
}
