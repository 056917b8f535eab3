internal import InflightConcurrency
internal import InflightContract

/// A manual clock, which only the simulator advances.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedClock: EngineClock, @unchecked Sendable {
    private unowned let world: World
    private(set) var time: Int64 = 0
    private var timers: [Timer] = []
    private(set) var hasDue = false

    // Unchecked: as above.
    private final class Timer: ScheduledWork, @unchecked Sendable {
        let deadline: Int64
        /// Whether the timer ends a turn of the prefetcher.
        let endsTurn: Bool
        var body: (@Sendable () -> Void)?

        init(_ deadline: Int64, endsTurn: Bool, _ body: @escaping @Sendable () -> Void) {
            self.deadline = deadline
            self.endsTurn = endsTurn
            self.body = body
        }

        func cancel() { body = nil }
    }

    init(_ world: World) {
        self.world = world
    }

    func now() -> MonotonicTime {
        world.poke()
        return MonotonicTime(nanoseconds: time)
    }

    func secondsSince1970() -> Double { 1_700_000_000 + Double(time) / 1e9 }

    func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork {
        world.poke()
        let timer = Timer(deadline.nanoseconds, endsTurn: world.context.isInTurn, body)
        timers.append(timer)
        if timer.deadline <= time { hasDue = true }
        return timer
    }

    var hasTimers: Bool { timers.contains { $0.body != nil } }

    /// The next deadline; without timers, a second from now.
    var nextDeadline: Int64 {
        timers.filter { $0.body != nil }.map(\.deadline).min() ?? time + 1_000_000_000
    }

    func advance(to target: Int64) {
        time = max(time, target)
        world.note(1, UInt64(time), "clock: \(Double(time) / 1e6) ms")
        world.model.clockAdvances(time)
        fireDue()
    }

    /// Fires timers that were overdue when scheduled, because other threads had advanced the clock meanwhile.
    func fireDue() {
        hasDue = false
        world.model.wakes()
        world.model.totalTimesPass()
        if timers.isEmpty { return }
        let due = timers.filter { $0.deadline <= time }
        timers.removeAll { $0.deadline <= time || $0.body == nil }
        for timer in due {
            let body = timer.body.take()
            let before = world.context.isInTurn
            world.context.isInTurn = timer.endsTurn
            if body != nil, world.model.hasDeadline(at: timer.deadline) { world.model.deadlinesPass() }
            body?()
            world.context.isInTurn = before
        }
    }

    func advance(by nanoseconds: Int64) { advance(to: time + nanoseconds) }

    func removeAll() { timers = [] }
}
