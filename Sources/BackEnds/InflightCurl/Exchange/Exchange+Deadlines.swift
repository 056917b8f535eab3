internal import InflightConcurrency
internal import InflightCore

extension Exchange {
    /// The limit of the request that a deadline enforces.
    enum TimeLimit {
        case resolving
        case connecting
        case stall
        case total
    }

    /// The earliest time at which an exchange that has just begun could exceed a limit.
    var firstDeadline: Int64 {
        min(Self.moment(startedAt, timeouts.connect), Self.moment(startedAt, timeouts.total))
    }

    /// The time at which the exchange stalls if no more bytes arrive or leave.
    var stallDeadline: Int64 { Self.moment(lastActivity, timeouts.stall) }

    /// Returns the exchange's next deadline and its limit, or nil if there is none in the current state.
    ///
    /// - Parameter fullUntil: The last time at which the process had its maximum number of connections open.
    func nextDeadline(connectionsFullUntil fullUntil: Int64) -> (Int64, TimeLimit)? {
        let total = Self.moment(startedAt, timeouts.total)
        var other = Int64.max
        var limit = TimeLimit.connecting
        switch phase {
        case .resolving:
            limit = .resolving
            other = Self.moment(startedAt, timeouts.connect)
        case .waiting, .connecting:
            if connectingSince > 0 {
                other = Self.moment(connectingSince, timeouts.connect)
            } else if let site, site.connected == 0 {
                other = Self.moment(max(startedAt, site.busyUntil, fullUntil), timeouts.connect)
            }
        case .connected:
            limit = .stall
            if !isPaused { other = Self.moment(lastActivity, timeouts.stall) }
        case .held, .ended: break
        }
        if min(other, total) == .max { return nil }
        return other <= total ? (other, limit) : (total, .total)
    }

    func failure(forLimit limit: TimeLimit) -> LoadError {
        let host = peer
        let limits = request.limits
        switch limit {
        case .resolving:
            return failure(
                .timedOut,
                "Resolving the host name of \(connectee) timed out after \(limits.connectTimeout.text). "
                    + "Check the DNS servers, or raise connectTimeout.")
        case .connecting:
            return failure(
                .timedOut,
                "Connecting to \(connectee) timed out after \(limits.connectTimeout.text). "
                    + "Try again later, or raise connectTimeout.")
        case .stall where isWithinHead:
            return failure(
                .timedOut,
                "The transfer stalled: \(host) did not complete the response header within "
                    + "\(limits.stallTimeout.text). Try again later, or raise stallTimeout.")
        case .stall:
            return failure(
                .timedOut,
                "The transfer stalled: no data from \(host) for \(limits.stallTimeout.text). "
                    + "Try again later, or raise stallTimeout.")
        case .total:
            return failure(
                .timedOut,
                "The request to \(host) timed out after \(limits.totalTimeout.text). Raise totalTimeout.")
        }
    }

    private static func moment(_ start: Int64, _ limit: Int64) -> Int64 {
        let sum = start.addingReportingOverflow(limit)
        return sum.overflow ? .max : sum.partialValue
    }
}

/// The timeouts of a request in nanoseconds, `.max` if there is none. The conversion takes 128-bit arithmetic, a large
/// part of an exchange's cost, so requests with the same timeouts share it.
struct Timeouts {
    private let limits: TransportRequest.Limits
    let connect: Int64
    let stall: Int64
    let total: Int64

    /// The value until the loop has begun the exchange.
    static let none = Timeouts(TransportRequest.Limits())

    init(_ limits: TransportRequest.Limits) {
        self.limits = limits
        func nanoseconds(_ limit: Duration?) -> Int64 { limit.map { max(0, $0.saturatedNanoseconds) } ?? .max }
        connect = nanoseconds(limits.connectTimeout)
        stall = nanoseconds(limits.stallTimeout)
        total = nanoseconds(limits.totalTimeout)
    }

    func isOf(_ limits: TransportRequest.Limits) -> Bool {
        self.limits.connectTimeout == limits.connectTimeout && self.limits.stallTimeout == limits.stallTimeout
            && self.limits.totalTimeout == limits.totalTimeout
    }
}
