internal import InflightCore

/// Makes a damaged index anew, of all its rows that are whole; or an empty one, where there is none.
///
/// Each row is looked at by itself: its seal, and the checksum of its body where that is in the index. What lies on pages
/// that cannot be read is lost, and so are files that no row names any more.
///
/// To be run while nobody else writes. Killed at any instruction it leaves the damaged index, which is mended by the next.
struct IndexRepair {
    let opener: CacheOpener
    let tag: FolderTag

    private var paths: CachePaths { opener.paths }
    private var fileSystem: any FileSystem { opener.fileSystem }

    /// How many rows are looked at in one go.
    private static let step: Int64 = 256

    func run() throws(StoreFailure) -> Int {
        for path in [paths.newIndex, paths.newIndex + "-wal", paths.newIndex + "-shm", paths.newIndex + "-journal"] {
            try? fileSystem.remove(path)
        }
        let made = try opener.make(paths.newIndex, identity: tag.identity)
        var state = try inDatabase { () throws(DatabaseError) in try IndexState.read(made) }
        if let old = opened() {
            try inDatabase { () throws(DatabaseError) in try salvage(old, into: made, &state) }
        }
        // One file, without a log that would have to move along with it.
        _ = try inDatabase { () throws(DatabaseError) in try made.checkpoint(.truncate) }
        removeUnnamedFiles(made)
        // First the old log, so that it is never taken for the new index's.
        for path in [paths.log, paths.sharedMemory, paths.journal] { try? fileSystem.remove(path) }
        try inFiles("index.sqlite") { () throws(FileError) in try fileSystem.rename(paths.newIndex, to: paths.index) }
        for path in [paths.newIndex + "-wal", paths.newIndex + "-shm"] { try? fileSystem.remove(path) }
        return Int(state.entries)
    }

    /// The damaged index, where it is one at all.
    private func opened() -> Database? {
        if let old = ours() { return old }
        // The log may be another index's, which SQLite cannot tell: without it the index is what it was. Nothing has been
        // copied yet.
        try? fileSystem.remove(paths.log)
        try? fileSystem.remove(paths.sharedMemory)
        return ours() ?? openedAnyway()
    }

    private func ours() -> Database? {
        guard let old = openedAnyway(), (try? IndexState.read(old))?.identity == tag.identity else { return nil }
        return old
    }

    private func openedAnyway() -> Database? {
        let old = try? opener.opened(paths.index, .writing)
        guard let old, (try? old.number("PRAGMA application_id")) == Layout.applicationID else { return nil }
        return old
    }

    private func salvage(
        _ old: Database, into made: Database, _ state: inout IndexState
    ) throws(DatabaseError) {
        if let before = try? IndexState.read(old), before.identity == tag.identity {
            state.next = max(state.next, before.next)
            state.age = before.age
        }
        var (low, high) = (Int64.min, Int64.max)
        // From the lowest number up to what cannot be read, then from the highest down.
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
                if !rows.isEmpty { try keep(rows, of: old, in: made, &state) }
                for row in rows {
                    if order == "ASC" { low = max(low, row.id) } else { high = min(high, row.id) }
                }
                if case .failure = status { break }
                if rows.count < Self.step { return }
            }
        }
    }

    private func keep(
        _ rows: [EntryRow], of old: Database, in made: Database, _ state: inout IndexState
    ) throws(DatabaseError) {
        try made.run("BEGIN IMMEDIATE")
        for row in rows {
            guard let record = row.checked(identity: tag.identity), row.id > 0, row.id < .max - (1 << 60) else {
                continue
            }
            var row = row
            row.rank = record.response.isComplete ? state.age + 1 : RankRule.partial(age: state.age)
            row.uses = 1
            if row.isInFile {
                guard let size = try? fileSystem.status(paths.body(row.file)).size, size >= row.length else { continue }
                row.room = size
            } else {
                guard let body = (try? StoredBodies.read(row, identity: tag.identity, in: old)) ?? nil else { continue }
                try made.change(
                    "INSERT OR IGNORE INTO body (id, bytes) VALUES (?, ?)", .number(row.id), .bytes(body.array))
            }
            try row.insert(made)
            state.next = max(state.next, row.id + 1)
            state.count(row, record, by: 1)
        }
        try state.write(made)
        try made.run("COMMIT")
    }

    /// Files that nobody will ever ask for, and that no number counts.
    private func removeUnnamedFiles(_ made: Database) {
        for folder in (try? fileSystem.names(in: paths.bodies)) ?? [] where folder.utf8.count == 2 {
            for name in (try? fileSystem.names(in: paths.bodies + "/" + folder)) ?? [] {
                guard let file = CachePaths.file(name) else { continue }
                let isNamed = (try? made.number("SELECT 1 FROM entry WHERE file = ?", .number(file))) ?? nil
                if isNamed == nil { try? fileSystem.remove(paths.body(file)) }
            }
        }
    }
}
