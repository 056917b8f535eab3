/// Decides which exchanges with an origin may reuse a connection that an earlier one opened.
///
/// Losing a request on a reused connection costs a retry. An origin that closes connections silently may cost two at
/// first, and then one per ten exchanges, the rate at which exchanges refill a ``RetryBudget`` by default. While the
/// credit is below one loss, each exchange opens a connection of its own.
struct ConnectionReuse {
    private static let perExchange = 1
    private static let perLoss = 10
    private static let capacity = 20

    /// The remaining credit, in tenths of a loss.
    private var credit = ConnectionReuse.capacity
    private var lostAt = Int64.min

    /// Whether the next exchange opens a connection of its own.
    var needsNewConnection: Bool { credit < Self.perLoss }

    mutating func didServe() {
        credit = min(Self.capacity, credit + Self.perExchange)
    }

    /// An exchange that began at `start` was lost with its connection. Exchanges that were lost together count once.
    mutating func didLose(startedAt start: Int64, at now: Int64) {
        guard start >= lostAt else { return }
        lostAt = now
        credit = max(0, credit - Self.perLoss)
    }
}
