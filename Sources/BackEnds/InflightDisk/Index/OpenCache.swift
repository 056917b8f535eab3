internal import InflightFiles
internal import InflightSQLite

/// A cache verified as ours, with the connection that writes to it.
// Confined to the writer's thread.
final class OpenCache {
    let paths: CachePaths
    let fileSystem: any FileSystem
    let lock: FolderLock
    let database: Database
    /// The cache's identity.
    let identity: UInt64
    /// The identity of the index file. It detects a replaced index.
    let index: FileStatus.Identity
    private var pageLimit: Int64?

    /// How long to wait for locks of other processes, in milliseconds.
    static let busyTimeout: Int32 = 5000

    init(
        paths: CachePaths, fileSystem: any FileSystem, lock: FolderLock, database: Database, identity: UInt64,
        index: FileStatus.Identity
    ) {
        self.paths = paths
        self.fileSystem = fileSystem
        self.lock = lock
        self.database = database
        self.identity = identity
        self.index = index
    }

    /// Runs `body` in a transaction: when this returns, all of its changes are kept, and if it throws, none.
    ///
    /// - Parameter probe: Called with `true` before the commit, and with `false` after it.
    func transaction<Result>(
        probe: ((Bool) -> Void)? = nil, _ body: (inout IndexState) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        try lock.hold(waitingAtMost: Self.busyTimeout) { () throws(StoreFailure) in
            guard (try? fileSystem.status(paths.index))?.identity == index else { throw .replaced }
            try inDatabase(database.change("BEGIN IMMEDIATE"))
            do throws(StoreFailure) {
                var state = try inDatabase(IndexState.read(database))
                guard state.identity == identity else { throw StoreFailure.database(.damaged) }
                let result = try body(&state)
                try inDatabase(state.write(database))
                probe?(true)
                try inDatabase(database.change("COMMIT"))
                probe?(false)
                return result
            } catch {
                if database.isInTransaction { try? database.run("ROLLBACK") }
                throw error
            }
        }
    }

    /// The current size of the index, as far as it counts towards the limit.
    struct Usage {
        /// The pages of the index, and how many of them are free.
        var pages: Int64
        var freePages: Int64
        /// The pages of the index file: more than ``pages`` before it is cut, fewer before it has grown.
        var filePages: Int64
    }

    func usage() throws(StoreFailure) -> Usage {
        let size = try inFiles("index.sqlite", fileSystem.status(paths.index).size)
        return try inDatabase(
            Usage(
                pages: database.number("PRAGMA page_count") ?? 0,
                freePages: database.number("PRAGMA freelist_count") ?? 0,
                filePages: size / Layout.pageBytes))
    }

    // MARK: Files being written, and files to be removed

    /// Counts a file before it is written, so that a leftover can be found.
    func plan(_ file: PlannedFile, _ state: inout IndexState) throws(StoreFailure) {
        try inDatabase(
            database.change(
                "INSERT INTO pending (file, owner, room) VALUES (?, ?, ?)", .number(file.file), .number(lock.owner),
                .number(file.room)))
        state.fileBytes += file.room
    }

    /// Reverts ``plan(_:_:)``: the file has been removed, or an entry counts it now.
    ///
    /// - Returns: Whether it was still planned.
    @discardableResult
    func forget(_ file: Int64, _ state: inout IndexState) throws(StoreFailure) -> Bool {
        let room = try inDatabase(database.number("SELECT room FROM pending WHERE file = ?", .number(file)))
        try inDatabase(database.change("DELETE FROM pending WHERE file = ?", .number(file)))
        state.fileBytes = max(0, state.fileBytes - (room ?? 0))
        return room != nil
    }

    /// Removes an entry. Its file still counts, and must be removed after the commit.
    ///
    /// - Returns: The file, if it has one.
    func removeEntry(_ row: EntryRow, _ state: inout IndexState) throws(StoreFailure) -> Int64? {
        try inDatabase(database.change("DELETE FROM entry WHERE id = ?", .number(row.id)))
        if !row.isInFile { try inDatabase(database.change("DELETE FROM body WHERE id = ?", .number(row.id))) }
        state.count(row, row.checked(identity: identity), by: -1)
        guard row.isInFile else { return nil }
        // A damaged row must not release more space than is counted.
        let room = min(max(row.room, 0), state.fileBytes)
        state.fileBytes -= room
        try plan(PlannedFile(file: row.file, room: room), &state)
        return row.file
    }

    /// The bytes of the log after this connection's last commit. The log file may be longer, and then need not grow.
    var logBytes: Int64 {
        database.logPages.map { Int64($0) * (Layout.pageBytes + Layout.logPageHeadBytes) } ?? logFileBytes
    }

    var logFileBytes: Int64 { (try? fileSystem.status(paths.log))?.size ?? 0 }

    /// Copies the whole log into the index and truncates its file, unless another connection reads it or writes for
    /// longer than `milliseconds`.
    ///
    /// - Returns: Whether it was truncated.
    func truncateLog(waitingAtMost milliseconds: Int32) -> Bool {
        database.wait(atMost: milliseconds)
        defer { database.wait(atMost: Self.busyTimeout) }
        return (try? database.checkpoint(.truncate)) ?? false
    }

    /// Makes SQLite itself refuse to exceed that number of pages, whatever was estimated.
    func limitPages(_ pages: Int64) throws(StoreFailure) {
        if pages == pageLimit { return }
        try inDatabase(database.run("PRAGMA max_page_count = \(pages)"))
        pageLimit = pages
    }
}
