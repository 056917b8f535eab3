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
