internal import InflightSQLite

/// The digests of the inputs' rows, in blocks of ``blockLength``.
///
/// The last block of each input is kept in memory. It is written when it is full, and by ``write(in:)``.
struct DigestLog {
    /// The number of rows in a block.
    static let blockLength = 4096

    private struct Tail {
        var block = 0
        var digests: [UInt32] = []
        var isWritten = true
    }

    private var tails: [Int: Tail] = [:]

    /// Returns the number of an input's digests.
    mutating func count(_ input: Int, in database: Database) throws(DatabaseError) -> Int {
        let tail = try tail(input, in: database)
        return tail.block * Self.blockLength + tail.digests.count
    }

    /// Returns a block of an input, empty behind the last one.
    func digests(_ input: Int, _ block: Int, in database: Database) throws(DatabaseError) -> [UInt32] {
        if let tail = tails[input], tail.block == block { return tail.digests }
        var digests: [UInt32] = []
        try database.query(
            "SELECT digests FROM block WHERE input = ? AND number = ?", .number(Int64(input)), .number(Int64(block))
        ) { (row: borrowing Row) throws(DatabaseError) in
            let bytes = row.bytes(0)
            guard bytes.count % 4 == 0, bytes.count <= 4 * Self.blockLength else { throw .damaged }
            digests = JournalLayout.numbers(bytes)
            return false
        }
        return digests
    }

    /// Appends a digest to those of an input.
    mutating func append(_ digest: UInt32, _ input: Int, in database: Database) throws(DatabaseError) {
        var tail = try tail(input, in: database)
        // The array is not copied when it has one owner.
        tails[input] = nil
        tail.digests.append(digest)
        tail.isWritten = false
        if tail.digests.count == Self.blockLength {
            try Self.write(tail, input, in: database)
            tail = Tail(block: tail.block + 1)
        }
        tails[input] = tail
    }

    /// Writes the last blocks of all inputs.
    mutating func write(in database: Database) throws(DatabaseError) {
        for (input, tail) in tails where !tail.isWritten {
            try Self.write(tail, input, in: database)
            tails[input]?.isWritten = true
        }
    }

    private mutating func tail(_ input: Int, in database: Database) throws(DatabaseError) -> Tail {
        if let tail = tails[input] { return tail }
        let count = try database.number("SELECT count(*) FROM block WHERE input = ?", .number(Int64(input))) ?? 0
        var tail = Tail(block: max(0, Int(count) - 1))
        if count > 0 {
            tail.digests = try digests(input, tail.block, in: database)
            guard !tail.digests.isEmpty else { throw .damaged }
            if tail.digests.count == Self.blockLength { tail = Tail(block: tail.block + 1) }
        }
        tails[input] = tail
        return tail
    }

    private static func write(_ tail: Tail, _ input: Int, in database: Database) throws(DatabaseError) {
        try database.change(
            "INSERT OR REPLACE INTO block VALUES (?, ?, ?)", .number(Int64(input)), .number(Int64(tail.block)),
            .bytes(JournalLayout.bytes(tail.digests)))
    }
}
