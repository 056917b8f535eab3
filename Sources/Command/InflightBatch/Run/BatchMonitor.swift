/// Counts how the rows of a run end, and notices when something goes wrong.
///
/// A value without clock and I/O, in memory that does not grow with the run. Times are durations since its start.
package struct BatchMonitor: Sendable {
    /// Something that people should know before the run ends.
    package enum Warning: Equatable, Sendable {
        /// The share of failed rows in the last minute is much larger than it was before, from 0 to 1.
        case failuresIncreased(before: Double, now: Double)
        /// A host has answered this many URLs in a row with one body.
        case equalBodies(host: String, count: Int)
    }

    /// The failures of one class at one host.
    package struct Group: Hashable, Sendable {
        /// The class of the failures.
        package var failureClass: String
        /// The host, or ``BatchMonitor/otherHosts``.
        package var host: String
    }

    /// The maximum number of hosts that are counted apart.
    static let maximumHosts = 1000
    /// The name under which all further hosts are counted.
    package static let otherHosts = "other hosts"
    /// The number of equal bodies in a row that is worth a warning.
    static let equalBodyCount = 20
    /// The number of rows that a rate is computed from, at least.
    static let minimumRows = 100
    /// The length of the window, in seconds.
    private static let windowLength = 60

    private struct Count {
        var rows = 0
        var failures = 0
        var successes = 0

        var failureRate: Double { rows == 0 ? 0 : Double(failures) / Double(rows) }

        static func - (left: Self, right: Self) -> Self {
            Count(
                rows: left.rows - right.rows, failures: left.failures - right.failures,
                successes: left.successes - right.successes)
        }

        static func += (left: inout Self, right: Self) {
            left.rows += right.rows
            left.failures += right.failures
            left.successes += right.successes
        }
    }

    private struct Slot {
        var second = -1
        var count = Count()
    }

    private struct Body {
        var digest: ContentDigest
        var count: Int
        var isReported = false
    }

    /// The number of rows with an image of their own.
    package private(set) var successes = 0
    /// The number of rows with the image of another row.
    package private(set) var duplicates = 0
    /// The number of failed rows by class and host, of which at most ``maximumHosts`` are counted apart.
    package private(set) var groups: [Group: Int] = [:]
    /// The number of failed rows by class.
    package private(set) var failureClasses: [String: Int] = [:]
    /// The bytes that were received.
    package private(set) var receivedBytes: Int64 = 0
    /// The bytes of the images that were written.
    package private(set) var imageBytes: Int64 = 0

    private var total = Count()
    /// The rows of each second of the last minute, at the second's remainder by 60.
    private var slots = [Slot](repeating: Slot(), count: windowLength)
    private var second = 0
    private var failingHosts: Set<String> = []
    private var bodies: [String: Body] = [:]
    /// The rows before the increase of failures that was reported last, until it is over.
    private var beforeIncrease: Count?
    /// The rows of earlier increases, which are no measure of later ones.
    private var excluded = Count()

    /// Creates the monitor of a run that has not begun.
    package init() {}

    /// The number of rows that have ended.
    package var rows: Int { total.rows }
    /// The number of failed rows.
    package var failures: Int { total.failures }

    /// Counts a row.
    ///
    /// - Returns: The warnings that it leads to.
    package mutating func rowDidEnd(_ row: BatchRowEnd, at now: Duration) -> [Warning] {
        let current = max(second, Int(now.components.seconds))
        var warnings = current > second ? increase(at: current) : []
        second = current
        var count = Count(rows: 1)
        switch row.kind {
        case .success:
            successes += 1
            count.successes = 1
        case .duplicate: duplicates += 1
        case .failure(let name):
            count.failures = 1
            failureClasses[name, default: 0] += 1
            groups[Group(failureClass: name, host: counted(row.host)), default: 0] += 1
        }
        receivedBytes += row.receivedBytes
        imageBytes += row.imageBytes
        total += count
        let slot = current % Self.windowLength
        if slots[slot].second != current { slots[slot] = Slot(second: current) }
        slots[slot].count += count
        if count.failures == 0, let digest = row.digest { warnings += equalBodies(row.host, digest) }
        return warnings
    }

    /// Returns the number of successes per second in the last minute, or since the start if that is shorter.
    package func successRate(at now: Duration) -> Double { rate(at: now, \.successes) }

    /// Returns the time that further rows take at the present rate, or `nil` if none has ended in the last minute, or
    /// few so soon after the start that they tell nothing.
    package func timeLeft(rows: Int, at now: Duration) -> Duration? {
        guard total.rows >= Self.minimumRows || now >= .seconds(10) else { return nil }
        let rate = rate(at: now, \.rows)
        return rate > 0 ? .seconds(Double(max(0, rows)) / rate) : nil
    }

    private func rate(at now: Duration, _ number: KeyPath<Count, Int>) -> Double {
        let time = now / .seconds(1)
        let current = max(second, Int(time))
        let count = sum(of: (current - Self.windowLength + 1)...current)
        // The present second is not over.
        let length = min(time, time - Double(current) + Double(Self.windowLength - 1))
        return length > 0 ? Double(count[keyPath: number]) / max(length, 0.1) : 0
    }

    private func sum(of seconds: ClosedRange<Int>) -> Count {
        var sum = Count()
        for slot in slots where seconds.contains(slot.second) { sum += slot.count }
        return sum
    }

    /// Returns a warning if the share of failures has increased, when a second begins.
    ///
    /// It has if it is at least twice the share before the last minute and 20 points above it, each among at least
    /// ``minimumRows`` rows. In the first two minutes, when slow failures such as timeouts have hardly begun to end,
    /// the last half of the time takes the place of the last minute, and the distance is 60 points. The increase is
    /// over when the share is within half of that distance again. Its rows do not count as rows before the next one.
    private mutating func increase(at current: Int) -> [Warning] {
        let isYoung = current < 2 * Self.windowLength
        let length = isYoung ? current / 2 : Self.windowLength
        guard length > 0 else { return [] }
        let recent = sum(of: (current - length)...(current - 1))
        let before = beforeIncrease ?? (total - recent - excluded)
        guard recent.rows >= Self.minimumRows, before.rows >= Self.minimumRows else { return [] }
        let (now, earlier) = (recent.failureRate, before.failureRate)
        let distance = isYoung ? 0.6 : 0.2
        if beforeIncrease != nil {
            guard now < earlier + distance / 2 else { return [] }
            beforeIncrease = nil
            excluded = total - recent - before
            return []
        }
        guard now >= 2 * earlier, now >= earlier + distance else { return [] }
        beforeIncrease = before
        return [.failuresIncreased(before: earlier, now: now)]
    }

    private mutating func counted(_ host: String) -> String {
        if failingHosts.contains(host) { return host }
        guard failingHosts.count < Self.maximumHosts else { return Self.otherHosts }
        failingHosts.insert(host)
        return host
    }

    private mutating func equalBodies(_ host: String, _ digest: ContentDigest) -> [Warning] {
        if bodies[host] == nil, bodies.count >= Self.maximumHosts {
            // Hosts with one body make room. Most hosts of a long list are such.
            bodies = bodies.filter { $0.value.count > 1 || $0.value.isReported }
            if bodies.count > Self.maximumHosts / 2 { bodies = bodies.filter(\.value.isReported) }
            guard bodies.count < Self.maximumHosts else { return [] }
        }
        var body = bodies[host] ?? Body(digest: digest, count: 0)
        if body.digest != digest { body = Body(digest: digest, count: 0, isReported: body.isReported) }
        body.count += 1
        let reports = body.count == Self.equalBodyCount && !body.isReported
        if reports { body.isReported = true }
        bodies[host] = body
        return reports ? [.equalBodies(host: host, count: body.count)] : []
    }
}

extension BatchMonitor.Warning: CustomStringConvertible {
    package var description: String {
        func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
        return switch self {
        case .failuresIncreased(let before, let now):
            "\(percent(now)) of the most recent rows failed, after \(percent(before)) of those before. Check the network."
        case .equalBodies(let host, let count):
            "\(host) answered \(count) URLs in a row with the same body. It may be a placeholder."
        }
    }
}
