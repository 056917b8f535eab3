public import InflightContract

/// The shipping pipeline on one thread. Transport, decoder, clock, callback queues and task executor are replaced, and
/// at every step a seed decides which of the possible events happens next.
///
/// ```swift
/// let report = Simulator.run(seed: 42)
/// if let violation = report.violation { print(violation, Simulator.shrink(seed: 42).lines.joined(separator: "\n")) }
/// ```
///
/// A schedule has 240 choices and at least 20 tasks for 4 keys and more, in callback, `async` and stream form, over
/// four callback queues of three kinds. Callers subscribe, leave, change priorities, call back into the engine from all
/// the code that they implement, suspend and empty their queues, release their objects, and shut down. Transport,
/// decoder and processors fail in every way they can. In many worlds other threads run while a caller's code does: the
/// simulator then continues above it on the same stack.
///
/// After each step `ContractModel` checks the contract. The same seed gives the same schedule on every machine. A
/// lock that is held while a caller's code runs makes a schedule stand still: see ``SimulationRun``.
public enum Simulator {
    /// The numbers of faults, by part.
    public struct Faults: Sendable, Hashable {
        /// Exchanges that failed, hung, had an error status, or were redirected.
        public var transport = 0
        /// Work on pixels that failed or ignored its cancellation.
        public var pixels = 0
        /// Queues that dropped pending work or were suspended.
        public var queues = 0
        /// Hooks and sources that failed or refused.
        public var hooks = 0
        /// Lookups that failed, writes that were refused, and entries that were evicted or corrupt.
        public var store = 0

        /// Creates counts of zero.
        public init() {}
    }

    /// The result of one schedule.
    public struct Report: Sendable {
        /// The seed of the schedule.
        public var seed: UInt64
        /// The first rule that was broken; nil if all hold.
        public var violation: Violation?
        /// The number of choices made, including those at the end.
        public var steps: Int
        /// The number of image tasks.
        public var tasks: Int
        /// The number of different first-stage keys that were requested.
        public var keys: Int
        /// The number of kinds of callback queues that were used for loads.
        public var queueKinds: Int
        /// The numbers of faults that the schedule caused.
        public var faults: Faults
        /// A digest of all events, in order. Equal seeds have equal digests.
        public var hash: UInt64
        /// The events in order, as text; empty if they were not recorded.
        public var lines: [String]
        /// The numbers of the schedule's choices: all of them, or those that remain after shrinking.
        public var kept: [Int]
    }

    /// Runs the schedule of a seed on this thread.
    ///
    /// - Parameters:
    ///   - seed: the seed of all choices: the same seed gives the same schedule.
    ///   - records: whether events are recorded in ``Report/lines``, which takes ten times as long.
    ///   - rule: a rule besides the contract's. It receives each line and returns its violation. It takes as long.
    public static func run(seed: UInt64, records: Bool = false, rule: Rule? = nil) -> Report {
        let setup = Setup(seed: seed)
        return run(setup, seed: seed, steps: Array(0..<setup.steps), records: records, rule: rule)
    }

    /// A check of the event lines, to find the schedules in which something happens. It returns a violation, or nil.
    public typealias Rule = (_ line: String) -> Violation?

    /// Returns the shortest script that breaks the same rule as a seed's schedule. Every choice that is not needed for
    /// the violation is removed. Runs the schedule many times, on this thread.
    ///
    /// - Parameters:
    ///   - seed: the seed of a schedule that breaks a rule. If it breaks none, its whole schedule is returned.
    ///   - rule: a rule besides the contract's, as in ``run(seed:records:rule:)``.
    /// - Returns: the report of the shortest script, with its events recorded.
    public static func shrink(seed: UInt64, rule: Rule? = nil) -> Report {
        let setup = Setup(seed: seed)
        var steps = Array(0..<setup.steps)
        guard let number = run(setup, seed: seed, steps: steps, rule: rule).violation?.rule else {
            return run(seed: seed, records: true, rule: rule)
        }
        var size = steps.count / 2
        while size > 0 {
            var start = 0
            var isShorter = false
            while start < steps.count {
                var fewer = steps
                fewer.removeSubrange(start..<min(steps.count, start + size))
                if run(setup, seed: seed, steps: fewer, rule: rule).violation?.rule == number {
                    steps = fewer
                    isShorter = true
                } else {
                    start += size
                }
            }
            if !isShorter || size > 1 { size /= 2 }
        }
        return run(setup, seed: seed, steps: steps, records: true, rule: rule)
    }

    private static func run(
        _ setup: Setup, seed: UInt64, steps: [Int], records: Bool = false, rule: Rule? = nil
    ) -> Report {
        let world = World(setup: setup, records: records, rule: rule)
        for step in steps where !world.isOver {
            var draws = Draws(seed &* 0xD134_2543_DE82_EF95 &+ UInt64(step))
            world.step(draws.next(), sendsRequest: step % setup.requestInterval == 0)
        }
        if !world.isOver { world.drain(seed: ~seed) }
        let report = Report(
            seed: seed, violation: world.model.violation ?? world.found, steps: world.steps,
            tasks: world.model.taskCount,
            keys: world.model.keyCount, queueKinds: world.usedQueueKinds, faults: world.faults, hash: world.hash,
            lines: world.lines, kept: steps)
        // Objects that a broken engine never releases must find their world for as long as the process runs.
        if world.model.violation == nil, world.found != nil { world.drainToEnd(seed: ~seed) }
        if world.model.violation != nil { World.retainForever(world) }
        return report
    }
}
