internal import InflightCore
internal import InflightSQLite

/// One row of the table `entry` as it was read. It is untrusted until ``checked(identity:)``.
struct EntryRow: Hashable {
    var id: Int64
    var hash: Int64
    var rank: Int64
    var uses: Int64
    var stored: Int64
    /// The bytes that the entry's file takes or may take; 0 if the body is in the index.
    var room: Int64
    /// The number in the file's name, or 0.
    var file: Int64
    var length: Int64
    var sum: UInt64
    var seal: UInt64
    var record: [UInt8]

    static let columns = "id, hash, rank, uses, stored, room, file, length, sum, seal, record"

    var isInFile: Bool { file != 0 }

    init(_ row: borrowing Row) {
        id = row.number(0)
        hash = row.number(1)
        rank = row.number(2)
        uses = row.number(3)
        stored = row.number(4)
        room = row.number(5)
        file = row.number(6)
        length = row.number(7)
        sum = row.word(8)
        seal = row.word(9)
        record = row.bytes(10)
    }

    init(
        id: Int64, rank: Int64, uses: Int64 = 1, room: Int64, file: Int64, length: Int64, sum: UInt64,
        record: EntryRecord, identity: UInt64
    ) {
        self.id = id
        hash = Self.hash(of: record.key, identity: identity)
        self.rank = rank
        self.uses = uses
        stored = record.stored.milliseconds
        self.room = room
        self.file = file
        self.length = length
        self.sum = sum
        self.record = record.encoded()
        seal = 0
        seal = expectedSeal(identity: identity)
    }

    static func hash(of key: StoreKey, identity: UInt64) -> Int64 {
        Int64(bitPattern: XXH64.of(key.text, seed: identity))
    }

    /// Returns a checksum over everything that use does not change.
    func expectedSeal(identity: UInt64) -> UInt64 {
        var sum = XXH64(seed: identity)
        for word in [id, hash, stored, file, length, Int64(bitPattern: self.sum)] { sum.add(word) }
        sum.add(record)
        return sum.value
    }

    /// Returns the record, or nil if the row differs from what was written.
    func checked(identity: UInt64) -> EntryRecord? {
        guard seal == expectedSeal(identity: identity), length >= 0, let record = try? EntryRecord(record),
            Int64(record.response.bodyRange.count) == length, file == 0 || room >= length
        else { return nil }
        return record
    }

    func insert(_ database: Database) throws(DatabaseError) {
        try database.change(
            "INSERT INTO entry (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            .number(id), .number(hash), .number(rank), .number(uses), .number(stored), .number(room), .number(file),
            .number(length), .word(sum), .word(seal), .bytes(record))
    }

    /// Updates all columns but the id.
    func update(_ database: Database) throws(DatabaseError) {
        try database.change(
            """
            UPDATE entry SET hash = ?, rank = ?, uses = ?, stored = ?, room = ?, file = ?, length = ?, sum = ?,
                seal = ?, record = ? WHERE id = ?
            """,
            .number(hash), .number(rank), .number(uses), .number(stored), .number(room), .number(file),
            .number(length), .word(sum), .word(seal), .bytes(record), .number(id))
    }

    private static let selectByID = "SELECT \(columns) FROM entry WHERE id = ?"
    private static let selectByHash = "SELECT \(columns) FROM entry WHERE hash = ? ORDER BY id DESC LIMIT ?"

    static func find(_ id: Int64, in database: Database) throws(DatabaseError) -> EntryRow? {
        try database.row(selectByID, .number(id)) { EntryRow($0) }
    }

    /// The maximum number of rows read for one key, so that servers with endless variants do not slow down each lookup.
    static let variantLimit: Int64 = 64

    /// Returns the entries under a key's hash, newest first, at most ``variantLimit``.
    static func all(_ key: StoreKey, identity: UInt64, in database: Database) throws(DatabaseError) -> [EntryRow] {
        try database.rows(selectByHash, .number(hash(of: key, identity: identity)), .number(variantLimit)) {
            EntryRow($0)
        }
    }

    /// Calls `body` with the entries under a key's hash, newest first, at most ``variantLimit``. Other statements that
    /// `body` runs read the same snapshot.
    static func forEach(
        _ key: StoreKey, identity: UInt64, in database: Database, _ body: (EntryRow) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try database.query(selectByHash, .number(hash(of: key, identity: identity)), .number(variantLimit)) {
            (row: borrowing Row) throws(DatabaseError) in
            try body(EntryRow(row))
            return true
        }
    }
}
