public import InflightConcurrency

/// A clock that a test moves by hand. Time stands still until ``advance(by:)``.
///
/// ```swift
/// let clock = VirtualClock()
/// let work = clock.schedule(at: clock.now() + .seconds(3)) { print("three") }
/// clock.advance(by: .seconds(2))      // nothing
/// clock.advance(by: .seconds(1))      // prints, on this thread
/// ```
///
/// Timers fire on the thread that advances, with no lock held, in the order of their deadlines. Timers with equal
/// deadlines fire in the order in which they were scheduled. While a timer runs, `now()` is its deadline, or later if
/// the timer was already overdue. Every method may be called from any thread. Only one thread may advance at a time.
public final class VirtualClock: EngineClock {
    private struct State {
        var now: MonotonicTime
        /// The date minus `now`, in seconds.
        var dateOffset: Double
        var timers = TimerHeap()
        var lastSerial: UInt64 = 0
        var isAdvancing = false
    }

    private let state: Guarded<State>
    private let waiting = WaitList()

    /// Creates a clock without timers.
    ///
    /// - Parameters:
    ///   - now: the time at the start.
    ///   - date: the date at the start, in seconds since 1970-01-01 00:00 UTC; by default, a day in November 2023.
    public init(now: MonotonicTime = .zero, date: Double = 1_700_000_000) {
        state = Guarded(State(now: now, dateOffset: date - Self.seconds(now)))
    }

    /// Returns the time, which only ``advance(by:)`` and ``advanceToNextTimer()`` move.
    public func now() -> MonotonicTime {
        state.withLock { $0.now }
    }

    /// Returns the date, in seconds since 1970-01-01 00:00 UTC. It moves with the time and by
    /// ``setDate(secondsSince1970:)``.
    public func secondsSince1970() -> Double {
        state.withLock { $0.dateOffset + Self.seconds($0.now) }
    }

    /// Sets the date, forwards or back, without moving the time. Fires no timer.
    public func setDate(secondsSince1970 date: Double) {
        state.withLock { $0.dateOffset = date - Self.seconds($0.now) }
    }

    /// Schedules a timer. An overdue one fires in the next ``advance(by:)``, even by zero, never inside this call.
    ///
    /// - Returns: a handle whose `cancel()` removes the timer and releases `body` inside the call.
    public func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork {
        let timer = state.withLock { state in
            state.lastSerial += 1
            let timer = VirtualTimer(self, deadline: deadline, serial: state.lastSerial, body)
            state.timers.insert(timer)
            return timer
        }
        waiting.somethingChanged()
        return timer
    }

