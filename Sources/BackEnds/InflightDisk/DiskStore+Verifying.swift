public import InflightCore
internal import InflightFiles
internal import InflightSQLite

extension DiskStore {
    /// The result of a verification.
    public struct Verification: Sendable, Hashable {
        /// One row or body that differs from what was stored.
        public struct Damage: Sendable, Hashable {
            /// The damaged entry; nil if the damage is in the index and not in one entry.
            public var id: StoredEntry.ID?
            /// The URL of the entry's response; nil if its row cannot be read.
            public var url: String?
            /// The kind of damage, as a sentence in English.
            public var reason: String
        }

        /// The number of entries that were read, damaged ones included.
        public var entries = 0
        /// The sum of the lengths of the undamaged bodies, in bytes.
        public var bodyBytes: Int64 = 0
        /// The damage found. If it is empty, the cache is as it was written.
        public var damage: [Damage] = []
        /// The number of files that belong to no entry, left by killed processes. They are removed in time and are not
        /// damage.
        public var leftovers = 0
    }

    /// Reads every row and every body without changing anything. Damaged entries are removed at their next lookup. A
    /// discarded index is reported once.
    ///
    /// - Throws: ``LoadError`` if the folder cannot be opened or read at first. Later read errors are reported as
    ///   damage.
    /// - Cost: Reads the whole folder. Other calls proceed meanwhile.
    public func verify() async throws(LoadError) -> Verification {
        var found = Verification()
        _ = try await reading { (_) throws(DatabaseError) in }
        if let discarded = core.takeDiscarded() {
            let lost = discarded.entries.map { "Entries lost: \($0)." } ?? "All entries are lost."
            found.damage.append(.init(reason: "The index was corrupt and was discarded. \(lost)"))
        }
        var last = Int64.min
        while true {
            let start = last
            let configuration = core.configuration
            let page: (last: Int64?, found: Verification)
            do {
                page = try await reading(replaces: false) { (connection) throws(DatabaseError) in
                    try Self.verify(after: start, connection, configuration.bodies(in: connection.index.paths))
                }
            } catch {
                found.damage.append(.init(reason: "The index cannot be read: some of its pages are corrupt."))
                break
            }
            found.entries += page.found.entries
            found.bodyBytes += page.found.bodyBytes
            found.damage += page.found.damage
            guard let end = page.last else { break }
            last = end
        }
        found.leftovers = (try? await leftovers()) ?? 0
        return found
    }

    private static func verify(
        after start: Int64, _ connection: ReaderPool.Connection, _ bodies: BodyFiles
    ) throws(DatabaseError) -> (last: Int64?, found: Verification) {
        let identity = connection.index.identity
        var found = Verification()
        let rows = try EntryRow.page(after: start, count: 64, in: connection.database)
        for row in rows {
            guard let reason = try problem(row, identity, connection, bodies) else {
                found.entries += 1
                found.bodyBytes += row.length
                continue
            }
            // An entry that has been evicted or changed since is not damaged.
            guard try EntryRow.find(row.id, in: connection.database)?.seal == row.seal else { continue }
            found.entries += 1
            let url = row.checked(identity: identity)?.response.url
            found.damage.append(.init(id: StoredEntry.ID(rawValue: row.id), url: url, reason: reason))
        }
        return (rows.last?.id, found)
    }

    private static func problem(
        _ row: EntryRow, _ identity: UInt64, _ connection: ReaderPool.Connection, _ bodies: BodyFiles
    ) throws(DatabaseError) -> String? {
        guard let record = row.checked(identity: identity) else { return "Its row in the index is corrupt." }
        let hash = EntryRow.hash(of: record.key, identity: identity)
        let way = try connection.database.number(
            "SELECT 1 FROM entry INDEXED BY entryByHash WHERE hash = ? AND id = ?", .number(hash), .number(row.id))
        guard row.hash == hash, way != nil else { return "A lookup cannot find it: the index is corrupt." }
        if row.isInFile {
            let name = CachePaths.name(row.file)
            do {
                let read = try bodies.read(row.file, length: row.length, seed: identity)
                guard let read else { return "Its file \(name) is truncated." }
                return read.sum == row.sum ? nil : "Its file \(name) does not match its checksum."
            } catch {
                return "Its file \(name) cannot be read: \(error.systemText)."
            }
        }
        let body = try StoredBodies.read(row, identity: identity, in: connection.database)
        return body == nil ? "Its body in the index is corrupt or missing." : nil
    }

    /// Returns the number of files that belong to no entry.
    private func leftovers() async throws(LoadError) -> Int {
        let configuration = core.configuration
        return try await reading(replaces: false) { (connection) throws(DatabaseError) in
            let bodies = configuration.bodies(in: connection.index.paths)
            var count = 0
            for folder in (try? bodies.fileSystem.names(in: bodies.paths.bodies)) ?? [] {
                for name in (try? bodies.fileSystem.names(in: bodies.paths.bodies + "/" + folder)) ?? [] {
                    guard let file = CachePaths.file(name) else { continue }
                    let isNamed = try connection.database.number(
                        "SELECT 1 FROM entry WHERE file = ? LIMIT 1", .number(file))
                    if isNamed == nil { count += 1 }
                }
            }
            return count
        }
    }
}
