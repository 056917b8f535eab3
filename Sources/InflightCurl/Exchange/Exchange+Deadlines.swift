internal import InflightConcurrency
internal import InflightCore

extension Exchange {
    /// Which of the request's limits a deadline comes from.
    enum TimeLimit {
        case naming
        case connecting
        case stall
        case total
    }

    var stallTimeout: Int64? { request.limits.stallTimeout?.saturatedNanoseconds }

    /// The earliest moment at which a limit could be passed by an exchange that has just begun.
    var firstDeadline: Int64 {
        min(
            Self.moment(startedAt, request.limits.connectTimeout), Self.moment(startedAt, request.limits.totalTimeout))
    }

    /// The next limit that it can pass, as things stand; `nil` where it has none.
    var nextDeadline: (Int64, TimeLimit)? {
        let total = Self.moment(startedAt, request.limits.totalTimeout)
        var other = Int64.max
        var limit = TimeLimit.connecting
        switch phase {
        case .naming:
            limit = .naming
            other = Self.moment(startedAt, request.limits.connectTimeout)
        case .connecting:
            if connectingSince > 0 {
                other = Self.moment(connectingSince, request.limits.connectTimeout)
            } else if let site, site.connected == 0 {
                other = Self.moment(max(startedAt, site.busyUntil), request.limits.connectTimeout)
            }
        case .connected:
            limit = .stall
            if !isPaused { other = Self.moment(lastActivity, request.limits.stallTimeout) }
        case .held, .ended: break
        }
        if min(other, total) == .max { return nil }
        return other <= total ? (other, limit) : (total, .total)
    }

    func failure(forLimit limit: TimeLimit) -> LoadError {
        let host = request.url.origin?.description ?? "the server"
        let limits = request.limits
        switch limit {
        case .naming:
            return failure(
                .timedOut,
                "Connecting timed out: the name of \(host) was not found out within \(limits.connectTimeout.text). "
                    + "Look at the name servers, or allow more time.")
        case .connecting:
            return failure(
                .timedOut,
                "Connecting timed out: \(host) did not accept a connection within \(limits.connectTimeout.text). "
                    + "Try later, or allow more time.")
        case .stall:
            return failure(
                .timedOut,
                "The exchange stalled: no byte came from \(host) for \(limits.stallTimeout.text). "
                    + "Try later, or allow longer pauses.")
        case .total:
            return failure(
                .timedOut,
                "The exchange with \(host) took longer in all than \(limits.totalTimeout.text). Allow more time.")
        }
    }

    private static func moment(_ start: Int64, _ limit: Duration?) -> Int64 {
        guard let limit else { return .max }
        let sum = start.addingReportingOverflow(max(0, limit.saturatedNanoseconds))
        return sum.overflow ? .max : sum.partialValue
    }
}

extension Duration? {
    fileprivate var text: String {
        guard let self else { return "no time" }
        let milliseconds = self.saturatedNanoseconds / 1_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
