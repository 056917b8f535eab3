internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Rebuilds a damaged index from all of its undamaged rows, or creates an empty one if there is none.
///
/// Each row is checked by its seal, and by the checksum of its body if that is in the index. Rows on unreadable pages
/// are lost, and so are files that no row names any longer. A damaged page on the path to others loses no rows, since
/// they are then searched page by page. Nor does a damaged first page, which is the same in all indexes of a layout
/// except for data that reading does not need.
///
/// Run it while no other process writes. If killed at any instruction, it leaves the damaged index for the next repair.
struct IndexRepair {
    let opener: CacheOpener
    let tag: FolderTag

    private var paths: CachePaths { opener.paths }
    private var fileSystem: any FileSystem { opener.fileSystem }

    /// The number of rows that are read at once.
    private static let step: Int64 = 256

    func run() throws(StoreFailure) -> Int {
        for path in [paths.newIndex, paths.newIndex + "-wal", paths.newIndex + "-shm", paths.newIndex + "-journal"] {
            try? fileSystem.remove(path)
        }
        // Returns with the new index closed. SQLite shares the memory of a log by the file that it belongs to: a
        // connection still open after the renaming would let this process's other connections share one that other
        // processes do not find.
        let entries = try makeIndex()
        // Remove the old log first, so that it is never taken for the new index's.
        for path in [paths.log, paths.sharedMemory, paths.journal] { try? fileSystem.remove(path) }
        try inFiles("index.sqlite") { () throws(SystemError) in try fileSystem.rename(paths.newIndex, to: paths.index) }
        for path in [paths.newIndex + "-wal", paths.newIndex + "-shm"] { try? fileSystem.remove(path) }
        return Int(entries)
    }

    /// Creates the new index, and removes the files that it does not name.
    ///
    /// - Returns: The number of its entries.
    private func makeIndex() throws(StoreFailure) -> Int64 {
        let made = try opener.make(paths.newIndex, identity: tag.identity)
        var state = try inDatabase { () throws(DatabaseError) in try IndexState.read(made) }
        if let old = opened() {
            try inDatabase { () throws(DatabaseError) in
                if try salvage(old, into: made, &state) { return }
                // Rows that are only in the log must be in the index file, where `OrphanedPages` searches for them.
                _ = try? old.checkpoint(.passive)
                try salvageOrphanedRows(into: made, &state)
            }
        }
        // A single file, without a log that would have to be moved with it.
        _ = try inDatabase { () throws(DatabaseError) in try made.checkpoint(.truncate) }
        removeUnnamedFiles(made)
        return state.entries
    }

    /// Opens the damaged index, or returns nil if it is not recognisable as one.
    private func opened() -> Database? {
        if let old = openVerified() { return old }
        try? replaceFirstPage()
        if let old = openVerified() { return old }
        // The log may belong to another index, which SQLite cannot detect. Without it, the index is as it was before,
        // since nothing has been copied yet.
        try? fileSystem.remove(paths.log)
        try? fileSystem.remove(paths.sharedMemory)
        return openVerified() ?? openUnverified()
    }

    private func openVerified() -> Database? {
        guard let old = openUnverified(), (try? IndexState.read(old))?.identity == tag.identity else { return nil }
        return old
    }

    private func openUnverified() -> Database? {
        let old = try? opener.opened(paths.index, .writing)
        guard let old, (try? old.number("PRAGMA application_id")) == Layout.applicationID else { return nil }
        return old
    }

    /// - Returns: Whether everything could be read.
    private func salvage(
        _ old: Database, into made: Database, _ state: inout IndexState
    ) throws(DatabaseError) -> Bool {
        var isWhole = true
        var expected: Int64 = 0
        if let before = try? IndexState.read(old), before.identity == tag.identity {
            state.next = max(state.next, before.next)
            state.age = before.age
            expected = before.entries
        }
        var (low, high) = (Int64.min, Int64.max)
        // Read upwards from the lowest number to the first unreadable page, then downwards from the highest.
        for order in ["ASC", "DESC"] {
            while low < high {
                var rows: [EntryRow] = []
                let status = Result { () throws(DatabaseError) in
                    try old.query(
                        """
                        SELECT \(EntryRow.columns) FROM entry WHERE id > ? AND id < ? ORDER BY id \(order)
                        LIMIT \(Self.step)
                        """, .number(low), .number(high)
                    ) { (row: borrowing Row) throws(DatabaseError) in
                        rows.append(EntryRow(row))
                        return true
                    }
                }
                if !rows.isEmpty {
                    let kept = try keep(rows, in: made, &state) { row in
                        (try? StoredBodies.read(row, identity: tag.identity, in: old)) ?? nil
                    }
                    if kept < rows.count { isWhole = false }
                }
                for row in rows {
                    if order == "ASC" { low = max(low, row.id) } else { high = min(high, row.id) }
                }
                if case .failure = status {
                    isWhole = false
                    break
                }
                if rows.count < Self.step { return isWhole && state.entries >= expected }
            }
        }
        return isWhole && state.entries >= expected
    }

