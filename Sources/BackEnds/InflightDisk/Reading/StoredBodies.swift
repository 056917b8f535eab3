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

    /// The same for a row that was read in this snapshot: its body is there, unless the way to it is damaged.
    static func readBeside(
        _ row: EntryRow, identity: UInt64, in database: Database
    ) throws(DatabaseError) -> Bytes? {
        if let body = try read(row, identity: identity, in: database) { return body }
        guard try database.number("SELECT 1 FROM body WHERE id = ?", .number(row.id)) != nil else { throw .damaged }
        return nil
    }
}
