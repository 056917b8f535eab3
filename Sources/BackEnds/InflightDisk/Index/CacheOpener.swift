internal import InflightFiles
internal import InflightSQLite

/// Opens a folder as a cache: creates missing files, rejects foreign or newer caches, migrates older layouts and
/// replaces a damaged index. Only the latter takes longer for a cache with more entries.
struct CacheOpener {
    /// Without symbolic links, which SQLite rejects anywhere in a path.
    let paths: CachePaths
    /// The folder's path as configured.
    let named: String
    let fileSystem: any FileSystem
    /// The name of SQLite's VFS; nil for the default one.
    let indexFileSystem: String?
    let layout: Layout
    let durability: DiskStore.Durability
    let logLimit: Int64
    /// Whether to create a cache if there is none.
    let createsFolder: Bool

    struct Opened {
        var cache: OpenCache
        /// The damaged index that was replaced by an empty one; nil if there was none.
        var discarded: DiscardedIndex?
    }

    func open() throws(StoreFailure) -> Opened {
        let tag = try tagOrNew()
        if tag.layout > layout.version { throw .newer(named, layout: tag.layout, known: layout.version) }
        let lock = try lockFile()
        do {
            return Opened(cache: try open(tag, lock))
        } catch {
            guard error.isDamage else { throw error }
        }
        return try replaceIfDamaged(tag, lock)
    }

    /// Opens the folder after its index was found to be damaged in use.
    func openDamaged() throws(StoreFailure) -> Opened {
        try replaceIfDamaged(try tagOrNew(), try lockFile())
    }

    private func replaceIfDamaged(_ tag: FolderTag, _ lock: FolderLock) throws(StoreFailure) -> Opened {
        try lock.hold(alone: true, waitingAtMost: OpenCache.busyTimeout) { () throws(StoreFailure) in
            let replacement = IndexReplacement(opener: self, tag: tag)
            // The index may have been misread, or another process may have replaced it meanwhile.
            if try isDamaged(tag) {
                let discarded = try replacement.run()
                return Opened(cache: try open(tag, lock), discarded: discarded)
            }
            let cache = try open(tag, lock)
            // SQLite may have ignored a damaged log, and with it the rows of some bodies.
            try inDatabase { () throws(DatabaseError) in try replacement.removeUnnamedFiles(cache.database) }
            return Opened(cache: cache)
        }
    }

    private func isDamaged(_ tag: FolderTag) throws(StoreFailure) -> Bool {
        guard try isThere(paths.index) else { return false }
        do throws(StoreFailure) {
            let database = try looked(tag)
            return try inDatabase { () throws(DatabaseError) in try !isIntact(database, tag) }
        } catch {
            guard error.isDamage else { throw error }
            return true
        }
    }

    /// Returns whether an index is this cache's, and SQLite finds it consistent. Reads all of it.
    func isIntact(_ database: Database, _ tag: FolderTag) throws(DatabaseError) -> Bool {
        guard try database.number("PRAGMA application_id") == Layout.applicationID,
            try IndexState.read(database).identity == tag.identity
        else { return false }
        var finding: String?
        try database.query("PRAGMA integrity_check(1)") { (row: borrowing Row) throws(DatabaseError) in
            finding = row.text(0)
            return false
        }
        return finding == "ok"
    }

    private func lockFile() throws(StoreFailure) -> FolderLock {
        try inFiles("lock") { () throws(SystemError) in try FolderLock(paths.lock, fileSystem: fileSystem) }
    }

    // MARK: The folder

