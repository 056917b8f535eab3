internal import InflightCore
internal import InflightSQLite

/// Frees space before anything is written, so that the limit holds at every commit. It evicts entries by rank, removes
/// their files, and cuts free pages off the index if files need their space.
struct Evictor {
    let writer: Writer
    let cache: OpenCache
    /// Entries that the batch refers to. They are not evicted.
    let pinned: Set<Int64>

    /// The space that a batch needs.
    struct Need {
        /// Pages of the index.
        var pages: Int64 = 0
        var files: [PlannedFile] = []
        /// Entries whose files will grow, and the space that each then needs.
        var growing: [(id: Int64, room: Int64)] = []
        /// The bytes that those files need beyond their present space.
        var growth: Int64 = 0

        var fileBytes: Int64 { files.reduce(growth) { $0 + $1.room } }

        /// Returns the number of pages for one row of `bytes` bytes, including page splits on the path to it.
        static func pages(for bytes: Int) -> Int64 { Int64(bytes) / (Layout.pageBytes - 8) + 6 }
    }

    private var limit: Int64 { writer.configuration.dataLimit }

    /// Returns the number of missing bytes, 0 or less if there is enough space.
    ///
    /// - Parameter isCut: Whether to assume an index file with all its free pages cut off.
    private func missing(
        _ need: Need, _ usage: OpenCache.Usage, fileBytes: Int64, isCut: Bool = false
    ) -> Int64 {
        let growth = max(0, need.pages - usage.freePages)
        let spare = isCut ? max(0, usage.freePages - need.pages) : 0
        let pages = isCut ? usage.pages + growth - spare : max(usage.pages + growth, usage.filePages)
        return pages * Layout.pageBytes + fileBytes + need.fileBytes - limit
    }

    /// Frees space, and reserves the space that must be counted before it is written. Returns whether there is enough
    /// space.
    func freeSpace(for need: Need) throws(StoreFailure) -> Bool {
        for _ in 0..<256 {
            let round = try writer.transaction(cache) { (state) throws(StoreFailure) in try self.round(need, &state) }
            writer.remove(round.files)
            if round.hasRoom { return true }
            if round.isStuck { return false }
            // The index file shrinks only once the whole log has been copied.
            let isCut = (try? cache.database.checkpoint(.passive)) ?? false
            if round.waitsForCut, !isCut { return false }
        }
        return false
    }

    /// Returns whether there is enough space without any change.
    func hasRoom(_ need: Need, _ usage: OpenCache.Usage, _ state: IndexState) -> Bool {
        missing(need, usage, fileBytes: state.fileBytes) <= 0
    }

    private struct Round {
        var hasRoom = false
        /// Whether there is nothing left to evict or to cut off, so that no space can be freed.
        var isStuck = false
        /// Whether only copying the log is left to do, which a reader may prevent.
        var waitsForCut = false
        var files: [Int64] = []
    }

    private func round(_ need: Need, _ state: inout IndexState) throws(StoreFailure) -> Round {
        var usage = try cache.usage()
        if hasRoom(need, usage, state) {
            for file in need.files { try cache.plan(file, &state) }
            for (id, room) in need.growing { try grow(id, to: room, &state) }
            return Round(hasRoom: true)
        }
        // Evict somewhat more than needed, so that the next few bodies find free space.
        let slack = min(limit / 32, 4 << 20)
        var round = Round()
        var (evicted, doomedBytes): ([Int64], Int64) = ([], 0)
        while missing(need, usage, fileBytes: state.fileBytes - doomedBytes, isCut: true) > -slack,
            evicted.count < writer.configuration.maximumEvictions
        {
            let rows = try lowest(skipping: evicted)
            if rows.isEmpty { break }
            for row in rows {
                evicted.append(row.id)
                state.age = EvictionRank.age(afterEvicting: row.rank, age: state.age)
                if let file = try cache.removeEntry(row, &state) {
                    round.files.append(file)
                    doomedBytes += row.room
                }
            }
            usage = try cache.usage()
        }
        let spare = usage.freePages - need.pages
        let isCutting = spare > 0 && missing(need, usage, fileBytes: state.fileBytes - doomedBytes) > 0
        if isCutting {
            try inDatabase(
                cache.database.run("PRAGMA incremental_vacuum(\(min(spare, writer.configuration.maximumCutPages)))"))
        }
        round.waitsForCut = evicted.isEmpty && !isCutting
        round.isStuck = round.waitsForCut && usage.filePages <= usage.pages
        if !evicted.isEmpty { writer.configuration.willEvict?(evicted.map(StoredEntry.ID.init)) }
        return round
    }

    private func lowest(skipping evicted: [Int64]) throws(StoreFailure) -> [EntryRow] {
        var rows: [EntryRow] = []
        try inDatabase { () throws(DatabaseError) in
            try cache.database.query(
                "SELECT \(EntryRow.columns) FROM entry ORDER BY rank LIMIT ?", .number(Int64(pinned.count + 16))
            ) {
                (row: borrowing Row) throws(DatabaseError) in
                let row = EntryRow(row)
                if !pinned.contains(row.id) { rows.append(row) }
                return rows.count < 16
            }
        }
        return rows
    }

    private func grow(_ id: Int64, to room: Int64, _ state: inout IndexState) throws(StoreFailure) {
        let before = try inDatabase(cache.database.number("SELECT room FROM entry WHERE id = ?", .number(id)))
        guard let before, before < room else { return }
        try inDatabase(cache.database.change("UPDATE entry SET room = ? WHERE id = ?", .number(room), .number(id)))
        state.fileBytes += room - before
    }
}
