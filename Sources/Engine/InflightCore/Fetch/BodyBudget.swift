import InflightConcurrency

/// Decides which transfers go on while the bodies in flight share a bounded memory: a value without locks and I/O.
///
/// A transfer says how many bytes it holds after each piece of its body. While there is room, all go on. Then they pause,
/// but for the oldest, which spills its body to a file: it always goes on, so that the others have their turns after it.
/// Room goes to the paused transfer of the highest priority, and to the oldest of these.
struct BodyBudget<Waiter: Sendable>: Sendable {
    /// Ascends with the age of transfers.
    typealias ID = UInt64

    enum Answer: Hashable {
        case goOn
        /// Pause: ``Grant`` will name it.
        case pause
        /// Move what is held to a file, then go on.
        case spill
    }

    /// A paused transfer, and what it does from now on: it goes on, or spills first.
    struct Grant: Sendable {
        var waiter: Waiter
        var spills: Bool
    }

    private struct Transfer {
        var bytes: Int64 = 0
        /// It makes progress by itself: it does not sleep before a retry, or queue for a place.
        var isActive = true
        var hasSpilled = false
        /// Where it is paused.
        var waiter: Waiter?
        var priority = LoadPriority.normal
    }

    /// The memory set aside for each transfer beside its body: the piece at hand, and what its connection and its decoder take.
    static var bytesSetAside: Int64 { 2 << 20 }

    let limit: Int64
    /// Beyond this, transfers pause: what is set aside for each of them still fits into the limit.
    private let threshold: Int64
    /// The part of what is set aside that one transfer may use: for a piece, or for what it has not spilled yet.
    private let share: Int64
    private(set) var heldBytes: Int64 = 0
    private(set) var pausedCount = 0
    private var transfers: [ID: Transfer] = [:]
    private var lastID: ID = 0

    /// - Parameter transfers: how many there are at most at once.
    init(limit: Int64, transfers: Int) {
        self.limit = max(0, limit)
        let transfers = Int64(max(1, transfers))
        let (wanted, overflows) = transfers.multipliedReportingOverflow(by: Self.bytesSetAside)
        let setAside = overflows ? self.limit / 2 : min(self.limit / 2, wanted)
        threshold = self.limit - setAside
        share = max(1, setAside / transfers)
    }

    /// Transfers that hold something, or have.
    var count: Int { transfers.count }

    mutating func began() -> ID {
        lastID += 1
        transfers[lastID] = Transfer()
        return lastID
    }

    /// A transfer holds that many bytes now.
    ///
    /// - Returns: whether it may go on without asking.
    mutating func holds(_ bytes: Int64, _ id: ID) -> Bool {
        guard var transfer = transfers[id] else { return true }
        heldBytes += bytes - transfer.bytes
        transfer.bytes = bytes
        transfer.isActive = true
        transfers[id] = transfer
        return heldBytes <= threshold && !(transfer.hasSpilled && bytes >= share)
    }

    /// A transfer asks whether it goes on.
    ///
    /// - Parameters:
    ///   - mayPause: if `false`, it spills where it would pause.
    ///   - waiter: made, and kept, only where it pauses.
    mutating func asked(
        _ id: ID, mayPause: Bool = true, priority: LoadPriority = .normal, waiter: () -> Waiter
    ) -> Answer {
        guard let transfer = transfers[id] else { return .goOn }
        if transfer.hasSpilled { return transfer.bytes >= share ? .spill : .goOn }
        if heldBytes <= threshold { return .goOn }
        if !mayPause || oldest == id { return .spill }
        transfers[id]?.waiter = waiter()
        transfers[id]?.priority = priority
        pausedCount += 1
        return .pause
    }

    /// A transfer holds nothing in memory any more: all is in its file.
    mutating func spilled(_ id: ID) -> [Grant] {
        guard let transfer = transfers[id] else { return [] }
        heldBytes -= transfer.bytes
        transfers[id]?.bytes = 0
        transfers[id]?.hasSpilled = true
        return next()
    }

    /// A transfer has broken off, and keeps what it holds until it goes on.
    mutating func slept(_ id: ID) -> [Grant] {
        guard transfers[id] != nil else { return [] }
        unpause(id)
        transfers[id]?.isActive = false
        return next()
    }

    /// A transfer has ended. Gives back what it held; nothing the second time.
    mutating func ended(_ id: ID) -> [Grant] {
        guard let transfer = transfers.removeValue(forKey: id) else { return [] }
        if transfer.waiter != nil { pausedCount -= 1 }
        heldBytes -= transfer.bytes
        return next()
    }

    /// A paused transfer goes on after all.
    mutating func unpause(_ id: ID) {
        guard transfers[id]?.waiter != nil else { return }
        transfers[id]?.waiter = nil
        pausedCount -= 1
    }

    mutating func priorityChanged(_ id: ID, to priority: LoadPriority) {
        transfers[id]?.priority = priority
    }

    private var oldest: ID? {
        transfers.lazy.filter { $0.value.isActive }.map(\.key).min()
    }

    private mutating func next() -> [Grant] {
        guard pausedCount > 0 else { return [] }
        var grants: [Grant] = []
        var room = threshold - heldBytes
        if room >= 0 {
            let waiting = transfers.filter { $0.value.waiter != nil }.sorted {
                ($1.value.priority, $0.key) < ($0.value.priority, $1.key)
            }
            // Each may take a piece: more of them would only pause again.
            for (id, transfer) in waiting where room >= 0 {
                if let waiter = transfer.waiter { grants.append(Grant(waiter: waiter, spills: false)) }
                unpause(id)
                room -= share
            }
        }
        if let oldest, let waiter = transfers[oldest]?.waiter {
            grants.append(Grant(waiter: waiter, spills: true))
            unpause(oldest)
        }
        return grants
    }
}