    private func tagOrNew() throws(StoreFailure) -> FolderTag {
        try checkOwner()
        if let tag = try tag() { return tag }
        if createsFolder {
            try inFiles("the folder") { () throws(SystemError) in try fileSystem.makeFolder(paths.folder) }
            try checkOwner()
        }
        if !CachePaths.namesWithoutTag.isSuperset(of: try names()) {
            // Another store may have created the cache meanwhile. Its tag precedes all other files.
            if let tag = try tag() { return tag }
            return try tagFromIndex()
        }
        guard createsFolder else { throw .absent(named) }
        let lock = try lockFile()
        return try lock.hold(alone: true, waitingAtMost: OpenCache.busyTimeout) { () throws(StoreFailure) in
            if let tag = try tag() { return tag }
            var random = SystemRandomNumberGenerator()
            let tag = FolderTag(identity: random.next(), layout: layout.version)
            try inFiles("the folder") { () throws(SystemError) in
                try fileSystem.makePrivate(paths.folder, isFolder: true)
            }
            try write(tag)
            // Read the tag back. A lost tag would leave the following writes in a folder that is not identified as a
            // cache.
            guard try self.tag() == tag else { throw StoreFailure.file(.inputOutput, "CACHEDIR.TAG") }
            return tag
        }
    }

    /// Throws if the folder or `bodies` belongs to another user, who could change it at any time, or `bodies` is a
    /// link.
    private func checkOwner() throws(StoreFailure) {
        for path in [paths.folder, paths.bodies] {
            guard let status = try? fileSystem.status(path) else { continue }
            if path == paths.bodies, status.isLink { throw .linked(named) }
            if status.owner != fileSystem.user { throw .othersFolder(named) }
        }
    }

    /// Returns the names in the folder.
    private func names() throws(StoreFailure) -> [String] {
        do {
            return try fileSystem.names(in: paths.folder)
        } catch {
            if error == .isMissing, !createsFolder { throw .absent(named) }
            throw .file(error, "the folder")
        }
    }

    /// Returns the folder's tag, or nil if there is none.
    private func tag() throws(StoreFailure) -> FolderTag? {
        let bytes: [UInt8]
        do {
            bytes = try WholeFile.read(paths.tag, limit: 4096, fileSystem)
        } catch {
            if error == .isMissing { return nil }
            throw .file(error, "CACHEDIR.TAG")
        }
        if bytes.isEmpty { return nil }
        if let tag = FolderTag(bytes) { return tag }
        return try tagFromIndex()
    }

    /// Restores a damaged or lost tag from the index. Without an index of ours, the folder counts as another program's.
    private func tagFromIndex() throws(StoreFailure) -> FolderTag {
        let found = try? { () throws(DatabaseError) -> (state: IndexState, version: Int64?)? in
            let database = try opened(paths.index, .writing)
            guard try database.number("PRAGMA application_id") == Layout.applicationID else { return nil }
            return (try IndexState.read(database), try database.number("PRAGMA user_version"))
        }()
        guard let found = found ?? nil, let version = found.version else { throw .foreign(named) }
        let tag = FolderTag(identity: found.state.identity, layout: version)
        if version <= layout.version { try write(tag) }
        return tag
    }

    func write(_ tag: FolderTag) throws(StoreFailure) {
        try inFiles("CACHEDIR.TAG") { () throws(SystemError) in
            try WholeFile.write(Array(tag.text.utf8), to: paths.newTag, fileSystem)
            try fileSystem.rename(paths.newTag, to: paths.tag)
        }
    }

    // MARK: The index

    private func open(_ tag: FolderTag, _ lock: FolderLock) throws(StoreFailure) -> OpenCache {
        let database: Database
        if try isThere(paths.index) {
            try makePrivate()
            database = try looked(tag)
        } else {
            database = try lock.hold(alone: true, waitingAtMost: OpenCache.busyTimeout) { () throws(StoreFailure) in
                // Create it under another name first. A half-made index would look damaged after a kill.
                if !(try isThere(paths.index)) { _ = try IndexReplacement(opener: self, tag: tag).run() }
                return try looked(tag)
            }
        }
        let index = try inFiles("index.sqlite") { () throws(SystemError) in try fileSystem.status(paths.index).identity
        }
        database.copiesLogWhenClosed()
        database.countsLog()
        database.limitLog(to: logLimit)
        return OpenCache(
            paths: paths, fileSystem: fileSystem, lock: lock, database: database, identity: tag.identity, index: index)
    }