    /// Recovers rows that are no longer reachable from the root.
    private func salvageOrphanedRows(into made: Database, _ state: inout IndexState) throws(DatabaseError) {
        guard var pages = try? OrphanedPages(paths.index, fileSystem) else { return }
        defer { pages.close() }
        var rows: [EntryRow] = []
        try pages.eachRow { (row) throws(DatabaseError) in
            if try EntryRow.find(row.id, in: made) == nil { rows.append(row) }
        }
        rows.sort { $0.id < $1.id }
        for start in stride(from: 0, to: rows.count, by: Int(Self.step)) {
            let some = Array(rows[start..<min(rows.count, start + Int(Self.step))])
            try keep(some, in: made, &state) { pages.body(of: $0, identity: tag.identity) }
        }
    }

    /// Replaces the damaged index's first page with a new index's.
    private func replaceFirstPage() throws(SystemError) {
        let size = try fileSystem.status(paths.index).size
        guard size >= Layout.pageBytes, let pages = UInt32(exactly: size / Layout.pageBytes) else { return }
        var page = try WholeFile.read(paths.newIndex, limit: Int(Layout.pageBytes), fileSystem)
        guard page.count == Int(Layout.pageBytes) else { return }
        // The page count and an empty free list (https://www.sqlite.org/fileformat2.html#the_database_header).
        page.replaceSubrange(28..<32, with: unsafe withUnsafeBytes(of: pages.bigEndian) { unsafe Array($0) })
        page.replaceSubrange(32..<40, with: [UInt8](repeating: 0, count: 8))
        page.replaceSubrange(92..<96, with: page[24..<28])
        let file = try fileSystem.open(paths.index, for: .extending)
        defer { try? file.close() }
        try fileSystem.write(file, Bytes(page), at: 0)
    }

    /// - Returns: The number of rows that are whole, with their bodies.
    @discardableResult
    private func keep(
        _ rows: [EntryRow], in made: Database, _ state: inout IndexState, body: (EntryRow) -> Bytes?
    ) throws(DatabaseError) -> Int {
        var kept = 0
        try made.run("BEGIN IMMEDIATE")
        for row in rows {
            guard let record = row.checked(identity: tag.identity), row.id > 0, row.id < .max - (1 << 60) else {
                continue
            }
            var row = row
            row.rank = record.response.isComplete ? state.age + 1 : EvictionRank.partial(age: state.age)
            row.uses = 1
            if row.isInFile {
                guard let size = try? fileSystem.status(paths.body(row.file)).size, size >= row.length else { continue }
                row.room = size
            } else {
                guard let body = body(row) else { continue }
                try made.change(
                    "INSERT OR IGNORE INTO body (id, bytes) VALUES (?, ?)", .number(row.id), .bytes(body.array))
            }
            try row.insert(made)
            state.next = max(state.next, row.id + 1)
            state.count(row, record, by: 1)
            kept += 1
        }
        try state.write(made)
        try made.run("COMMIT")
        return kept
    }

    /// Removes files that no row names, which would neither be found nor counted.
    private func removeUnnamedFiles(_ made: Database) {
        for folder in (try? fileSystem.names(in: paths.bodies)) ?? [] where folder.utf8.count == 2 {
            for name in (try? fileSystem.names(in: paths.bodies + "/" + folder)) ?? [] {
                guard let file = CachePaths.file(name) else { continue }
                let isNamed = (try? made.number("SELECT 1 FROM entry WHERE file = ?", .number(file))) ?? nil
                if isNamed == nil { try? fileSystem.remove(paths.body(file)) }
            }
            try? fileSystem.removeFolder(paths.bodies + "/" + folder)
        }
    }
}
