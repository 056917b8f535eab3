/// Decides which exchanges with one origin may use a connection that an earlier one opened.
///
/// A request that is lost with a reused connection costs a retry. An origin that closes connections without a word may
/// cost two at first, and then one for every ten exchanges, no more than a ``RetryBudget`` gains by them: in between,
/// each exchange opens a connection of its own.
struct ConnectionReuse {
    private static let perExchange = 1
    private static let perLoss = 10
    private static let capacity = 20

    /// In tenths of a loss.
    private var credit = ConnectionReuse.capacity
    private var lostAt = Int64.min

    /// Whether the next exchange opens a connection of its own.
    var connectsAnew: Bool { credit < Self.perLoss }

    mutating func didServe() {
        credit = min(Self.capacity, credit + Self.perExchange)
    }

    /// An exchange that began at `start` was lost with its connection. Those that were lost together count once.
    mutating func didLose(startedAt start: Int64, at now: Int64) {
        guard start >= lostAt else { return }
        lostAt = now
        credit = max(0, credit - Self.perLoss)
    }
}
