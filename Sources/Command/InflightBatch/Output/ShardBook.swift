/// Which rows each shard still lacks: decides when it is assembled, which rows may be read and start, and how much may
/// be staged until then.
///
/// A value without locks, clocks and I/O. Rows are numbered from 0 in input order, and end in any order. Each fact
/// returns the actions that the caller runs next:
///
/// ```swift
/// if book.admits(row) { try book.rowDidStart(row) } else { book.park(row, since: now) }
/// for action in try book.rowDidEnd(row, .success(size)) { run(action) }
/// for action in try book.shardDidAssemble(shard) { run(action) }   // renamed, and recorded in the journal
/// ```
///
/// - A shard is assembled once, when all its rows have ended. The last one also needs ``inputDidEnd(rowCount:)``. At
///   most ``Configuration/maximumAssemblies`` run at the same time; other complete shards wait in their order.
/// - A duplicate of an earlier row waits for it. So the outcome of each row is known when its shard is assembled.
/// - If staged images are lost, their rows end again, and the shards that need them are assembled once they have.
/// - Staged images are discarded when their shard is finished, and no running assembly reads them.
/// - If the staged bytes reach half of the limit, only rows of the ``Configuration/nearShards`` are admitted, so that
///   rows far ahead leave room for those that finish shards.
/// - If the staged bytes reach the limit, only rows of ``preferredShard`` are admitted: the lowest one that is not
///   finished. It waits for nothing but running assemblies, so that the run always proceeds. The limit is exceeded by
///   at most the rows in flight and the rows of that shard.
/// - To resume, create a book with the finished shards, and pass the outcomes of the rows in the journal to
///   ``rowDidEnd(_:_:)`` while reading the input. A short last shard of an input that has grown is not finished: pass
///   its outcomes again. `retry` does the same with the shards concerned.
///
/// A fact that cannot be true is refused as ``BatchFailure/inconsistent(_:)``, and changes nothing.
///
/// Only open shards take memory: one byte for each row, and 16 for each duplicate. The journal has the outcomes
/// themselves. Facts about a row take constant time on average.
package struct ShardBook: Sendable {
    /// The limits of a book.
    package struct Configuration: Sendable {
        /// The division of rows into shards.
        package var layout: ShardLayout
        /// The maximum size of the staged images, in bytes.
        package var stagingLimit: Int64
        /// The maximum number of open shards. ``ShardBook/preferredShard`` may be one more.
        package var openShardLimit: Int
        /// The number of bytes that a row in flight counts as staged, because it will be.
        package var bytesPerRowInFlight: Int64
        /// The number of shards from the lowest one that is not finished whose rows may fill more than half of the
        /// limit.
        package var nearShards = Int.max
        /// The maximum number of assemblies at the same time. Each holds what all rows of its shard add to it.
        package var maximumAssemblies = Int.max

        /// Creates limits.
        package init(
            layout: ShardLayout, stagingLimit: Int64, openShardLimit: Int = 64, bytesPerRowInFlight: Int64 = 0
        ) {
            self.layout = layout
            self.stagingLimit = stagingLimit
            self.openShardLimit = openShardLimit
            self.bytesPerRowInFlight = bytesPerRowInFlight
        }
    }

    /// What the caller does next.
    package enum Action: Sendable {
        /// Assemble a shard of what `rows` add to it, in their order, then report ``shardDidAssemble(_:)``.
        case assemble(shard: Int, rows: Range<Int>, [Part])
        /// Remove the staged images of the rows of a shard, which is finished.
        case discard(shard: Int)
    }

    /// What a row adds to its shard.
    package enum Part: Sendable {
        /// The staged image of this row, or of the row that it is a duplicate of. It remains until the assembly ends.
        case image(row: Int)
        /// The failure of this row, or of the row that it is a duplicate of. The journal has its class and message.
        case failure(row: Int)
        /// The outcome of a row whose shard was finished before. The journal knows it, and the shard holds its image.
        case finished(row: Int)

        /// The message of a duplicate of a failed row. It does not depend on whether that row's shard is finished.
        static func message(asRow original: Int) -> String { "Row \(original) names the same URL, and failed." }
    }

    private enum Slot: UInt8 {
        case waiting, started, success, failure, duplicate

        var hasEnded: Bool { self != .waiting && self != .started }
    }

    private struct Duplicate {
        /// The index of the row in its shard.
        var index: Int
        /// The row that it is a duplicate of.
        var original: Int
    }

    private enum Phase {
        case collecting
        /// The assembly runs and reads the staged images of other shards.
        case assembling(sources: Set<Int>)
        /// The shard is finished. Assemblies of other shards still read its staged images.
        case finished
    }

    private struct OpenShard {
        var phase = Phase.collecting
        /// The rows up to the highest one that was reported.
        var slots: [Slot] = []
        /// The rows that are duplicates, by their indices.
        var duplicates: [Duplicate] = []
        var endedCount = 0
        /// The number of duplicates whose original has not ended.
        var unresolvedCount = 0
        /// The number of running assemblies of other shards that read this one's staged images.
        var readerCount = 0
        var stagedBytes: Int64 = 0
    }

    /// The limits.
    package let configuration: Configuration
    /// The shards that need nothing more.
    package private(set) var finishedShards: ShardSet
    /// The size of the staged images, in bytes.
    package private(set) var stagedBytes: Int64 = 0
    /// The number of rows in flight.
    package private(set) var startedCount = 0
    /// The number of times that staging became full, for the summary.
    package private(set) var fullCount = 0
    /// The number of rows in the input, once it has ended.
    package private(set) var rowCount: Int?

    private var open: [Int: OpenShard] = [:]
    /// The shards whose duplicates wait for a row, once for each duplicate.
    private var waitingShards: [Int: [Int]] = [:]
    /// The number behind the highest row that was reported.
    private var reportedEnd = 0
    /// The number of open shards that are finished.
    private var retainedCount = 0
    private var wasFull = false
    /// The number of running assemblies.
    private var assemblyCount = 0
    /// The complete shards that wait for the end of an assembly.
    private var completeShards: [Int] = []
    /// The rows of each shard whose turn came while they might not start.
    private var parked: [Int: RowBacklog] = [:]

    /// Creates a book.
    ///
    /// - Parameters:
    ///   - configuration: The limits.
    ///   - finishedShards: The shards that the journal records as finished.
    package init(_ configuration: Configuration, finishedShards: ShardSet = ShardSet()) {
        self.configuration = configuration
        self.finishedShards = finishedShards
    }

    // MARK: Questions of the scheduler

    /// The number of shards that hold state.
    package var openShardCount: Int { open.count }

    /// Whether the staged images, and what the rows in flight will add, reach the limit.
    package var isFull: Bool { reaches(configuration.stagingLimit) }

    private func reaches(_ limit: Int64) -> Bool {
        let (reserve, overflow) = Int64(startedCount).multipliedReportingOverflow(by: configuration.bytesPerRowInFlight)
        return overflow || stagedBytes >= limit.subtractingSaturated(reserve)
    }

    private func isFull(for shard: Int) -> Bool {
        let isNear = shard - finishedShards.firstMissing < configuration.nearShards
        return reaches(isNear ? configuration.stagingLimit : configuration.stagingLimit / 2)
    }

    /// The only shard whose rows may start, if staging is full; `nil` if it is not, or if all shards are finished.
    package var preferredShard: Int? {
        isFull && !isFinished ? finishedShards.firstMissing : nil
    }

    /// Whether the input has ended and all its shards are finished.
    package var isFinished: Bool {
        guard let rowCount else { return false }
        return finishedShards.firstMissing >= configuration.layout.shardCount(rowCount: rowCount)
    }

    /// Returns whether a row may start, or may be reported as ended without having been started.
    ///
    /// Rows of the lowest unfinished shard always may, except that it is opened beyond the limit only when no finished
    /// shard waits for a running assembly. Others may while staging is not full, if their shard is open or one more may
    /// be opened. A row that has ended, or whose shard is finished, may not.
    package func admits(_ row: Int) -> Bool {
        guard row >= 0, row < rowCount ?? ShardLayout.maximumRowCount else { return false }
        let shard = configuration.layout.position(of: row).shard
        guard !hasEnded(row) else { return false }
        if shard == finishedShards.firstMissing {
            return open[shard] != nil || open.count <= configuration.openShardLimit || retainedCount == 0
        }
        return !isFull(for: shard) && (open[shard] != nil || open.count < configuration.openShardLimit)
    }

    /// Whether the next row may be read: its shard is not too far ahead of the oldest open one. While staging is full,
    /// only that shard is read, and while it is half full, only shards near it.
    package func wantsRow(_ row: Int) -> Bool {
        guard rowCount == nil else { return false }
        let ahead = configuration.layout.position(of: row).shard - finishedShards.firstMissing
        return ahead <= 0 || ahead < configuration.openShardLimit && !isFull(for: finishedShards.firstMissing + ahead)
    }

    /// Keeps a row whose turn has come, until it may start.
    package mutating func park(_ row: Int, since: Duration) {
        parked[configuration.layout.position(of: row).shard, default: RowBacklog()].append(row, since: since)
    }

    /// Returns the parked rows that may start now, at most `room`, unless only those of ``preferredShard`` may.
    package mutating func unpark(room: Int) -> [(number: Int, since: Duration)] {
        // Rows of the preferred shard enter even a full window, which holds none that may start.
        if let shard = preferredShard { return unpark(shard, room: .max) }
        var rows: [(number: Int, since: Duration)] = []
        while rows.count < room, let shard = parked.keys.min() {
            rows += unpark(shard, room: room - rows.count)
            if parked[shard] != nil { break }
        }
        return rows
    }

    private mutating func unpark(_ shard: Int, room: Int) -> [(number: Int, since: Duration)] {
        guard var backlog = parked.removeValue(forKey: shard) else { return [] }
        var rows: [(number: Int, since: Duration)] = []
        while rows.count < room, let first = backlog.first, admits(first.number) { rows.append(backlog.removeFirst()) }
        if !backlog.isEmpty { parked[shard] = backlog }
        return rows
    }

    // MARK: Facts

    /// The row is in flight. Has no effect if it is already, or has ended.
    package mutating func rowDidStart(_ row: Int) throws(BatchFailure) {
        try check(row)
        guard !hasEnded(row) else { return }
        let position = configuration.layout.position(of: row)
        grow(position, for: row)
        guard slot(position) == .waiting else { return }
        open[position.shard]?.slots[position.index] = .started
        startedCount += 1
        noteFullness()
    }

    /// The row has ended. The first end of a row counts.
    package mutating func rowDidEnd(_ row: Int, _ outcome: RowOutcome<Int64>) throws(BatchFailure) -> [Action] {
        try check(row)
        guard !hasEnded(row) else { return [] }
        var size: Int64 = 0
        var original: Int?
        let end: Slot
        switch outcome {
        case .success(let image):
            (end, size) = (.success, image)
            guard 0...TarHeader.maximumSize ~= size, !stagedBytes.addingReportingOverflow(size).overflow else {
                throw .inconsistent("sizeOutOfRange")
            }
        case .failure: end = .failure
        case .duplicate(let named): (end, original) = (.duplicate, try resolved(named, of: row))
        }

        let position = configuration.layout.position(of: row)
        let shard = position.shard
        grow(position, for: row)
        if slot(position) == .started { startedCount -= 1 }
        open[shard]?.slots[position.index] = end
        if let original { note(original, ofDuplicateAt: position) }
        open[shard]?.endedCount += 1
        open[shard]?.stagedBytes += size
        stagedBytes += size
        if let original, !hasEnded(original) {
            waitingShards[original, default: []].append(shard)
            open[shard]?.unresolvedCount += 1
        }

        var actions: [Action] = []
        assembleIfComplete(shard, &actions)
        if let shards = waitingShards.removeValue(forKey: row) {
            if let original, !hasEnded(original) {
                waitingShards[original, default: []] += shards
            } else {
                for waiting in shards {
                    open[waiting]?.unresolvedCount -= 1
                    assembleIfComplete(waiting, &actions)
                }
            }
        }
        noteFullness()
        return actions
    }

    /// The input has ended.
    ///
    /// - Parameter rowCount: The number of its rows, which is also the number behind the last row.
    package mutating func inputDidEnd(rowCount: Int) throws(BatchFailure) -> [Action] {
        let layout = configuration.layout
        guard self.rowCount == nil, rowCount >= reportedEnd, rowCount <= ShardLayout.maximumRowCount,
            layout.shardCount(rowCount: rowCount) >= finishedShards.end
        else { throw .inconsistent("rowCountMismatch(\(rowCount))") }
        self.rowCount = rowCount
        var actions: [Action] = []
        assembleIfComplete(layout.shardCount(rowCount: rowCount) - 1, &actions)
        return actions
    }

    /// The shard has its final name and is recorded in the journal.
    package mutating func shardDidAssemble(_ shard: Int) throws(BatchFailure) -> [Action] {
        guard case .assembling(let sources)? = open[shard]?.phase else {
            throw .inconsistent("notAssembling(\(shard))")
        }
        open[shard]?.phase = .finished
        retainedCount += 1
        finishedShards.insert(shard)
        var actions: [Action] = []
        assemblyCount -= 1
        stopReading(sources, &actions)
        closeIfUnused(shard, &actions)
        assembleWaiting(&actions)
        noteFullness()
        return actions
    }

    /// The assembly of a shard found that the staged images of `rows` are lost, and wrote nothing.
    ///
    /// - Returns: The rows that have not ended any more, and what follows. Without those whose shard is being
    ///   assembled, which will find this out itself, and those whose shard is finished, which has their images.
    package mutating func shardDidLose(
        _ rows: Set<Int>, shard: Int
    ) throws(BatchFailure) -> (restarted: [Int], actions: [Action]) {
        guard case .assembling(let sources)? = open[shard]?.phase else {
            throw .inconsistent("notAssembling(\(shard))")
        }
        open[shard]?.phase = .collecting
        assemblyCount -= 1
        var restarted: [Int] = []
        for row in rows.sorted() {
            let position = configuration.layout.position(of: row)
            guard case .collecting? = open[position.shard]?.phase, slot(position) == .success else { continue }
            // The bytes remain staged until the shard is finished.
            open[position.shard]?.slots[position.index] = .waiting
            open[position.shard]?.endedCount -= 1
            restarted.append(row)
        }
        for (number, state) in open {
            guard case .collecting = state.phase else { continue }
            for duplicate in state.duplicates {
                let original = followed(duplicate.original)
                guard number == shard ? !hasEnded(original) : restarted.contains(original) else { continue }
                waitingShards[original, default: []].append(number)
                open[number]?.unresolvedCount += 1
            }
        }
        var actions: [Action] = []
        stopReading(sources, &actions)
        assembleIfComplete(shard, &actions)
        assembleWaiting(&actions)
        noteFullness()
        return (restarted, actions)
    }

    // MARK: Assembly

    /// An assembly has ended that read the staged images of these shards.
    private mutating func stopReading(_ sources: Set<Int>, _ actions: inout [Action]) {
        for source in sources.sorted() {
            open[source]?.readerCount -= 1
            closeIfUnused(source, &actions)
        }
    }

    private mutating func assembleIfComplete(_ shard: Int, _ actions: inout [Action]) {
        let rows = configuration.layout.rows(of: shard, rowCount: rowCount)
        guard let state = open[shard], case .collecting = state.phase, state.unresolvedCount == 0,
            state.endedCount == rows.count
        else { return }
        guard assemblyCount < configuration.maximumAssemblies else {
            completeShards.append(shard)
            return
        }
        assemblyCount += 1
        var sources: Set<Int> = []
        let parts = rows.map { part(of: $0, in: shard, &sources) }
        open[shard]?.phase = .assembling(sources: sources)
        for source in sources { open[source]?.readerCount += 1 }
        actions.append(.assemble(shard: shard, rows: rows, parts))
    }

    /// An assembly has ended: begins those of complete shards. If images were lost, a shard may not be complete any
    /// more; it is added again when it is.
    private mutating func assembleWaiting(_ actions: inout [Action]) {
        while assemblyCount < configuration.maximumAssemblies, !completeShards.isEmpty {
            assembleIfComplete(completeShards.removeFirst(), &actions)
        }
    }

    private func part(of row: Int, in shard: Int, _ sources: inout Set<Int>) -> Part {
        let original = followed(row)
        let position = configuration.layout.position(of: original)
        // Reading a finished shard's staged images could retain them for ever, one assembly after the other.
        guard !finishedShards.contains(position.shard) else { return .finished(row: original) }
        switch slot(position) {
        case .success:
            if position.shard != shard { sources.insert(position.shard) }
            return .image(row: original)
        case .failure: return .failure(row: original)
        default: return .finished(row: original)
        }
    }

    private mutating func closeIfUnused(_ shard: Int, _ actions: inout [Action]) {
        guard let state = open[shard], case .finished = state.phase, state.readerCount == 0 else { return }
        open[shard] = nil
        retainedCount -= 1
        stagedBytes -= state.stagedBytes
        actions.append(.discard(shard: shard))
    }

    // MARK: Rows

    private func check(_ row: Int) throws(BatchFailure) {
        guard row >= 0, row < rowCount ?? ShardLayout.maximumRowCount else {
            throw .inconsistent("rowOutOfRange(\(row))")
        }
    }

    private func slot(_ position: ShardLayout.Position) -> Slot? {
        guard let slots = open[position.shard]?.slots, position.index < slots.count else { return nil }
        return slots[position.index]
    }

    /// Makes a slot for the row, which is at `position`.
    private mutating func grow(_ position: ShardLayout.Position, for row: Int) {
        reportedEnd = max(reportedEnd, row + 1)
        let missing = position.index + 1 - (open[position.shard]?.slots.count ?? 0)
        guard missing > 0 else { return }
        open[position.shard, default: OpenShard()].slots.append(contentsOf: repeatElement(.waiting, count: missing))
    }

    private func hasEnded(_ row: Int) -> Bool {
        let position = configuration.layout.position(of: row)
        return slot(position)?.hasEnded == true || finishedShards.contains(position.shard)
    }

    /// Follows duplicates to the row that they all name. Each step leads to an earlier row.
    private func followed(_ row: Int) -> Int {
        var row = row
        while let next = original(ofDuplicateAt: configuration.layout.position(of: row)) { row = next }
        return row
    }

    private func original(ofDuplicateAt position: ShardLayout.Position) -> Int? {
        guard slot(position) == .duplicate, let duplicates = open[position.shard]?.duplicates else { return nil }
        return duplicates[Self.place(of: position.index, in: duplicates)].original
    }

    private mutating func note(_ original: Int, ofDuplicateAt position: ShardLayout.Position) {
        let place = Self.place(of: position.index, in: open[position.shard]?.duplicates ?? [])
        open[position.shard]?.duplicates.insert(Duplicate(index: position.index, original: original), at: place)
    }

    /// Returns where the duplicate with this index is, or would be inserted.
    private static func place(of index: Int, in duplicates: [Duplicate]) -> Int {
        if let last = duplicates.last, last.index < index { return duplicates.count }
        var range = 0..<duplicates.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = duplicates[middle].index < index ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private func resolved(_ original: Int, of row: Int) throws(BatchFailure) -> Int {
        guard original >= 0, original < row else { throw .inconsistent("invalidOriginal(\(original))") }
        return followed(original)
    }

    private mutating func noteFullness() {
        let isFull = isFull
        if isFull && !wasFull { fullCount += 1 }
        wasFull = isFull
    }
}

extension Int64 {
    fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
