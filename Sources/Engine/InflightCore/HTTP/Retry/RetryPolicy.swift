import InflightConcurrency

/// The policy that decides whether and when to retry after a transient failure. A value without a clock or randomness
/// of its own.
///
/// Transient failures are the statuses 408, 425, 429 and 5xx except 501, and the errors
/// ``LoadError/Code/cannotConnect``, ``LoadError/Code/connectionLost``, ``LoadError/Code/timedOut``,
/// ``LoadError/Code/tooManyOpenFiles`` and ``LoadError/Code/truncated``.
///
/// Delays double with each retry, and a random part of each is waited ("full jitter"), so that many loads that failed
/// together do not retry together. `Retry-After` of a server is obeyed. The first retry after a lost connection is sent
/// at once. Retries also take from a budget of their origin, so that they cannot multiply the load on a failing server.
///
/// An attempt that makes progress is no failure: a body with a strong validator was cut off, though not by a timeout,
/// after at least 16 KiB or 1 % more of it than any attempt before. The rest is requested after at most
/// ``firstDelay``. Up to 100 such attempts of one load count neither against ``maximumRetries`` nor against the budget.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of retries of one load, after its first attempt and without those that made progress. 0
    /// disables retries.
    public var maximumRetries = 2
    /// The maximum delay before the first retry. It doubles with each further retry.
    public var firstDelay: Duration = .milliseconds(500)
    /// The limit of the doubled delay. A `Retry-After` of the server may exceed it.
    public var maximumDelay: Duration = .seconds(30)
    /// The maximum `Retry-After` of a server that is obeyed. If the server asks for more, the load fails at once with
    /// an error that states when to retry.
    public var maximumRetryAfter: Duration = .seconds(60)
    /// Whether to retry requests whose method is not idempotent, such as `POST` (RFC 9110 section 9.2.2).
    public var retriesUnsafeMethods = false
    /// The maximum time for which a URL's failure is remembered, if its server asked for a longer pause than
    /// ``maximumRetryAfter``. Until then or until the end of the pause, loads of this URL fail at once with the same
    /// error, and the server gets no request. Requests that bypass stored responses
    /// (``ImageRequest/CachePolicy/refresh``, ``ImageRequest/CachePolicy/reload``,
    /// ``ImageRequest/CachePolicy/noStore``) are sent nevertheless.
    public var maximumPauseMemory: Duration = .seconds(60)

    /// Creates the defaults: at most two retries, after at most half a second and one second.
    public init() {}

    /// The reason why an attempt failed.
    package enum Failure: Hashable, Sendable {
        case error(LoadError.Code)
        case answer(ResponseHead)
    }

    package enum Decision: Hashable, Sendable {
        case retry(after: Duration)
        /// The failure is permanent, or no retries are left.
        case fail
        /// The server asks for a longer wait than this policy allows.
        case retryAfterTooLong(after: Duration)
    }

    /// - Parameters:
    ///   - failedAttempts: the number of failed attempts, this one included.
    ///   - madeProgress: whether this attempt counts neither as failed nor against the budget.
    ///   - now: the time to which a date in `Retry-After` is relative.
    ///   - random: a number in `0 ... 1`, drawn for each call.
    ///   - budget: the origin's budget, from which a retry is taken.
    package func decide(
        after failure: Failure, method: String, failedAttempts: Int, madeProgress: Bool = false, now: WallTime,
        random: Double, budget: inout RetryBudget
    ) -> Decision {
        guard Self.isTransient(failure) else { return .fail }
        var asked: Duration?
        if case .answer(let head) = failure {
            asked = RetryAfter.milliseconds(head.fields, now: now).map { .milliseconds($0) }
        }
        if let asked, asked > maximumRetryAfter { return .retryAfterTooLong(after: asked) }
        guard retriesUnsafeMethods || Self.isIdempotent(method), failedAttempts <= maximumRetries else { return .fail }
        if madeProgress { return .retry(after: delay(beforeRetry: 1, random: random)) }
        let isLoss = failure == .error(.connectionLost)
        guard isLoss ? budget.takeRetry(ofLossAt: now) : budget.takeRetry() else { return .fail }
        // Retry at once: a connection that the server closed while it was idle is no evidence about a new connection.
        if isLoss, failedAttempts == 1 { return .retry(after: .zero) }
        let jitter = delay(beforeRetry: failedAttempts, random: random)
        return .retry(after: max(asked ?? .zero, jitter))
    }

    /// Returns the time for which the failure is remembered, so that no request is sent.
    package func memory(of decision: Decision) -> Duration {
        guard case .retryAfterTooLong(let after) = decision else { return .zero }
        return min(after, maximumPauseMemory)
    }

    /// Returns a random part of the delay before a retry, which doubles with each retry, counted from 1.
    package func delay(beforeRetry number: Int, random: Double) -> Duration {
        let doublings = min(max(0, number - 1), 40)
        let first = max(0, firstDelay.saturatedNanoseconds)
        let longest = first.multipliedReportingOverflow(by: 1 << Int64(doublings))
        let bounded = min(longest.overflow ? .max : longest.partialValue, max(0, maximumDelay.saturatedNanoseconds))
        let part = random.isNaN ? 0 : min(max(random, 0), 1)
        return .nanoseconds(min(bounded, Int64(exactly: (Double(bounded) * part).rounded(.down)) ?? bounded))
    }

    /// Returns whether a failure may be transient.
    package static func isTransient(_ failure: Failure) -> Bool {
        switch failure {
        case .error(let code):
            [.cannotConnect, .connectionLost, .timedOut, .tooManyOpenFiles, .truncated].contains(code)
        case .answer(let head):
            [408, 425, 429].contains(head.status) || ((500..<600).contains(head.status) && head.status != 501)
        }
    }

    /// Returns whether a method is idempotent (RFC 9110 section 9.2.2).
    package static func isIdempotent(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }
}

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

/// The `Retry-After` field: the time after which a server accepts requests again (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Returns the time to wait from `now`, in milliseconds, given as seconds or as a date; 0 if the date has passed.
    /// `nil` if the field is missing or malformed.
    package static func milliseconds(_ fields: HTTPFields, now: WallTime) -> Int64? {
        guard let line = fields.rawValues("retry-after").first else { return nil }
        let value = FieldScanner.trimmed(line)
        if let seconds = FieldScanner.seconds(value) { return seconds * 1000 }
        return HTTPDate.parse(value, now: now).map { max(0, $0.milliseconds(since: now)) }
    }
}