    /// Moves the time forward, and runs all timers that become due, including those that they schedule. Returns when
    /// the last one has returned.
    ///
    /// - Parameter duration: the time to pass. A negative one traps; so does a call from a timer, or from two threads
    ///   at once.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "time does not go back; set the date for that")
        let target = state.withLock { state in
            precondition(!state.isAdvancing, "a clock is advanced by one thread at a time, and not by its own timers")
            state.isAdvancing = true
            return state.now + duration
        }
        while let body = nextBody(until: target) { body() }
        state.withLock { state in
            state.now = max(state.now, target)
            state.isAdvancing = false
        }
    }

    /// Moves the time to the next deadline and runs the timers due then. An overdue timer fires without a move.
    ///
    /// - Returns: `false` if there is no timer.
    @discardableResult
    public func advanceToNextTimer() -> Bool {
        guard let deadline = nextDeadline else { return false }
        advance(by: max(.zero, deadline - now()))
        return true
    }

    /// The number of timers that are scheduled and not cancelled.
    public var timerCount: Int { state.withLock { $0.timers.count } }

    /// The deadline of the next timer; nil if there is none.
    public var nextDeadline: MonotonicTime? { state.withLock { $0.timers.first?.deadline } }

    /// Waits until at least `count` timers are scheduled, for code that schedules on its own thread.
    ///
    /// - Parameters:
    ///   - count: the number of scheduled timers.
    ///   - limit: the maximum time to wait, in real time.
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    public func waitForTimers(_ count: Int = 1, within limit: Duration = .seconds(10)) async throws(WaitFailure) {
        try await waiting.wait(for: "\(count) timers", within: limit, seen: { seen }) { self.timerCount >= count }
    }

    /// Waits until at least `count` timers are scheduled. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - count: the number of scheduled timers.
    ///   - limit: the maximum time to wait, in real time.
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    @available(*, noasync)
    public func blockForTimers(_ count: Int = 1, within limit: Duration = .seconds(10)) throws(WaitFailure) {
        try waiting.wait(for: "\(count) timers", within: limit, seen: { seen }) { self.timerCount >= count }
    }

    private var seen: String { "\(timerCount) are scheduled." }

    private func nextBody(until target: MonotonicTime) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let timer = state.timers.first, timer.deadline <= target else { return nil }
            state.now = max(state.now, timer.deadline)
            return state.timers.removeFirst().takeBody()
        }
    }

    fileprivate func cancel(_ timer: VirtualTimer) {
        // The caller releases the closure and its captures, without the lock.
        let released = state.withLock { state in
            guard timer.hasBody else { return (@Sendable () -> Void)?.none }
            state.timers.noteCancelled()
            let body = timer.takeBody()
            state.timers.removeCancelled()
            return body
        }
        withExtendedLifetime(released) {}
    }

    private static func seconds(_ time: MonotonicTime) -> Double { Double(time.nanoseconds) / 1e9 }
}

// Unchecked: everything but `clock` is accessed only under the clock's lock.
private final class VirtualTimer: ScheduledWork, @unchecked Sendable {
    let deadline: MonotonicTime
    let serial: UInt64
    private weak let clock: VirtualClock?
    private var body: (@Sendable () -> Void)?

    init(_ clock: VirtualClock, deadline: MonotonicTime, serial: UInt64, _ body: @escaping @Sendable () -> Void) {
        self.clock = clock
        self.deadline = deadline
        self.serial = serial
        self.body = body
    }

    var hasBody: Bool { body != nil }

    func takeBody() -> (@Sendable () -> Void)? {
        defer { body = nil }
        return body
    }

    func cancel() { clock?.cancel(self) }

    func isBefore(_ other: VirtualTimer) -> Bool {
        deadline == other.deadline ? serial < other.serial : deadline < other.deadline
    }
}

/// A binary heap of timers. Cancelled timers stay until they reach the top, or are over 16 and the majority.
private struct TimerHeap {
    private var timers: [VirtualTimer] = []
    private var cancelled = 0

    var count: Int { timers.count - cancelled }

    /// The earliest timer. It is never a cancelled one, because cancelled timers are removed at the top.
    var first: VirtualTimer? { timers.first }

    mutating func insert(_ timer: VirtualTimer) {
        timers.append(timer)
        siftUp(timers.count - 1)
    }

    mutating func removeFirst() -> VirtualTimer {
        let first = removeTop()
        removeCancelled()
        return first
    }

    mutating func noteCancelled() { cancelled += 1 }

    mutating func removeCancelled() {
        if cancelled > 16, cancelled * 2 > timers.count {
            // A sorted array is a heap.
            timers = timers.filter(\.hasBody).sorted { $0.isBefore($1) }
            cancelled = 0
        }
        while let top = timers.first, !top.hasBody {
            _ = removeTop()
            cancelled -= 1
        }
    }

    private mutating func removeTop() -> VirtualTimer {
        timers.swapAt(0, timers.count - 1)
        let top = timers.removeLast()
        siftDown()
        return top
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, timers[index].isBefore(timers[(index - 1) / 2]) {
            timers.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func siftDown() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < timers.count {
                if timers[child].isBefore(timers[least]) { least = child }
            }
            if least == index { return }
            timers.swapAt(index, least)
            index = least
        }
    }
}
