/// How many retries an origin may still be sent: a bucket that each first try adds a little to and each retry takes one
/// from. An origin that fails is so sent a tenth more than without retries, and the few that the bucket begins with.
package struct RetryBudget: Hashable, Sendable {
    /// In thousandths of a retry.
    private var tokens: Int
    /// When a retry was taken for requests that were lost with their connection.
    private var lossPaidAt: WallTime?
    private let capacity: Int
    private let deposit: Int

    /// - Parameters:
    ///   - retries: how many there are at the beginning, and at most.
    ///   - perTry: what part of a retry each first try adds.
    package init(retries: Int = 10, perTry: Double = 0.1) {
        capacity = min(max(0, retries), 1_000_000) * 1000
        tokens = capacity
        deposit = Int((min(max(perTry.isNaN ? 0 : perTry, 0), 1) * 1000).rounded())
    }

    /// A request goes out for the first time.
    package mutating func noteFirstTry() {
        tokens = min(capacity, tokens + deposit)
    }

    /// Takes one retry; `false` where there is none.
    package mutating func takeRetry() -> Bool {
        guard tokens >= 1000 else { return false }
        tokens -= 1000
        return true
    }

    /// Takes one retry for all requests that are lost within a second: an HTTP/2 connection takes many with it.
    package mutating func takeRetry(ofLossAt now: WallTime) -> Bool {
        if let lossPaidAt, (0..<1000).contains(now.milliseconds(since: lossPaidAt)) { return true }
        guard takeRetry() else { return false }
        lossPaidAt = now
        return true
    }
}
