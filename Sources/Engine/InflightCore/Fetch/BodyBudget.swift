import InflightConcurrency

/// Decides which transfers continue while the bodies in flight share a memory limit. A value without locks and I/O.
///
/// A transfer reports the number of bytes that it holds after each piece of its body. While all bodies fit, all
/// transfers continue. Otherwise all pause except the oldest. The oldest spills its body to a file and always
/// continues, so that each of the others becomes the oldest in turn. Released memory goes to the paused transfer with
/// the highest priority, the oldest first.
struct BodyBudget: Sendable {
    /// Ascends in the order in which transfers began.
    typealias ID = UInt64

    enum Answer: Hashable {
        case proceed
        /// Pause until a ``Grant`` resumes the transfer.
        case pause
        /// Move the bytes in memory to a file, then continue.
        case spill
    }

    /// A paused transfer that may continue, and whether it has to spill first.
    struct Grant: Sendable {
        var id: ID
        var spills: Bool
        var resume: Resume
    }

    /// Continues a paused transfer.
    typealias Resume = @Sendable (_ spills: Bool) -> Void

    /// Continues paused transfers. Called with no lock held.
    static func resume(_ grants: [Grant]) {
        for grant in grants { grant.resume(grant.spills) }
    }

    private struct Transfer {
        var bytes: Int64 = 0
        /// Whether it can progress by itself. It cannot while it waits for a retry or a slot.
        var isActive = true
        var hasSpilled = false
        /// Continues the transfer, if it is paused.
        var resume: Resume?
        var priority = ImageRequest.Priority.normal
    }

    /// The memory reserved for each transfer beside its body: for the current piece, its connection and its decoder.
    static var bytesSetAside: Int64 { 2 << 20 }

    let limit: Int64
    /// Transfers pause above this number of bytes, so that the reserve of each of them still fits into the limit.
    private let threshold: Int64
    /// The part of the reserve that one transfer may use, for a piece or for bytes that it has not spilled yet.
    private let share: Int64
    private(set) var heldBytes: Int64 = 0
    private(set) var pausedCount = 0
    private var transfers: [ID: Transfer] = [:]
    private var lastID: ID = 0

    /// - Parameter transfers: the maximum number of concurrent transfers.
    init(limit: Int64, transfers: Int) {
        self.limit = max(0, limit)
        let transfers = Int64(max(1, transfers))
        let (wanted, overflows) = transfers.multipliedReportingOverflow(by: Self.bytesSetAside)
        let setAside = overflows ? self.limit / 2 : min(self.limit / 2, wanted)
        threshold = self.limit - setAside
        share = max(1, setAside / transfers)
    }

    /// The number of transfers that hold bytes, or have held some.
    var count: Int { transfers.count }

    /// - Parameter spills: whether its body goes to a file in any case.
    mutating func began(spills: Bool = false) -> ID {
        lastID += 1
        transfers[lastID] = Transfer(hasSpilled: spills)
        return lastID
    }

    /// A transfer now holds this number of bytes.
    ///
    /// - Returns: whether it may continue without calling ``decide(_:mayPause:priority:resume:)``.
    mutating func recordBytes(_ bytes: Int64, of id: ID) -> Bool {
        guard let index = transfers.index(forKey: id) else { return true }
        heldBytes += bytes - transfers.values[index].bytes
        transfers.values[index].bytes = bytes
        transfers.values[index].isActive = true
        return heldBytes <= threshold && !(transfers.values[index].hasSpilled && bytes >= share)
    }

    /// Decides whether a transfer may continue.
    ///
    /// - Parameters:
    ///   - mayPause: if `false`, the transfer spills instead of pausing.
    ///   - resume: returns what continues the transfer once it has a ``Grant``. Called only if it pauses.
    mutating func decide(
        _ id: ID, mayPause: Bool = true, priority: ImageRequest.Priority = .normal, resume: () -> Resume
    ) -> Answer {
        guard let transfer = transfers[id] else { return .proceed }
        if transfer.hasSpilled { return transfer.bytes >= share ? .spill : .proceed }
        if heldBytes <= threshold { return .proceed }
        if !mayPause || oldest == id { return .spill }
        transfers[id]?.resume = resume()
        transfers[id]?.priority = priority
        pausedCount += 1
        return .pause
    }

    /// A transfer has moved all its bytes from memory to its file.
    mutating func spilled(_ id: ID) -> [Grant] {
        guard let transfer = transfers[id] else { return [] }
        heldBytes -= transfer.bytes
        transfers[id]?.bytes = 0
        transfers[id]?.hasSpilled = true
        return next()
    }

    /// A transfer was interrupted, and keeps its bytes until it resumes.
    mutating func slept(_ id: ID) -> [Grant] {
        guard transfers[id] != nil else { return [] }
        unpause(id)
        transfers[id]?.isActive = false
        return next()
    }

    /// A transfer has ended, and its bytes are released. A second call has no effect.
    mutating func ended(_ id: ID) -> [Grant] {
        guard let transfer = transfers.removeValue(forKey: id) else { return [] }
        if transfer.resume != nil { pausedCount -= 1 }
        heldBytes -= transfer.bytes
        return next()
    }

    /// A paused transfer no longer waits for memory.
    mutating func unpause(_ id: ID) {
        guard transfers[id]?.resume != nil else { return }
        transfers[id]?.resume = nil
        pausedCount -= 1
    }

    mutating func priorityChanged(_ id: ID, to priority: ImageRequest.Priority) {
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
            let waiting = transfers.filter { $0.value.resume != nil }.sorted {
                ($1.value.priority, $0.key) < ($0.value.priority, $1.key)
            }
            // Each granted transfer may receive a piece at once. Granting more than fit would only pause them again.
            for (id, transfer) in waiting where room >= 0 {
                if let resume = transfer.resume { grants.append(Grant(id: id, spills: false, resume: resume)) }
                unpause(id)
                room -= share
            }
        }
        if let oldest, let resume = transfers[oldest]?.resume {
            grants.append(Grant(id: oldest, spills: true, resume: resume))
            unpause(oldest)
        }
        return grants
    }
}