    func isThere(_ path: String) throws(StoreFailure) -> Bool {
        do {
            // An empty file holds nothing that could be damaged.
            return try fileSystem.status(path).size > 0
        } catch {
            if error == .isMissing { return false }
            throw .file(error, "index.sqlite")
        }
    }

    /// Makes an index private that others may read, for example after it was copied.
    private func makePrivate() throws(StoreFailure) {
        for path in [paths.index, paths.log, paths.sharedMemory] {
            guard let status = try? fileSystem.status(path), !status.isPrivate else { continue }
            try inFiles(path) { () throws(SystemError) in try fileSystem.makePrivate(path, isFolder: false) }
        }
    }

    /// Opens and checks the existing index.
    private func looked(_ tag: FolderTag) throws(StoreFailure) -> Database {
        let database = try inDatabase { () throws(DatabaseError) in
            try opened(paths.index, .writing)
        }
        let (application, version) = try inDatabase { () throws(DatabaseError) in
            (try database.number("PRAGMA application_id"), try database.number("PRAGMA user_version") ?? 0)
        }
        guard application == Layout.applicationID, version > 0 else { throw .database(.damaged) }
        if version > layout.version { throw .newer(named, layout: version, known: layout.version) }
        try inDatabase { () throws(DatabaseError) in
            try database.run(Layout.pragmas + durability.pragma + "PRAGMA journal_size_limit = \(logLimit)")
            if version < layout.version { try migrate(database) }
            guard try Set(Self.tables(in: database)) == Set(layout.statements) else { throw DatabaseError.damaged }
            guard try IndexState.read(database).identity == tag.identity else { throw DatabaseError.damaged }
        }
        return database
    }

    func opened(_ path: String, _ mode: Database.Mode) throws(DatabaseError) -> Database {
        try Database(path: path, mode: mode, fileSystem: indexFileSystem, waitingAtMost: OpenCache.busyTimeout)
    }

    private static func tables(in database: Database) throws(DatabaseError) -> [String] {
        var found: [String] = []
        try database.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100") {
            (row: borrowing Row) throws(DatabaseError) in
            found.append(row.text(0))
            return true
        }
        return found
    }

    /// Runs in one transaction: an older program either sees the old layout or fails to find its tables.
    private func migrate(_ database: Database) throws(DatabaseError) {
        try database.run("BEGIN IMMEDIATE")
        do throws(DatabaseError) {
            // Another process may have migrated it while this one waited.
            while let version = try database.number("PRAGMA user_version"), version < layout.version {
                guard let statements = layout.migrations[version] else { throw DatabaseError.damaged }
                try database.run(statements)
                try database.run("PRAGMA user_version = \(version + 1)")
            }
            try database.run("COMMIT")
        } catch {
            try? database.run("ROLLBACK")
            throw error
        }
    }

    /// Turns an empty file into an index without entries, whose first entry will have a number that no earlier index of
    /// this folder has used.
    func fill(_ database: Database, identity: UInt64) throws(DatabaseError) {
        // The file has no name of an index yet: if this fails or is killed, it is created anew.
        try database.run(Layout.beforeTables + "PRAGMA journal_mode = MEMORY;" + durability.pragma)
        try database.run("BEGIN IMMEDIATE")
        try database.run(layout.statements.joined(separator: ";\n"))
        try database.run("PRAGMA application_id = \(Layout.applicationID); PRAGMA user_version = \(layout.version)")
        try database.change(
            "INSERT INTO cache VALUES (1, ?, ?, 0, 0, 0, 0, 0, 0)", .word(identity), .number(Self.firstNumber()))
        try database.run("COMMIT")
    }

    /// Returns a random first number, far from that of any other index and with space for more entries than will ever
    /// be stored.
    private static func firstNumber() -> Int64 {
        var random = SystemRandomNumberGenerator()
        return Int64.random(in: 1..<(1 << 61), using: &random)
    }
}

extension DiskStore.Durability {
    var pragma: String { self == .process ? "PRAGMA synchronous = NORMAL;" : "PRAGMA synchronous = FULL;" }
}
