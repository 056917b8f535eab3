internal import Glibc
internal import InflightConcurrency
internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// One lookup, from the rows to the body.
struct FindOperation: Sendable {
    let core: StoreCore
    let key: StoreKey
    let choose: @Sendable ([StoredEntry]) -> Int?
    let completion: @Sendable ([StoredEntry], StoredBody?) -> Void

    private struct Candidate: Sendable {
        var row: EntryRow
        var entry: StoredEntry
    }

    private struct Found: Sendable {
        var candidates: [Candidate] = []
        var damaged: [EntryRow] = []
        var tooOld: [StoredEntry.ID] = []
        var index: OpenIndex
        /// The body of the first candidate, if it is in the index. It is usually the one chosen.
        var body: Bytes?
        /// The age of the index, read if a candidate has the maximum number of uses.
        var age: Int64?

        func left(without position: Int) -> [StoredEntry] {
            candidates[..<position].map(\.entry) + candidates[(position + 1)...].map(\.entry)
        }
    }

    func start() {
        core.read { (connection: ReaderPool.Connection) throws(DatabaseError) in
            try self.rows(connection)
        } completion: { found in
            guard let found else { return completion([], nil) }
            if !found.tooOld.isEmpty { core.write(.remove(found.tooOld)) { _ in } }
            for row in found.damaged { quarantine(row, url: nil, reason: "its row in the index is corrupt") {} }
            let entries = found.candidates.map(\.entry)
            guard let position = choose(entries), entries.indices.contains(position) else {
                return completion(entries, nil)
            }
            readBody(found, position)
        }
    }

    private func rows(_ connection: ReaderPool.Connection) throws(DatabaseError) -> Found {
        let identity = connection.index.identity
        var found = Found(index: connection.index)
        let oldest = core.configuration.ageLimit.map { limit in
            core.now.milliseconds.subtractingReportingOverflow(limit.saturatedNanoseconds / 1_000_000)
        }
        try EntryRow.forEach(key, identity: identity, in: connection.database) { (row) throws(DatabaseError) in
            guard let record = row.checked(identity: identity) else {
                found.damaged.append(row)
                return
            }
            guard record.key == key else { return }
            if let oldest, !oldest.overflow, record.stored.milliseconds < oldest.partialValue {
                found.tooOld.append(StoredEntry.ID(rawValue: row.id))
                return
            }
            let entry = StoredEntry(id: StoredEntry.ID(rawValue: row.id), response: record.response)
            found.candidates.append(Candidate(row: row, entry: entry))
            if found.candidates.count == 1, !row.isInFile {
                found.body = try StoredBodies.read(row, identity: identity, in: connection.database)
            }
        }
        if found.candidates.contains(where: { $0.row.uses >= EvictionRank.maximumUses }) {
            found.age = try connection.database.number("SELECT age FROM cache")
        }
        return found
    }

    // MARK: The body

    private func readBody(_ found: Found, _ position: Int) {
        let candidate = found.candidates[position]
        let row = candidate.row
        if position == 0, let body = found.body {
            finish(found, position, body)
        } else if row.isInFile {
            do {
                let read = try core.configuration.bodies(in: found.index.paths).read(
                    row.file, length: row.length, seed: found.index.identity)
                finish(found, position, read.flatMap { $0.sum == row.sum ? $0.bytes : nil })
            } catch {
                // A transient error, such as too many open files, must not remove an undamaged entry.
                if error.isTransient {
                    completion(found.left(without: position), nil)
                } else {
                    finish(found, position, nil)
                }
            }
        } else {
            // On this thread, usually in the connection that it has just returned to the pool.
            let read = core.readers.read { (connection) throws(DatabaseError) in
                try connection.database.snapshot { () throws(DatabaseError) -> Bytes? in
                    guard try EntryRow.find(row.id, in: connection.database)?.seal == row.seal else { return nil }
                    return try StoredBodies.readInSnapshot(row, identity: found.index.identity, in: connection.database)
                }
            }
            switch read {
            case .value(let body): finish(found, position, body)
            case .failed(let error, let index) where error.isDamage:
                // In an intact index, the entry has lost its body.
                core.write(.replaceIfDamaged(index.index)) { _ in finish(found, position, nil) }
            case .notOpen, .failed: completion([], nil)
            }
        }
    }

    private func finish(_ found: Found, _ position: Int, _ body: Bytes?) {
        let entries = found.candidates.map(\.entry)
        if let body {
            let row = found.candidates[position].row
            if EvictionRank.changes(row, age: found.age) { core.touch(row.id) }
            return completion(entries, StoredBody(position: position, bytes: body))
        }
        // The entry was evicted, removed or replaced meanwhile, or is damaged. The writer decides by the seal that was
        // read.
        let left = found.left(without: position)
        let candidate = found.candidates[position]
        quarantine(candidate.row, url: candidate.entry.response.url, reason: "its body is corrupt or missing") {
            completion(left, nil)
        }
    }

    private func quarantine(
        _ row: EntryRow, url: String?, reason: String, completion: @escaping @Sendable () -> Void
    ) {
        core.write(.quarantine(StoredEntry.ID(rawValue: row.id), seal: row.seal, url: url, reason: reason)) { _ in
            completion()
        }
    }
}

extension SystemError {
    /// Whether the error does not concern the file itself: the operation may succeed later, or for another user.
    fileprivate var isTransient: Bool { [EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EAGAIN].contains(code) }
}
