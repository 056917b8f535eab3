/// Decides how many exchanges with an origin libcurl may have at once, once the origin has refused streams.
///
/// An origin that takes fewer streams than it announces refuses the others (RFC 9113 section 8.7). libcurl opens a
/// connection for each that is sent again, and closes the one that refused. Sending fewer at once keeps the connections
/// few: half of them when an exchange is refused again, one more after each series of exchanges that were served.
struct StreamWindow {
    /// How often an exchange is sent again within one attempt, and how often while it is the only one.
    static let maximumResends = 20
    static let maximumResendsAlone = 3

    private static let longestSeries = 1024

    /// The maximum number of exchanges at once.
    private(set) var limit = Int.max
    /// The number of reductions.
    private(set) var generation = 0
    /// The number of exchanges to serve before the limit grows. It doubles with each reduction.
    private var series = 16
    private var served = 0

    mutating func didServe() {
        guard limit < .max else { return }
        served += 1
        guard served >= series else { return }
        served = 0
        limit += 1
    }

    /// The origin has refused an exchange, and not for the first time. Those that were sent before the latest reduction
    /// do not count: they were refused together.
    ///
    /// - Parameters:
    ///   - generation: The ``generation`` in which the exchange was sent.
    ///   - count: The number of exchanges that libcurl had when it was refused.
    mutating func didRefuse(sentIn generation: Int, among count: Int) {
        guard generation == self.generation else { return }
        self.generation += 1
        limit = max(1, min(limit, count) / 2)
        series = min(Self.longestSeries, series * 2)
        served = 0
    }
}
