package import InflightCore

/// The robots.txt of one authority over time: what its fetches mean, and when to fetch it again (RFC 9309 sections 2.3
/// and 2.4).
///
/// A value without a clock. Times are durations since a point that the caller chooses. A time before the last fetch,
/// after the clock was set back, requires a new fetch.
package struct RobotsRecord: Sendable {
    /// The crawler's name, and the intervals.
    package struct Configuration: Sendable {
        /// The name to which groups apply: letters, `_` and `-`.
        package var productToken: String
        /// The limit to which a longer `Crawl-delay` is reduced.
        package var maximumCrawlDelay: Duration = .seconds(60)
        /// The time for which a fetched file is used (section 2.4: at most a day).
        package var lifetime: Duration = .seconds(86_400)
        /// The time until the first retry while unreachable. It doubles with each failure.
        package var firstRetryInterval: Duration = .seconds(5)
        /// The maximum time until a retry while unreachable.
        package var maximumRetryInterval: Duration = .seconds(3_600)
        /// The time after which an unreachable host that never served a file counts as one without a file.
        package var unreachableLimit: Duration = .seconds(30 * 86_400)

        /// Creates a configuration with defaults for all intervals.
        package init(productToken: String) {
            self.productToken = productToken
        }
    }

    /// How a fetch of `/robots.txt` ended, after redirects.
    package enum Outcome: Sendable {
        /// A response. `isTruncated` if the caller stopped reading the body at ``RobotsFile/sizeLimit``. A redirect
        /// status says that the fetch exceeded ``RobotsRecord/redirectLimit``.
        case response(status: Int, body: [UInt8], isTruncated: Bool = false)
        /// No response: name resolution, connection, TLS, timeout, or an address that may not be used.
        case networkError(LoadError)
    }

    /// Why the file is unreachable.
    package enum Obstacle: Sendable {
        case status(Int)
        case error(LoadError)

        package var message: String {
            switch self {
            case .status(let status): "The server responded with status \(status)."
            case .error(let error): OptionNames.batch.message(error.message)
            }
        }
    }

    /// Whether a URL may be fetched.
    package enum Decision: Hashable, Sendable {
        /// The URL may be fetched.
        case allowed
        /// A rule disallows the URL.
        case disallowed
        /// The file is unreachable, so every URL is disallowed (section 2.3.1.4), until a fetch at the given time.
        case unreachable(retryAt: Duration)
        /// The file must be fetched first. Fetch it once, however many URLs wait for it.
        case needsFetch
    }

    /// The maximum number of redirects to follow, also to other authorities (section 2.3.1.2).
    package static let redirectLimit = 5

    private let configuration: Configuration
    /// The last file that a successful fetch yielded.
    private var file: RobotsFile?
    private var fetchedAt: Duration = .zero
    /// The failed fetches since the last success.
    private var failure: Failure?

    private struct Failure {
        var first: Duration
        var last: Duration
        var retryAt: Duration
        var interval: Duration
        var obstacle: Obstacle
    }

    /// Creates the record of an authority whose file has not been fetched.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Why the last fetch failed, if it did.
    package var obstacle: Obstacle? { failure?.obstacle }

    /// The file's `Crawl-delay`, also of a stale file.
    package var crawlDelay: Duration? { file?.crawlDelay }

    /// Records the end of a fetch.
    ///
    /// - 200–299: the body's rules apply. 304: the previous body's rules apply for another lifetime.
    /// - 300–399 (too many redirects) and 400–499: there is no file, so everything is allowed. Except 429: the RFC
    ///   permits access, but a host that asks for fewer requests would get more. As for Google, it is unreachable.
    /// - Everything else: unreachable.
    package mutating func fetchDidFinish(_ outcome: Outcome, at now: Duration) {
        switch outcome {
        case .response(200...299, let body, let isTruncated):
            let file = RobotsFile(
                body, productToken: configuration.productToken, maximumCrawlDelay: configuration.maximumCrawlDelay,
                isTruncated: isTruncated)
            fetchDidSucceed(file, at: now)
        case .response(304, _, _): fetchDidSucceed(file ?? RobotsFile(), at: now)
        case .response(429, _, _): fetchDidFail(.status(429), at: now)
        case .response(300...499, _, _): fetchDidSucceed(RobotsFile(), at: now)
        case .response(let status, _, _): fetchDidFail(.status(status), at: now)
        case .networkError(let error): fetchDidFail(.error(error), at: now)
        }
    }

    /// Returns whether a URL may be fetched now.
    ///
    /// - Parameter path: The URL's path and query.
    package func decision(for path: String, at now: Duration) -> Decision {
        if let failure {
            guard now >= failure.last, now < failure.retryAt else { return .needsFetch }
            if let file { return file.allows(path) ? .allowed : .disallowed }
            let isAbandoned = now - failure.first >= configuration.unreachableLimit
            return isAbandoned ? .allowed : .unreachable(retryAt: failure.retryAt)
        }
        guard let file, now >= fetchedAt, now - fetchedAt < configuration.lifetime else { return .needsFetch }
        return file.allows(path) ? .allowed : .disallowed
    }

    private mutating func fetchDidSucceed(_ file: RobotsFile, at now: Duration) {
        self.file = file
        fetchedAt = now
        failure = nil
    }

    private mutating func fetchDidFail(_ obstacle: Obstacle, at now: Duration) {
        let interval = failure.map { min($0.interval * 2, configuration.maximumRetryInterval) }
        let next = interval ?? min(configuration.firstRetryInterval, configuration.maximumRetryInterval)
        failure = Failure(
            first: min(failure?.first ?? now, now), last: now, retryAt: now + next, interval: next, obstacle: obstacle)
    }
}
