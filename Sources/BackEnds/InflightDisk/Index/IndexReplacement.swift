internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Puts a new index in the place of one that is missing or damaged. Run it while no other process writes.
///
/// If only the log is damaged, the new index is a copy of the old one without it; otherwise it is empty. A damaged
/// index is not kept under another name: it would count towards the limit, and would never be read.
///
/// The new index is another file even if it is a copy, so that stores that have the folder open notice it; with the
/// same file they would go on writing to the removed log. It is created under another name and renamed last: a kill, a
/// full disk or an I/O error leaves the old one for the next opening.
struct IndexReplacement {
    let opener: CacheOpener
    let tag: FolderTag

    private var paths: CachePaths { opener.paths }
    private var fileSystem: any FileSystem { opener.fileSystem }

    /// - Returns: The discarded index, or nil if there was none.
    func run() throws(StoreFailure) -> DiscardedIndex? {
        removeUnfinished()
        defer { removeUnfinished() }
        let discarded = try makeIndex()
        // Remove the old log first, so that it is never taken for the new index's.
        for path in [paths.log, paths.sharedMemory, paths.journal] { try? fileSystem.remove(path) }
        try inFiles("index.sqlite") { () throws(SystemError) in try fileSystem.rename(paths.newIndex, to: paths.index) }
        return discarded
    }

    private func removeUnfinished() {
        for path in [paths.newIndex, paths.newIndex + "-wal", paths.newIndex + "-shm", paths.newIndex + "-journal"] {
            try? fileSystem.remove(path)
        }
    }

    /// Creates the new index, and removes the bodies that it does not name.
    ///
    /// Returns with the new index closed. SQLite shares the memory of a log by the file that it belongs to: a
    /// connection still open after the renaming would let this process's other connections share one that other
    /// processes do not find.
    private func makeIndex() throws(StoreFailure) -> DiscardedIndex? {
        // SQLite would create a file that others may read.
        try inFiles("index.sqlite") { () throws(SystemError) in
            try fileSystem.open(paths.newIndex, for: .creating).close()
        }
        let isThere = try opener.isThere(paths.index)
        let isCopied = isThere ? try copyWithoutLog() : false
        let discarded = isThere && !isCopied ? DiscardedIndex(entries: entries()) : nil
        let new = try inDatabase { () throws(DatabaseError) in
            let new = try opener.opened(paths.newIndex, .writing)
            if !isCopied { try opener.fill(new, identity: tag.identity) }
            try new.run("PRAGMA journal_mode = WAL")
            return new
        }
        try inDatabase { () throws(DatabaseError) in try removeUnnamedFiles(new) }
        return discarded
    }

    /// Copies the index without its log, if there is a log and the index is intact without it.
    ///
    /// SQLite itself ignores a damaged log from the first damaged transaction on, but not another index's log. Nothing
    /// of such a log has been copied into the index, so that the index is as it was before.
    private func copyWithoutLog() throws(StoreFailure) -> Bool {
        guard try opener.isThere(paths.log) else { return false }
        do throws(DatabaseError) {
            let old = try opener.opened(paths.index, .alone)
            guard try opener.isIntact(old, tag) else { return false }
            try old.change("VACUUM INTO ?", .text(paths.newIndex))
            return true
        } catch {
            guard error.isDamage else { throw .database(error) }
            return false
        }
    }

    /// Returns the number of entries in the damaged index, if it can be read.
    private func entries() -> Int? {
        for mode in [Database.Mode.writing, .alone] {
            if let state = try? IndexState.read(opener.opened(paths.index, mode)), state.identity == tag.identity {
                return Int(state.entries)
            }
        }
        return nil
    }

    /// Removes files that an index does not name, which would neither be found nor counted.
    func removeUnnamedFiles(_ index: Database) throws(DatabaseError) {
        for folder in (try? fileSystem.names(in: paths.bodies)) ?? [] where folder.utf8.count == 2 {
            for name in (try? fileSystem.names(in: paths.bodies + "/" + folder)) ?? [] {
                guard let file = CachePaths.file(name) else { continue }
                let named = try index.number(
                    "SELECT 1 FROM entry WHERE file = ?1 UNION ALL SELECT 1 FROM pending WHERE file = ?1",
                    .number(file))
                if named == nil { try? fileSystem.remove(paths.body(file)) }
            }
            try? fileSystem.removeFolder(paths.bodies + "/" + folder)
        }
    }
}

/// A damaged index that was removed.
struct DiscardedIndex: Sendable {
    /// The number of its entries; nil if it could not be read.
    var entries: Int?
}
