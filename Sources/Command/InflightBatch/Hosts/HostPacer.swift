/// The pace of requests to one host: how many at once, and how long apart.
///
/// Additive increase, multiplicative decrease: a window of served requests raises the limit by 1. A throttled request
/// (429, 503) or rising latency halves it. At a limit of 1, the delay between starts is doubled instead, and halved by
/// a served window. One congestion halves once: requests that started before the last decrease do not count.
///
/// A value without a clock. Times are durations since a start that the caller chooses, and never decrease.
package struct HostPacer: Sendable {
    /// The bounds of the pace.
    package struct Configuration: Sendable {
        /// The maximum number of requests at once, at least 1.
        package var ceiling = 2
        /// The number of requests at once until the first change, from 1 to ``ceiling``.
        package var initialLimit = 2
        /// The minimum time between two starts.
        package var minimumDelay: Duration = .zero
        /// The delay between starts after the first decrease at a limit of 1.
        package var firstBackoff: Duration = .milliseconds(500)
        /// The maximum delay that decreases lead to.
        package var maximumBackoff: Duration = .seconds(30)
        /// The limit to which a longer `Retry-After` is reduced.
        package var maximumPause: Duration = .seconds(3_600)
        /// The number of served requests that raise the limit, or the limit itself if that is larger.
        package var window = 8
        /// The latency is rising if its short average exceeds the long one this many times, and ``latencySlack``.
        package var latencyFactor = 3
        /// The increase of the latency that is ignored. Measured latencies contain waits for this machine's processors,
        /// which are no reason to spare a host.
        package var latencySlack: Duration = .seconds(1)

        /// Creates a configuration with defaults.
        package init() {}
    }

    /// How a request ended, as far as the pace is concerned.
    package enum Outcome: Hashable, Sendable {
        /// The host served it with any status, except as below, after `latency`.
        case served(latency: Duration)
        /// The host asked for fewer requests (429, 503), perhaps with the time of a `Retry-After`.
        case throttled(retryAfter: Duration?)
        /// No response. The pace does not change.
        case failed
        /// The request was not sent, because robots.txt disallowed it, for example. Its start does not count.
        case notSent
    }

    private let configuration: Configuration
    /// The number of requests that may run at once now.
    package private(set) var limit: Int
    /// The number of requests that run.
    package private(set) var running = 0
    /// The minimum time between two starts, as configured or from a `Crawl-delay`.
    package private(set) var minimumDelay: Duration
    /// The additional bound on the time between two starts that decreases led to.
    private var backoff: Duration = .zero
    private var pausedUntil: Duration = .zero
    private var lastStart: Duration?
    private var startBeforeLast: Duration?
    private var lastDecrease: Duration?
    private var servedInWindow = 0
    /// The short and the long moving average.
    private var latency: Duration?
    private var baseline: Duration?

    /// Creates the pacer of a host without requests.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        limit = max(1, min(configuration.initialLimit, configuration.ceiling))
        minimumDelay = max(.zero, configuration.minimumDelay)
    }

    /// The time between two starts now.
    package var delay: Duration { max(minimumDelay, backoff) }

    /// Whether the limit and the delay are the configured ones, and no request runs. Once ``restsUntil`` has passed,
    /// such a pacer may be replaced by a new one.
    package var isInitial: Bool {
        running == 0 && limit == max(1, min(configuration.initialLimit, configuration.ceiling)) && backoff == .zero
            && minimumDelay == max(.zero, configuration.minimumDelay)
    }

    /// The time before which the delay or a `Retry-After` forbids a start.
    package var restsUntil: Duration { max(pausedUntil, lastStart.map { $0 + delay } ?? .zero) }

    /// The earliest time of the next start, perhaps past, or nil if a running request must end first.
    package var nextStart: Duration? { running < limit ? restsUntil : nil }

    /// Sets the minimum time between two starts to a `Crawl-delay`, unless the configured one is longer.
    package mutating func setCrawlDelay(_ delay: Duration?) {
        minimumDelay = max(.zero, configuration.minimumDelay, delay ?? .zero)
    }

    /// Records the start of a request, which ``nextStart`` permitted.
    package mutating func requestDidStart(at now: Duration) {
        running += 1
        startBeforeLast = lastStart
        lastStart = now
    }

    /// Records the end of a request.
    ///
    /// - Parameter start: The time that was given to ``requestDidStart(at:)``.
    package mutating func requestDidFinish(_ outcome: Outcome, startedAt start: Duration, at now: Duration) {
        running = max(0, running - 1)
        let isNews = lastDecrease.map { start >= $0 } ?? true
        switch outcome {
        case .served(let sample): if isNews { requestWasServed(sample, at: now) }
        case .throttled(let retryAfter):
            if let retryAfter { pausedUntil = max(pausedUntil, now + max(.zero, clampedPause(retryAfter))) }
            if isNews { decrease(at: now) }
        case .failed: break
        case .notSent: if lastStart == start { lastStart = startBeforeLast }
        }
    }

    private func clampedPause(_ pause: Duration) -> Duration { min(pause, configuration.maximumPause) }

    private mutating func requestWasServed(_ sample: Duration, at now: Duration) {
        let sample = max(.zero, min(sample, .seconds(3_600)))
        let short = latency.map { $0 + (sample - $0) / 4 } ?? sample
        let long = baseline.map { $0 + (sample - $0) / 64 } ?? sample
        latency = short
        baseline = long
        if short > long * configuration.latencyFactor, short - long > configuration.latencySlack {
            decrease(at: now)
            // The next decrease needs new evidence.
            latency = long
            return
        }
        servedInWindow += 1
        guard servedInWindow >= max(configuration.window, limit) else { return }
        servedInWindow = 0
        if backoff > .zero {
            backoff = backoff > configuration.firstBackoff ? backoff / 2 : .zero
        } else {
            limit = min(limit + 1, max(1, configuration.ceiling))
        }
    }

    private mutating func decrease(at now: Duration) {
        lastDecrease = now
        servedInWindow = 0
        if limit > 1 {
            limit /= 2
        } else {
            backoff = min(max(backoff * 2, configuration.firstBackoff), configuration.maximumBackoff)
        }
    }
}
