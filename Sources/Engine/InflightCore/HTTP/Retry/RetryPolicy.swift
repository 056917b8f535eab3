import InflightConcurrency

/// Whether, and when, to try again what failed in a way that may pass: a value that decides, without clocks and chance of
/// its own.
///
/// Waits grow with each try, and a random part of them is waited ("full jitter"), so that many loads that failed together
/// do not come back together. What a server asks for with `Retry-After` is obeyed.
public struct RetryPolicy: Sendable, Hashable {
    /// Tries after the first.
    public var extraTries = 2
    /// The longest wait before the first of them; it doubles with each.
    public var firstDelay: Duration = .milliseconds(500)
    public var maximumDelay: Duration = .seconds(30)
    /// The longest wait that a server's `Retry-After` is obeyed for. Where it asks for more, the load fails at once and
    /// says when to come back.
    public var maximumRetryAfter: Duration = .seconds(60)
    /// Whether requests are repeated whose method may do something twice, as `POST` may (RFC 9110 section 9.2.2).
    public var retriesUnsafeMethods = false
    /// For how long at most a failure is remembered after the last try, so that a server which asked not to be asked is
    /// not. A failure that names no time is not remembered at all.
    public var longestMemory: Duration = .seconds(60)

    public init() {}

    /// How a try failed.
    package enum Failure: Hashable, Sendable {
        case error(LoadError.Code)
        case answer(ResponseHead)
    }

    package enum Decision: Hashable, Sendable {
        case retry(after: Duration)
        /// It will not get better, or there were tries enough.
        case fail
        /// The server asks for a longer wait than this policy allows.
        case comeBack(after: Duration)
    }

    /// - Parameters:
    ///   - failedTries: how many there were with this one, from 1.
    ///   - now: what a date in `Retry-After` is counted from.
    ///   - random: in `0 ... 1`, drawn anew for each call.
    ///   - budget: its origin's; a retry takes from it.
    package func decide(
        after failure: Failure, method: String, failedTries: Int, now: WallTime, random: Double,
        budget: inout RetryBudget
    ) -> Decision {
        guard Self.mayPass(failure) else { return .fail }
        var asked: Duration?
        if case .answer(let head) = failure {
            asked = RetryAfter.milliseconds(head.fields, now: now).map { .milliseconds($0) }
        }
        if let asked, asked > maximumRetryAfter { return .comeBack(after: asked) }
        guard retriesUnsafeMethods || Self.isIdempotent(method), failedTries <= extraTries else { return .fail }
        let isLoss = failure == .error(.connectionLost)
        guard isLoss ? budget.takeRetry(ofLossAt: now) : budget.takeRetry() else { return .fail }
        // A connection that the server had closed while it was idle says nothing about the next one.
        if isLoss, failedTries == 1 { return .retry(after: .zero) }
        let jitter = delay(beforeRetry: failedTries, random: random)
        return .retry(after: max(asked ?? .zero, jitter))
    }

    /// For how long nobody asks again for what failed so.
    package func memory(of decision: Decision) -> Duration {
        guard case .comeBack(let after) = decision else { return .zero }
        return min(after, longestMemory)
    }

    /// A random part of what has doubled with each retry, counted from 1.
    package func delay(beforeRetry number: Int, random: Double) -> Duration {
        let doublings = min(max(0, number - 1), 40)
        let first = max(0, firstDelay.saturatedNanoseconds)
        let longest = first.multipliedReportingOverflow(by: 1 << Int64(doublings))
        let bounded = min(longest.overflow ? .max : longest.partialValue, max(0, maximumDelay.saturatedNanoseconds))
        let part = random.isNaN ? 0 : min(max(random, 0), 1)
        return .nanoseconds(min(bounded, Int64(exactly: (Double(bounded) * part).rounded(.down)) ?? bounded))
    }

    /// What may be different the next time.
    package static func mayPass(_ failure: Failure) -> Bool {
        switch failure {
        case .error(let code):
            [.cannotConnect, .connectionLost, .timedOut, .tooManyOpenFiles, .truncated].contains(code)
        case .answer(let head):
            [408, 425, 429].contains(head.status) || ((500..<600).contains(head.status) && head.status != 501)
        }
    }

    /// RFC 9110 section 9.2.2.
    package static func isIdempotent(_ method: String) -> Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }
}
