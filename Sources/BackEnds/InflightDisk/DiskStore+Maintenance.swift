internal import InflightConcurrency
public import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Maintenance for the owner of a folder. Each call opens the folder and throws if that fails. If
/// ``Configuration/createsFolder`` is false and there is no cache, it throws ``LoadError/Code/notStored``.
extension DiskStore {
    /// The contents of a cache. Sizes are in bytes.
    public struct Statistics: Sendable, Hashable {
        /// The number of entries.
        public var entries: Int64
        /// The number of entries that hold only a part of their body.
        public var partialEntries: Int64
        /// The number of entries whose body has a file of its own. All other bodies are in the index.
        public var entriesInFiles: Int64
        /// The sum of the lengths of all bodies.
        public var bodyBytes: Int64
        /// The size of the index, without its log.
        public var indexBytes: Int64
        /// The size of the body files, of entries, being written or waiting for removal, counted with the space
        /// reserved for them.
        public var fileBytes: Int64
        /// The number of those files that belong to no entry, either not yet or no longer.
        public var pendingFiles: Int64
        /// The size of SQLite's write-ahead log and of the shared memory of its users.
        public var logBytes: Int64
        /// The size of the file that identifies the folder as a cache.
        public var tagBytes: Int64
        /// The limit of the folder, ``DiskStore/Configuration/limit``.
        public var limit: Int64

        /// The apparent size of all files in the folder. It counts towards the limit.
        public var bytes: Int64 { indexBytes + fileBytes + logBytes + tagBytes }
    }

    /// Returns the cache's statistics, after removing files that killed processes have left.
    ///
    /// - Throws: ``LoadError`` if the folder cannot be opened or read.
    public func statistics() async throws(LoadError) -> Statistics {
        let fileSystem = configuration.fileSystem
        let limit = configuration.limit
        while case .done = await writing(.sweep) {}
        return try await reading { (connection) throws(DatabaseError) in
            let paths = connection.index.paths
            @Sendable func size(_ path: String) -> Int64 { (try? fileSystem.status(path).size) ?? 0 }
            let state = try IndexState.read(connection.database)
            return Statistics(
                entries: state.entries, partialEntries: state.partial, entriesInFiles: state.files,
                bodyBytes: state.bodyBytes, indexBytes: size(paths.index), fileBytes: state.fileBytes,
                pendingFiles: try connection.database.number("SELECT count(*) FROM pending") ?? 0,
                logBytes: size(paths.log) + size(paths.sharedMemory), tagBytes: size(paths.tag), limit: limit)
        }
    }

    /// An entry in a listing.
    public struct ListedEntry: Sendable, Hashable {
        /// The identifier of the entry. It is never reused.
        public var id: StoredEntry.ID
        /// The key under which the entry is stored.
        public var key: StoreKey
        /// The response, without its body.
        public var response: StoredResponse
        /// The date at which the entry was stored or last updated. Appending to its body does not change it.
        public var stored: WallTime
        /// The number of stored bytes of the body.
        public var bodyBytes: Int64
        /// Whether the body has a file of its own. Otherwise it is in the index.
        public var isInFile: Bool
    }

    /// Returns entries in the order in which they were stored.
    ///
    /// - Parameters:
    ///   - after: The last entry of the previous page; nil for the first page.
    ///   - count: The maximum number of entries.
    /// - Returns: One page of entries, empty at the end. Damaged rows are omitted.
    /// - Throws: ``LoadError`` if the folder cannot be opened or read.
    public func list(after: StoredEntry.ID? = nil, count: Int = 1000) async throws(LoadError) -> [ListedEntry] {
        var last = after?.rawValue ?? .min
        while true {
            let start = last
            let page = try await reading { (connection) throws(DatabaseError) in
                let rows = try EntryRow.page(after: start, count: count, in: connection.database)
                return (rows.last?.id, rows.compactMap { ListedEntry($0, identity: connection.index.identity) })
            }
            guard page.1.isEmpty, let end = page.0 else { return page.1 }
            last = end
        }
    }

