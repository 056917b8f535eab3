internal import CInflightConcurrency
internal import Glibc
internal import InflightConcurrency
internal import InflightContract
internal import Synchronization

/// Many schedules on several threads, each schedule on one.
///
/// A schedule stands still if its thread is blocked (it waits for a lock that is held while a caller's code runs,
/// contract 6) or loops forever. The thread cannot be recovered, so the seed is passed to `onStandstill`, which
/// ends the process. The thread's processor time tells a blocked thread from one that waits for a processor.
public struct SimulationRun: Sendable {
    /// The first seed. The schedules have this seed and those that follow it.
    public var start: UInt64 = 1
    /// The maximum number of schedules.
    public var count = 200
    /// The maximum number of threads; by default, the number of processors that this process may use.
    public var threads = max(1, Int(inflight_processor_count()))
    /// How long a thread must be blocked, or compute, within one schedule until the schedule counts as standing still.
    public var standstill = Duration.seconds(10)
    /// Called with the seed of a schedule that stands still, on the thread of the clock. It should end the process, as
    /// the default does with `fatalError`.
    public var onStandstill: @Sendable (UInt64) -> Void = { seed in
        fatalError("The schedule of seed \(seed) stalls: contract 6: a lock is held while a caller's code runs.")
    }
    /// Called with the number of finished schedules after every 32 or fewer, on the threads of the run, several at
    /// once.
    public var onProgress: (@Sendable (Int) -> Void)?

    /// Called with the report of each schedule that breaks no rule, with its events, on the threads of the run, several
    /// at once. Recording the events takes ten times as long.
    public var onReport: (@Sendable (Simulator.Report) -> Void)?

    /// Creates a run with the default settings.
    public init() {}

    /// The result of a run.
    public struct Summary: Sendable {
        /// The number of finished schedules.
        public var schedules = 0
        /// The number of choices made in all schedules.
        public var steps = 0
        /// The number of image tasks in all schedules.
        public var tasks = 0
        /// The elapsed time of the run.
        public var duration = Duration.zero
        /// The failure with the lowest seed, of those that were found; nil if no rule was broken.
        public var failure: Simulator.Report?

        /// The number of finished schedules per second of ``duration``.
        public var schedulesPerSecond: Double { Double(schedules) / seconds }
        /// The number of choices per second of ``duration``.
        public var stepsPerSecond: Double { Double(steps) / seconds }
        private var seconds: Double { max(1e-9, Double(duration.saturatedNanoseconds) / 1e9) }
    }

    private final class Shared: Sendable {
        let next = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let summary = Guarded(Summary())
        let timer = Guarded<(any ScheduledWork)?>(nil)
    }

    /// The state of one thread.
    private final class Lane: Sendable {
        /// The number of the running schedule from 1, or 0.
        let current = Atomic<Int>(0)
        let clock = Guarded<clockid_t?>(nil)
        /// The results of the last checks.
        let watch = Guarded(Watch())
    }

    struct Watch {
        /// The number of the schedule from 1, or 0.
        var schedule = 0
        /// The thread's processor time at the first check that saw this schedule, and at the last one.
        var first = Duration.zero
        var last = Duration.zero
        /// The number of checks in a row that found the thread without progress.
        var blocked = 0

        /// Returns whether the schedule stands still. Called twice in each period of `standstill`.
        ///
        /// - Parameter time: The processor time that the thread has used since its start.
        mutating func check(schedule current: Int, time: Duration, standstill: Duration) -> Bool {
            if current == 0 || current != schedule {
                self = Watch(schedule: current, first: time, last: time)
                return false
            }
            // A thread that waits for a processor gets some time in such a period. A blocked thread gets none.
            blocked = time - last < .microseconds(100) ? blocked + 1 : 0
            last = time
            return blocked >= 2 || time - first >= standstill
        }
    }

    /// Runs until all schedules are done, or one breaks a rule. Blocks the calling thread.
    public func run() -> Summary {
        let clock = SystemClock()
        let began = clock.now()
        let shared = Shared()
        let lanes = (0..<max(1, min(threads, count))).map { _ in Lane() }
        watch(lanes, shared)
        let workers = lanes.map { lane in
            JoinableThread(name: "simulate") { work(lane, shared) }
        }
        for worker in workers { worker.join() }
        shared.isOver.store(true, ordering: .relaxed)
        shared.timer.withLock { $0.take() }?.cancel()
        var summary = shared.summary.withLock { $0 }
        summary.duration = clock.now() - began
        return summary
    }

    private func work(_ lane: Lane, _ shared: Shared) {
        lane.clock.withLock { $0 = JoinableThread.currentClock() }
        let batch = 32
        while !shared.isOver.load(ordering: .relaxed) {
            let first = shared.next.add(batch, ordering: .relaxed).oldValue
            if first >= count { return }
            var steps = 0
            var tasks = 0
            var done = 0
            var failure: Simulator.Report?
            for index in first..<min(count, first + batch) where failure == nil {
                lane.current.store(index + 1, ordering: .relaxed)
                let report = Simulator.run(seed: start &+ UInt64(index), records: onReport != nil)
                done += 1
                steps += report.steps
                tasks += report.tasks
                if report.violation != nil { failure = report } else { onReport?(report) }
            }
            lane.current.store(0, ordering: .relaxed)
            if failure != nil { shared.isOver.store(true, ordering: .relaxed) }
            let total = shared.summary.withLock { summary in
                summary.schedules += done
                summary.steps += steps
                summary.tasks += tasks
                if let failure, failure.seed < summary.failure?.seed ?? .max { summary.failure = failure }
                return summary.schedules
            }
            onProgress?(total)
        }
    }

    /// Checks twice in each `standstill` period whether every thread has made progress.
    private func watch(_ lanes: [Lane], _ shared: Shared) {
        let clock = SystemClock()
        let timer = clock.schedule(at: clock.now() + standstill / 2) {
            for lane in lanes {
                let current = lane.current.load(ordering: .relaxed)
                guard let clock = lane.clock.withLock({ $0 }), let time = JoinableThread.time(of: clock) else {
                    continue
                }
                let standsStill = lane.watch.withLock {
                    $0.check(schedule: current, time: time, standstill: standstill)
                }
                if standsStill { onStandstill(start &+ UInt64(current - 1)) }
            }
            if !shared.isOver.load(ordering: .relaxed) { watch(lanes, shared) }
        }
        shared.timer.withLock { $0 = timer }
    }
}
