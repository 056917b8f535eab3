/// The retry budget of an origin: a token bucket to which each first attempt adds a fraction, and from which each retry
/// takes one. By default, a failing origin gets a tenth more requests, plus the initial retries.
package struct RetryBudget: Hashable, Sendable {
    /// The tokens, in thousandths of a retry.
    private(set) var tokens: Int
    /// The time at which a retry was taken for requests that were lost with their connection.
    private var lossPaidAt: WallTime?
    private let capacity: Int
    private let deposit: Int

    /// - Parameters:
    ///   - retries: the initial and maximum number of retries.
    ///   - perTry: the fraction of a retry that each first attempt adds.
    package init(retries: Int = 10, perTry: Double = 0.1) {
        capacity = min(max(0, retries), 1_000_000) * 1000
        tokens = capacity
        deposit = Int((min(max(perTry.isNaN ? 0 : perTry, 0), 1) * 1000).rounded())
    }

    /// Whether it is as it was at the beginning, except for the time of a loss.
    var isFull: Bool { tokens == capacity }

    /// A request is sent for the first time.
    package mutating func recordFirstAttempt() {
        tokens = min(capacity, tokens + deposit)
    }

    /// Takes one retry, and returns whether there was one.
    package mutating func takeRetry() -> Bool {
        guard tokens >= 1000 else { return false }
        tokens -= 1000
        return true
    }

    /// Takes one retry for all requests lost within one second, because an HTTP/2 connection loses many at once.
    package mutating func takeRetry(ofLossAt now: WallTime) -> Bool {
        if let lossPaidAt, (0..<1000).contains(now.milliseconds(since: lossPaidAt)) { return true }
        guard takeRetry() else { return false }
        lossPaidAt = now
        return true
    }
}
