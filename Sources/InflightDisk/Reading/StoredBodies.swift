internal import InflightCore

/// Bodies that lie in the index.
enum StoredBodies {
    /// The bytes, where they are there, as long as they have to be, and those that were stored.
    static func read(
        _ row: EntryRow, identity: UInt64, in database: Database
    ) throws(DatabaseError) -> Bytes? {
        var body: Bytes?
        try database.query("SELECT bytes FROM body WHERE id = ?", .number(row.id)) {
            (found: borrowing Row) throws(DatabaseError) in
            body = unsafe found.withBytes(0) { memory in
                guard Int64(memory.count) == row.length, unsafe Checksum.of(memory, seed: identity) == row.sum else {
                    return nil
                }
                return unsafe Bytes(copying: memory)
            }
            return false
        }
        return body
    }
}
