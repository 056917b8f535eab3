internal import InflightCore
internal import InflightSQLite

/// Bodies that are stored in the index.
enum StoredBodies {
    /// Returns the body, or nil if it is missing, has the wrong length or fails its checksum.
    static func read(
        _ row: EntryRow, identity: UInt64, in database: Database
    ) throws(DatabaseError) -> Bytes? {
        var body: Bytes?
        try database.query("SELECT bytes FROM body WHERE id = ?", .number(row.id)) { found in
            unsafe found.withBytes(0) { memory in
                if Int64(memory.count) == row.length, unsafe XXH64.of(memory, seed: identity) == row.sum {
                    body = unsafe Bytes(copying: memory)
                }
            }
            return false
        }
        return body
    }

    /// Like `read`, for a row of this snapshot. Throws if the body is missing, since the path to it is damaged.
    static func readInSnapshot(
        _ row: EntryRow, identity: UInt64, in database: Database
    ) throws(DatabaseError) -> Bytes? {
        if let body = try read(row, identity: identity, in: database) { return body }
        guard try database.number("SELECT 1 FROM body WHERE id = ?", .number(row.id)) != nil else { throw .damaged }
        return nil
    }
}
