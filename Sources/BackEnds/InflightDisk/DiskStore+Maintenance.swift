internal import InflightConcurrency
public import InflightCore

/// What the owner of a folder may want to know, and to do. Each call opens the folder, and throws where that cannot be:
/// with ``Configuration/makesFolder`` switched off, ``LoadError/Code/notStored`` where there is no cache.
extension DiskStore {
    /// What a cache takes, in bytes where nothing else is said.
    public struct Statistics: Sendable, Hashable {
        public var entries: Int64
        /// Entries that hold a part of their body.
        public var partialEntries: Int64
        /// Entries whose body has a file of its own; the others' are in the index.
        public var entriesInFiles: Int64
        /// The sum of the lengths of all bodies.
        public var bodyBytes: Int64
        public var indexBytes: Int64
        /// Files of entries, files that are being written, and files that are to be removed, with the room that they may
        /// take until that is done.
        public var fileBytes: Int64
        /// How many of those files belong to no entry (yet, or any more).
        public var pendingFiles: Int64
        /// SQLite's write-ahead log, and the memory that processes share for it.
        public var logBytes: Int64
        /// What says whose folder it is.
        public var tagBytes: Int64
        public var limit: Int64

        /// The apparent size of all files in the folder, which counts towards the limit.
        public var bytes: Int64 { indexBytes + fileBytes + logBytes + tagBytes }
    }

    /// Counts what there is, after what killed processes have left was removed.
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

    /// One entry as lists show it.
    public struct ListedEntry: Sendable, Hashable {
        public var id: StoredEntry.ID
        public var key: StoreKey
        public var response: StoredResponse
        public var stored: WallTime
        public var bodyBytes: Int64
        public var isInFile: Bool
    }

    /// Entries in the order in which they were stored.
    ///
    /// - Parameters:
    ///   - after: the last one of the page before; `nil` for the first page.
    ///   - count: how many at most.
    /// - Returns: an empty page at the end. Rows that are damaged are left out.
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

    /// What to remove.
    public enum Clearing: Sendable, Hashable {
        case all
        /// Answers of that URL, and what is kept under it.
        case url(String)
        /// Answers of that host, on whatever port.
        case host(String)
        /// What was stored before that date.
        case storedBefore(WallTime)
    }

    /// Removes entries; those that come meanwhile may stay. Of damaged ones nobody knows what they were: they go with all.
    ///
    /// - Returns: how many were removed.
    @discardableResult
    public func clear(_ which: Clearing) async throws(LoadError) -> Int {
        var removed = 0
        var last = Int64.min
        let most = configuration.mostEvictions
        while true {
            let start = last
            let page = try await reading { (connection) throws(DatabaseError) in
                let rows = try EntryRow.page(after: start, count: most, in: connection.database)
                let identity = connection.index.identity
                let ids = rows.filter { which.includes($0, identity: identity) }.map { StoredEntry.ID(rawValue: $0.id) }
                return (end: rows.last?.id, ids: ids)
            }
            guard let end = page.end else { break }
            last = end
            let ids = page.ids
            if ids.isEmpty { continue }
            if case .failed = await writing(.remove(ids)) { throw notWritten() }
            removed += ids.count
        }
        // What is free at the end of the index is given back.
        while case .done = await writing(.compact) {}
        return removed
    }

    private func notWritten() -> LoadError {
        core.unavailability
            ?? LoadError(
                .cannotWrite, stage: .store,
                message: "The cache \(configuration.folder) cannot be written at present. Try again.")
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

    /// Reads, in the folder as it is now.
    func reading<Value: Sendable>(
        mends: Bool = true, _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value
    ) async throws(LoadError) -> Value {
        if case .failed = await writing(.open) { throw notWritten() }
        let bridge = ValueBridge<Value?>()
        core.begin {
            core.read(mends: mends, body) { [core] value in
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
                    message: "The cache \(configuration.folder) cannot be read at present. Try again.")
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
    func includes(_ row: EntryRow, identity: UInt64) -> Bool {
        if self == .all { return true }
        guard let record = row.checked(identity: identity) else { return false }
        return switch self {
        case .all: true
        case .url(let url): record.response.url == url || record.key.text == url
        case .host(let host): (try? ResourceURL(record.response.url))?.origin?.host == host.lowercased()
        case .storedBefore(let date): record.stored < date
        }
    }
}

extension EntryRow {
    /// Rows in the order of their numbers.
    static func page(after id: Int64, count: Int, in database: Database) throws(DatabaseError) -> [EntryRow] {
        var rows: [EntryRow] = []
        try database.query(
            "SELECT \(columns) FROM entry WHERE id > ? ORDER BY id LIMIT ?", .number(id), .number(Int64(count))
        ) { (row: borrowing Row) throws(DatabaseError) in
            rows.append(EntryRow(row))
            return true
        }
        return rows
    }
}
