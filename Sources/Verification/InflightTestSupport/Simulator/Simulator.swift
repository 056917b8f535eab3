public import InflightContract

/// The shipping pipeline on one thread: transport, decoder, clock, callback queues and task executor are replaced, and
/// a seed decides at every step what happens next, out of all that could.
///
/// ```swift
/// let report = Simulator.run(seed: 42)
/// if let violation = report.violation { print(violation, Simulator.shrink(seed: 42).lines.joined(separator: "\n")) }
/// ```
///
/// A schedule has 240 choices and at least 20 tasks for 4 keys and more, in callback, `async` and stream form, over four
/// callback queues of three kinds. Callers join, leave, change priorities, call back into the engine from everything that
/// they implement, suspend and empty their queues, let go of what they hold, and shut down. Transport, decoder and
/// processors fail in every way they can. In many worlds other threads run while a caller's code does: the
/// simulator goes on above it on the same stack.
///
/// After each step ``ContractModel`` looks whether the contract holds. The same seed gives the same schedule, on every
/// machine. A lock that is held while a caller's code runs makes a schedule stand still: see ``SimulationRun``.
public enum Simulator {
    /// How often something went wrong, by part.
    public struct Faults: Sendable, Hashable {
        /// Exchanges that failed, hung, were answered badly or redirected.
        public var transport = 0
        /// Work on pixels that failed or took no notice of its cancel.
        public var pixels = 0
        /// Queues that let go of what waited, or were suspended.
        public var queues = 0
        /// Hooks and sources that failed or refused.
        public var hooks = 0
        /// Look-ups that failed, what was not taken, evicted, or damaged.
        public var store = 0

        public init() {}
    }

    /// What one schedule came to.
    public struct Report: Sendable {
        public var seed: UInt64
        /// The first rule that was broken.
        public var violation: Violation?
        /// Choices that were made, those at the end included.
        public var steps: Int
        public var tasks: Int
        /// Different things that were asked for, as their first stage is known by.
        public var keys: Int
        /// Kinds of callback queues that loads were asked for on.
        public var queueKinds: Int
        public var faults: Faults
        /// A digest of everything that happened, in its order.
        public var hash: UInt64
        /// What happened, if it was to be recorded.
        public var lines: [String]
        /// Which of the schedule's choices are left after shrinking.
        public var kept: [Int]
    }

    /// Runs the schedule of a seed, on this thread.
    ///
    /// - Parameters:
    ///   - records: whether ``Report/lines`` tell what happened, which takes ten times as long.
    ///   - rule: a rule besides the contract's: told each line, it says what that breaks. It takes as long.
    public static func run(seed: UInt64, records: Bool = false, rule: Rule? = nil) -> Report {
        let setup = Setup(seed: seed)
        return run(setup, seed: seed, steps: Array(0..<setup.steps), records: records, rule: rule)
    }

    /// Looks for something in what happens: to find out in which schedules it does, and how.
    public typealias Rule = (_ line: String) -> Violation?

    /// The shortest script that can be found for the rule that a seed's schedule breaks: every choice that is not needed
    /// for it is taken out.
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
            world.step(draws.next(), asks: step % setup.asksEvery == 0)
        }
        if !world.isOver { world.drain(seed: ~seed) }
        let report = Report(
            seed: seed, violation: world.model.violation ?? world.found, steps: world.steps,
            tasks: world.model.taskCount,
            keys: world.model.keyCount, queueKinds: world.usedQueueKinds, faults: world.faults, hash: world.hash,
            lines: world.lines, kept: steps)
        // What a broken engine never lets go of must find its world as long as there is a process.
        if world.model.violation == nil, world.found != nil { world.goOnToTheEnd(seed: ~seed) }
        if world.model.violation != nil { World.keepForEver(world) }
        return report
    }
}
