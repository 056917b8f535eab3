import InflightConcurrency

/// The retry budget of each origin, and the URLs that servers asked clients not to request for a while.
// Unchecked: mutable properties are accessed only while `lock` is held.
final class RetryBudgets: @unchecked Sendable {
    /// The maximum number of origins. Beyond it, all begin with a full budget again.
    private static let maximumOrigins = 1024

    private let lock = Lock()
    private var budgets: [OriginKey: RetryBudget] = [:]
    /// Failures by URL, at most ``maximumFailures``. Further ones are not recorded.
    private var failures: [String: (until: MonotonicTime, error: LoadError)] = [:]

    private static let maximumFailures = 1024

    func noteFirstTry(of origin: OriginKey) {
        lock.withLock {
            // Most origins have no budget, because nothing from them has failed.
            guard let index = budgets.index(forKey: origin) else { return }
            budgets.values[index].noteFirstTry()
        }
    }

    /// The server of `url` has asked for no requests until `until`.
    func remember(_ error: LoadError, of url: String, until: MonotonicTime, now: MonotonicTime) {
        lock.withLock {
            if failures.count >= Self.maximumFailures { failures = failures.filter { $0.value.until > now } }
            if failures.count < Self.maximumFailures { failures[url] = (until, error) }
        }
    }

    /// Returns the error because of which the URL must not be requested now, or nil if it may be.
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
