import Dispatch
import InflightConcurrency
import InflightTestSupport

/// Random operations on shipping pipelines, by many threads, over real queues of every kind. Every event is checked
/// against the contract when it arrives.
///
/// The operations are derived from the seed. Their timing depends on the machine, so a run does not repeat exactly.
struct StressRun: Sendable {
    var seed: UInt64 = 1
    var threads = 16
    /// The total number of operations. If nil, only the duration limits the run.
    var operations: Int?
    /// The time during which callers start operations. If nil, they start all of ``operations``.
    var duration: Duration?
    /// The number of operations after which a pipeline is replaced.
    var opsPerGeneration = 1_200
    /// Whether to use libcurl and real sockets instead of a transport in memory.
    var overSockets = false
    /// The time without any load ending after which the run counts as stalled, which also violates the contract.
    var patience = Duration.seconds(60)
    /// Called about every ten seconds.
    var onTick: (@Sendable (Report) -> Void)?

    struct Report: Sendable {
        var seed: UInt64
        var operations = 0
        var pipelines = 0
        var tally = Tally()
        var duration = Duration.zero
        var violations: [String] = []

        var rate: Double { Double(operations) / max(1e-9, Double(duration.saturatedNanoseconds) / 1e9) }
    }

    func run() async throws -> Report {
        let world = try World(overSockets ? .loopback() : .memory, opsPerGeneration: opsPerGeneration)
        let callers = (0..<threads).map { Caller($0, world) }
        let done = ValueBridge<Report>()
        JoinableThread(name: "stress") { done.open(with: drive(world, callers)) }.detach()
        let report = await done.value()
        world.itemServer.stop()
        return report
    }

    private func drive(_ world: World, _ callers: [Caller]) -> Report {
        let clock = SystemClock()
        let began = clock.now()
        let ended = DispatchGroup()
        var random = SeededGenerator(seed: seed)
        let share = operations.map { ($0 + threads - 1) / threads } ?? .max
        let bodies = callers.map { caller in
            let own = random.next()
            ended.enter()
            return JoinableThread(name: "caller-\(caller.index)") {
                caller.run(share, seed: own)
                ended.leave()
            }
        }
        var watch = Watch(patience: patience, clock: clock)
        func report() -> Report {
            var report = Report(seed: seed)
            report.pipelines = world.generationCount
            for caller in callers {
                report.operations += caller.operationCount
                report.tally.add(caller.counts)
            }
            report.duration = clock.now() - began
            report.violations = world.log.violations
            return report
        }
        /// Returns whether the run makes progress. Otherwise it records a violation.
        func continues(_ what: String) -> Bool {
            let now = report()
            let closed = callers.reduce(0) { $0 + $1.closedCount }
            if watch.moves(closed, { onTick?(now) }) { return true }
            let open = callers.flatMap(\.openRecords).prefix(3).map { "\($0)" }
            world.log.violation(3, "no load has ended for \(patience) while \(what) \(open)")
            return false
        }

        while ended.wait(timeout: .now() + .seconds(1)) == .timedOut {
            if let duration, clock.now() - began >= duration { world.stop() }
            // Stalled threads cannot be joined.
            if !continues("callers were running:") { return report() }
        }
        for body in bodies { body.join() }
        world.stop()
        // The loads in flight still have to end. For that, the callers' queues must be run, or emptied.
        while callers.contains(where: { $0.openCount > 0 }), !world.log.isBroken {
            world.resumeAll()
            for caller in callers {
                if caller.index.isMultiple(of: 2) {
                    caller.manual.manual?.runAll()
                } else {
                    caller.manual.manual?.dropAll()
                }
            }
            _ = ended.wait(timeout: .now() + .milliseconds(1))
            if !continues("these were pending:") { return report() }
        }
        if !world.endAll(within: patience) { world.log.violation(10, "a shutdown did not return for \(patience)") }
        return report()
    }

    /// Watches whether any load ends, and when the next report is due.
    private struct Watch {
        let patience: Duration
        let clock: SystemClock
        private var closed = 0
        private var lastMove: MonotonicTime
        private var lastTick: MonotonicTime

        init(patience: Duration, clock: SystemClock) {
            self.patience = patience
            self.clock = clock
            lastMove = clock.now()
            lastTick = lastMove
        }

        mutating func moves(_ closed: Int, _ tick: () -> Void) -> Bool {
            let now = clock.now()
            // Stalled callers keep cancelling and requesting, so only ended loads count as progress.
            if closed != self.closed { lastMove = now }
            self.closed = closed
            if now - lastTick >= .seconds(10) {
                lastTick = now
                tick()
            }
            return now - lastMove < patience
        }
    }
}

extension StressRun.Report: CustomStringConvertible {
    /// The operations and their results, one line each.
    var description: String {
        let words = Tally.Entry.allCases.map { "\($0) \(tally[$0])" }
        let seconds = Double(duration.saturatedNanoseconds) / 1e9
        return """
            \(operations) operations in \((seconds * 10).rounded() / 10) s: \(Int(rate)) per second, \(pipelines) pipelines
              operations: \(words.prefix(12).joined(separator: ", "))
              results: \(words.dropFirst(12).joined(separator: ", "))
            """
    }
}
