import InflightConcurrency

/// Decides whether a transfer is slower than its request allows, on average over a period. A value without a clock, fed
/// with times and bytes.
///
/// The period is measured in slices, so that a burst at its beginning counts for no longer than the period. Time during
/// which the receiver pauses the transfer does not count.
struct RateMonitor: Sendable {
    enum Verdict: Hashable {
        case tooSlow
        /// The transfer is fast enough so far. Check again at this time.
        case checkAgain(at: MonotonicTime)
        /// The transfer is paused. Check again after ``resumed(at:)``.
        case paused
    }

    private static let slicesPerPeriod = 6

    private struct Slice {
        var bytes: Int64 = 0
        var nanoseconds: Int64 = 0
    }

    private let minimumBytesPerSecond: Int
    private let period: Int64
    private let slice: Int64
    private var ended: [Slice] = []
    private var current = Slice()
    /// The time up to which the current slice is counted; `nil` while the transfer is paused.
    private var since: MonotonicTime?

    /// - Returns: `nil` if the limits disable the minimum.
    init?(_ limits: ImageRequest.Limits, at now: MonotonicTime) {
        guard limits.minimumBytesPerSecond > 0 else { return nil }
        minimumBytesPerSecond = limits.minimumBytesPerSecond
        period = max(1, limits.minimumRatePeriod.saturatedNanoseconds)
        slice = max(1, period / Int64(Self.slicesPerPeriod))
        since = now
    }

    mutating func received(_ bytes: Int) {
        current.bytes += Int64(bytes)
    }

    mutating func paused(at now: MonotonicTime) {
        addTime(until: now)
        since = nil
    }

    mutating func resumed(at now: MonotonicTime) {
        if since == nil { since = now }
    }

    mutating func check(at now: MonotonicTime) -> Verdict {
        guard since != nil else { return .paused }
        addTime(until: now)
        guard current.nanoseconds >= slice else {
            return .checkAgain(at: now + .nanoseconds(slice - current.nanoseconds))
        }
        ended.append(current)
        current = Slice()
        var total = ended.reduce(Slice()) { sum, part in
            Slice(bytes: sum.bytes + part.bytes, nanoseconds: sum.nanoseconds &+ part.nanoseconds)
        }
        while let first = ended.first, total.nanoseconds - first.nanoseconds >= period {
            total.bytes -= first.bytes
            total.nanoseconds -= first.nanoseconds
            ended.removeFirst()
        }
        let isMeasured = total.nanoseconds >= period
        let needed = Double(minimumBytesPerSecond) * (Double(total.nanoseconds) / 1e9)
        return isMeasured && Double(total.bytes) < needed ? .tooSlow : .checkAgain(at: now + .nanoseconds(slice))
    }

    private mutating func addTime(until now: MonotonicTime) {
        guard let since else { return }
        let passed = max(0, (now - since).saturatedNanoseconds)
        // Caps the time at about 18 years, so that sums do not overflow.
        current.nanoseconds = min(current.nanoseconds + min(passed, .max / 16), .max / 16)
        self.since = now
    }
}

/// Has a pipeline's fetches check whether their transfers are fast enough, and whether the time of a task is over, with
/// one timer for all of them.
final class FetchChecker: Sendable {
    private struct State {
        var fetches: [ObjectIdentifier: Fetch] = [:]
        var timer = SharedTimer()
    }

    private let clock: any EngineClock
    private let state = Guarded(State())

    init(clock: any EngineClock) {
        self.clock = clock
    }

    func add(_ fetch: Fetch, checkAt time: MonotonicTime) {
        let isFirst = state.withLock { state in
            state.fetches[ObjectIdentifier(fetch)] = fetch
            return state.timer.claims(time)
        }
        if isFirst { schedule(at: time) }
    }

    func remove(_ fetch: Fetch) {
        let (removed, timer): (Fetch?, (any ScheduledWork)?) = state.withLock { state in
            let removed = state.fetches.removeValue(forKey: ObjectIdentifier(fetch))
            guard state.fetches.isEmpty else { return (removed, nil) }
            return (removed, state.timer.end())
        }
        timer?.cancel()
        withExtendedLifetime(removed) {}
    }

    private func schedule(at time: MonotonicTime) {
        let timer = clock.schedule(at: time) { [weak self] in self?.checkAll() }
        state.withLock { $0.timer.keep(timer, for: time) }?.cancel()
    }

    private func checkAll() {
        let fetches = state.withLock { state in
            state.timer.fired()
            return state.fetches
        }
        let now = clock.now()
        guard let next = fetches.values.compactMap({ $0.check(at: now) }).min() else { return }
        let isFirst = state.withLock { !$0.fetches.isEmpty && $0.timer.claims(next) }
        if isFirst { schedule(at: next) }
    }
}
