import InflightConcurrency

/// What each origin may still be sent again, what servers asked to be left alone with, and the chance that spreads tries
/// over time.
// Unchecked: all that changes is touched only while `lock` is held.
final class RetryBudgets: @unchecked Sendable {
    /// Origins beyond these begin with a full budget again.
    private static let maximumOrigins = 1024

    private let lock = Lock()
    private var budgets: [OriginKey: RetryBudget] = [:]
    /// By URL. Those beyond ``maximumFailures`` are forgotten.
    private var failures: [String: (until: MonotonicTime, error: LoadError)] = [:]

    private static let maximumFailures = 1024

    func noteFirstTry(of origin: OriginKey) {
        lock.withLock { budgets[origin]?.noteFirstTry() }
    }

    /// Its server asked to be left alone until then.
    func remember(_ error: LoadError, of url: String, until: MonotonicTime, now: MonotonicTime) {
        lock.withLock {
            if failures.count >= Self.maximumFailures { failures = failures.filter { $0.value.until > now } }
            if failures.count < Self.maximumFailures { failures[url] = (until, error) }
        }
    }

    /// Why the URL is not to be asked now; `nil` where it may be.
    func remembered(_ url: String, now: MonotonicTime) -> LoadError? {
        lock.withLock {
            guard let failure = failures[url] else { return nil }
            if failure.until > now { return failure.error }
            failures[url] = nil
            return nil
        }
    }

    func decide(
        _ policy: RetryPolicy, after failure: RetryPolicy.Failure, method: String, failedTries: Int, origin: OriginKey,
        now: WallTime, random: Double
    ) -> RetryPolicy.Decision {
        lock.withLock {
            if budgets.count >= Self.maximumOrigins, budgets[origin] == nil { budgets.removeAll() }
            return policy.decide(
                after: failure, method: method, failedTries: failedTries, now: now, random: random,
                budget: &budgets[origin, default: RetryBudget()])
        }
    }
}
