import InflightConcurrency

/// What each origin may still be sent again, and the chance that spreads it over time.
// Unchecked: all that changes is touched only while `lock` is held.
final class RetryBudgets: @unchecked Sendable {
    /// Origins beyond these begin with a full budget again.
    private static let maximumOrigins = 1024

    private let lock = Lock()
    private var budgets: [OriginKey: RetryBudget] = [:]

    func noteFirstTry(of origin: OriginKey) {
        lock.withLock { budgets[origin]?.noteFirstTry() }
    }

    func decide(
        _ policy: RetryPolicy, after failure: RetryPolicy.Failure, method: String, failedTries: Int, origin: OriginKey,
        now: WallTime
    ) -> RetryPolicy.Decision {
        let random = Double.random(in: 0...1)
        return lock.withLock {
            if budgets.count >= Self.maximumOrigins, budgets[origin] == nil { budgets.removeAll() }
            return policy.decide(
                after: failure, method: method, failedTries: failedTries, now: now, random: random,
                budget: &budgets[origin, default: RetryBudget()])
        }
    }
}