    /// The entries to remove.
    public enum Clearing: Sendable, Hashable {
        /// All entries, damaged ones too.
        case all
        /// Responses for that URL, and entries stored under it as a key.
        case url(String)
        /// Responses from that host, on any port.
        case host(String)
        /// Entries stored and last updated before that date.
        case storedBefore(WallTime)
        /// Responses that are not fresh any more, so that HTTP asks their server about them. A validator could make
        /// some of them usable again without a transfer.
        case stale
    }

    /// Removes entries. Entries stored meanwhile may remain. Damaged entries match only ``Clearing/all``.
    ///
    /// Reads the whole index, and returns free space at its end to the file system.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: ``LoadError`` if the folder cannot be opened, read or written. Entries may have been removed by then.
    @discardableResult
    public func clear(_ which: Clearing) async throws(LoadError) -> Int {
        var removed = 0
        var last = Int64.min
        let most = configuration.maximumEvictions
        let now = WallTime(secondsSince1970: configuration.clock.secondsSince1970())
        while true {
            let start = last
            let page = try await reading { (connection) throws(DatabaseError) in
                let rows = try EntryRow.page(after: start, count: most, in: connection.database)
                let identity = connection.index.identity
                let ids = rows.filter { which.includes($0, identity: identity, now: now) }
                    .map { StoredEntry.ID(rawValue: $0.id) }
                return (end: rows.last?.id, ids: ids)
            }
            guard let end = page.end else { break }
            last = end
            let ids = page.ids
            if ids.isEmpty { continue }
            if case .failed = await writing(.remove(ids)) { throw notWritten() }
            removed += ids.count
        }
        // Free pages at the end of the index are returned to the file system.
        while case .done = await writing(.compact) {}
        return removed
    }

    private func notWritten() -> LoadError {
        core.unavailability
            ?? LoadError(
                .cannotWrite, stage: .store,
                message: "Cannot write the cache \(configuration.folder) at present. Try again.")
    }

    func writing(_ work: WriteOperation.Work) async -> WriteOperation.Outcome {
        let bridge = ValueBridge<WriteOperation.Outcome>()
        core.begin {
            core.write(work) { [core] outcome in
                bridge.open(with: outcome)
                core.end()
            }
        } otherwise: {
            bridge.open(with: .failed)
        }
        return await bridge.value()
    }

    /// Runs `body` on a reading thread, after opening the folder as it is now.
    func reading<Value: Sendable>(
        replaces: Bool = true, _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value
    ) async throws(LoadError) -> Value {
        if case .failed = await writing(.open) { throw notWritten() }
        let bridge = ValueBridge<Value?>()
        core.begin {
            core.read(replaces: replaces, body) { [core] value in
                bridge.open(with: value)
                core.end()
            }
        } otherwise: {
            bridge.open(with: nil)
        }
        guard let value = await bridge.value() else {
            throw core.unavailability
                ?? LoadError(
                    .cannotRead, stage: .store,
                    message: "Cannot read the cache \(configuration.folder) at present. Try again.")
        }
        return value
    }
}

extension DiskStore.ListedEntry {
    init?(_ row: EntryRow, identity: UInt64) {
        guard let record = row.checked(identity: identity) else { return nil }
        self.init(
            id: StoredEntry.ID(rawValue: row.id), key: record.key, response: record.response, stored: record.stored,
            bodyBytes: row.length, isInFile: row.isInFile)
    }
}

extension DiskStore.Clearing {
    func includes(_ row: EntryRow, identity: UInt64, now: WallTime) -> Bool {
        if self == .all { return true }
        guard let record = row.checked(identity: identity) else { return false }
        return switch self {
        case .all: true
        case .url(let url): record.response.url == url || record.key.text == url
        case .host(let host): (try? ResourceURL(record.response.url))?.origin?.host == host.lowercased()
        case .storedBefore(let date): record.stored < date
        case .stale: !Freshness(of: record.response, at: now).isFresh
        }
    }
}

extension EntryRow {
    /// Returns at most `count` rows in ascending order of their ids.
    static func page(after id: Int64, count: Int, in database: Database) throws(DatabaseError) -> [EntryRow] {
        try database.rows(
            "SELECT \(columns) FROM entry WHERE id > ? ORDER BY id LIMIT ?", .number(id), .number(Int64(count))
        ) { EntryRow($0) }
    }
}
