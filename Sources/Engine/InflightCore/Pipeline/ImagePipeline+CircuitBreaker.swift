internal import InflightConcurrency

extension ImagePipeline {
    /// The policy for unreachable origins: when the pipeline stops connecting, and how the origin's loads behave
    /// meanwhile.
    ///
    /// The origin's circuit opens after ``failuresToOpen`` connection failures in a row: refused connections, names
    /// that do not resolve, unreachable networks, and timeouts before any response. A status is a response, and closes
    /// it. While the circuit is open, the pipeline sends nothing to the origin. After a backoff it sends one load's
    /// request as a probe: its success closes the circuit, its failure opens it again for a longer time.
    ///
    /// Retries by ``RetryPolicy`` are sent whether the circuit is open or not, unless ``whileOpen`` is `wait`. Files
    /// and `data:` URLs have no origin.
    public struct CircuitBreaker: Sendable, Hashable {
        /// The behaviour of a load while its origin's circuit is open.
        public enum OpenPolicy: String, Sendable, Hashable, CaseIterable {
            /// Fail at once with ``LoadError/Code/originUnavailable``, queued loads too.
            case fail
            /// Wait in the queue until the circuit closes, or the load is the probe.
            case wait
        }

        /// The number of connection failures in a row that open a circuit, 1 or more.
        public var failuresToOpen = 5
        /// The time from opening a circuit to its first probe. It doubles with each probe that fails. The actual wait
        /// is random, between half of it and all of it.
        public var firstBackoff: Duration = .seconds(1)
        /// The maximum time from opening a circuit to its next probe, however many probes have failed.
        public var maximumBackoff: Duration = .seconds(60)
        /// The behaviour of an origin's loads while its circuit is open.
        public var whileOpen = OpenPolicy.fail
        /// The maximum number of failing origins to remember. Failures of origins beyond these are not counted.
        public var maximumOrigins = 1024

        /// Creates the defaults: five failures, then one second.
        public init() {}
    }
}

extension ImagePipeline.CircuitBreaker {
    /// Returns the time to the next probe.
    ///
    /// - Parameters:
    ///   - openings: how often the circuit has opened in a row, from 1.
    ///   - random: the part of the jitter, from 0 to 1.
    func backoff(opening openings: Int, random: Double) -> Duration {
        let first = max(0, firstBackoff.saturatedNanoseconds)
        let doubled = first.multipliedReportingOverflow(by: 1 << Int64(min(max(0, openings - 1), 40)))
        let longest = min(doubled.overflow ? .max : doubled.partialValue, max(0, maximumBackoff.saturatedNanoseconds))
        let part = random.isNaN ? 0 : min(max(random, 0), 1)
        let jitter = Int64(exactly: (Double(longest / 2) * part).rounded(.down)) ?? 0
        return .nanoseconds(longest - longest / 2 + min(jitter, longest / 2))
    }
}
