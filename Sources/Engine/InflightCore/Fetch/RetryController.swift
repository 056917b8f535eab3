import InflightConcurrency
internal import Synchronization

/// Decides about the retries of all fetches: by their policies, by the budget of each origin, and by the pauses that
/// servers asked for.
// Unchecked: mutable properties are accessed only while `lock` is held.
final class RetryController: @unchecked Sendable {
    /// The maximum number of origins with a budget. Beyond it, the budget with the most retries is discarded, so that
    /// its origin starts full again.
    private static let maximumOrigins = 1024
    private static let maximumPauses = 1024

    private let clock: any EngineClock
    private let random: @Sendable () -> Double
    private let lock = Lock()
    /// Whether an attempt has ever failed. Until then, nothing is recorded.
    private let hasFailures = Atomic(false)
    /// The budgets that are not full.
    private var budgets: [OriginKey: RetryBudget] = [:]
    /// The URLs whose servers asked for a pause, at most ``maximumPauses``. Further ones are not recorded.
    private var pauses: [String: (end: MonotonicTime, error: LoadError)] = [:]

    init(clock: any EngineClock, random: @escaping @Sendable () -> Double) {
        self.clock = clock
        self.random = random
    }

    /// A fetch is about to send its first request to a URL.
    ///
    /// - Returns: the error to fail with, if the server asked for a pause that has not ended.
    func firstAttempt(at url: ResourceURL, policy: ImageRequest.CachePolicy) -> LoadError? {
        guard hasFailures.load(ordering: .relaxed) else { return nil }
        let origin = url.originKey
        // A request that bypasses the cache is sent anyway.
        let now = policy.needsNewResult ? nil : clock.now()
        return lock.withLock {
            // Most origins have no budget, because nothing from them has failed.
            if let index = budgets.index(forKey: origin) {
                budgets.values[index].recordFirstAttempt()
                if budgets.values[index].isFull { budgets.remove(at: index) }
            }
            guard let now, !pauses.isEmpty, let pause = pauses[url.string] else { return nil }
            if pause.end > now { return pause.error }
            pauses[url.string] = nil
            return nil
        }
    }

    /// An attempt has failed.
    ///
    /// - Parameters:
    ///   - error: the error with which the load would fail.
    ///   - head: the head of the response, if the failure is a response.
    ///   - failedAttempts: the number of failed attempts, this one included.
    ///   - madeProgress: whether this one made progress.
    /// - Returns: the delay before the next attempt, or nil if there is none.
    func delay(
        by policy: RetryPolicy, after error: LoadError, _ head: ResponseHead?, method: String, url: ResourceURL,
        failedAttempts: Int,
        madeProgress: Bool
    ) -> Duration? {
        hasFailures.store(true, ordering: .relaxed)
        let origin = url.originKey
        let (date, random) = (clock.wallTime, random())
        let failure = head.map(RetryPolicy.Failure.answer) ?? .error(error.code)
        let decision = lock.withLock {
            var budget = budgets[origin] ?? RetryBudget()
            let decision = policy.decide(
                after: failure, method: method, failedAttempts: failedAttempts, madeProgress: madeProgress,
                now: date, random: random, budget: &budget)
            if !budget.isFull { keep(budget, of: origin) }
            return decision
        }
        if case .retry(let delay) = decision { return delay }
        guard case .retryAfterTooLong = decision else { return nil }
        let now = clock.now()
        let end = now + policy.memory(of: decision)
        lock.withLock {
            if pauses.count >= Self.maximumPauses { pauses = pauses.filter { $0.value.end > now } }
            if end > now, pauses.count < Self.maximumPauses { pauses[url.string] = (end, error) }
        }
        return nil
    }

    /// Called with the lock held.
    private func keep(_ budget: RetryBudget, of origin: OriginKey) {
        if budgets.count >= Self.maximumOrigins, budgets[origin] == nil,
            let fullest = budgets.max(by: { $0.value.tokens < $1.value.tokens })
        {
            budgets[fullest.key] = nil
        }
        budgets[origin] = budget
    }
}

/// The attempts for one URL; a redirect resets them.
struct Attempts {
    /// The number of failed attempts, without those that made progress.
    var failed = 0
    /// The number of failed attempts that made progress, and the end of the longest first part of the body so far.
    private var progressed = 0
    var furthest: Int64 = 0
    /// Whether the last failed attempt was lost with a connection that an earlier request had opened.
    var isRepeatOfLoss = false
    /// Whether `willSend` was called again after a 401.
    var hasReauthenticated = false

    /// The maximum number of failed attempts that do not count against the retries.
    private static let maximumProgressed = 100
    /// The minimum number of bytes that count as progress, unless they are 1 % of the body.
    private static let progressBytes: Int64 = 16 * 1024

    /// The body was cut off.
    ///
    /// - Parameter part: its first part, if the rest can be requested.
    /// - Returns: whether the attempt brought enough new bytes not to count against the retries.
    mutating func makesProgress(_ part: Resumption?) -> Bool {
        guard let part else { return false }
        let brought = part.offset - furthest
        furthest = max(furthest, part.offset)
        let percent = part.stored.totalLength.map { $0 / 100 + ($0 % 100 == 0 ? 0 : 1) } ?? .max
        guard brought >= max(1, min(percent, Self.progressBytes)), progressed < Self.maximumProgressed else {
            return false
        }
        progressed += 1
        return true
    }
}
