/// The journal's tables.
enum JournalLayout {
    /// "InfB", in the header of the file.
    static let applicationID = 0x496E_6642
    static let version = 2

    /// The bytes that represent ``OutcomeClass``. The table `class` names the failures, from 2 to 254.
    static let success: UInt8 = 0
    static let duplicate: UInt8 = 1
    static let failures: ClosedRange<UInt8> = 2...254
    /// No outcome yet. Never stored.
    static let missing: UInt8 = 255

    /// Returns numbers as they are stored: 4 bytes each, least significant byte first.
    static func bytes(_ numbers: [UInt32]) -> [UInt8] {
        numbers.flatMap { number in [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> ($0 as UInt32)) } }
    }

    /// Returns stored numbers. Bytes that are not a whole number at the end are left out.
    static func numbers(_ bytes: [UInt8]) -> [UInt32] {
        (0..<bytes.count / 4).map { index in
            (0..<4).reduce(0) { $0 | UInt32(bytes[4 * index + $1]) << UInt32(8 * $1) }
        }
    }

    static let statements = [
        // The options that affect the output.
        "CREATE TABLE option (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        // row_count is NULL until the end of the input was read.
        "CREATE TABLE input (number INTEGER PRIMARY KEY, name TEXT NOT NULL, identity TEXT NOT NULL, row_count INTEGER)",
        // The digests of 4,096 rows, 4 bytes each, least significant byte first. The last block of an input may be
        // shorter.
        "CREATE TABLE block (input INTEGER, number INTEGER, digests BLOB NOT NULL, PRIMARY KEY (input, number))",
        "CREATE TABLE class (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        // The ended rows of open shards, and of finished ones that are being replaced.
        """
        CREATE TABLE row (number INTEGER PRIMARY KEY, class INTEGER NOT NULL, message TEXT, host TEXT NOT NULL, \
        original INTEGER, width INTEGER, height INTEGER, original_width INTEGER, original_height INTEGER, exif TEXT, \
        sha256 BLOB, size INTEGER, offset INTEGER, sum INTEGER)
        """,
        // One byte per row in `classes`. In `images`, 4 bytes per row, least significant byte first: the block of the
        // archive at which its image begins, or 0. Empty without an archive.
        "CREATE TABLE shard (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, "
            + "classes BLOB NOT NULL, images BLOB NOT NULL)",
        "CREATE TABLE failure (shard INTEGER, host TEXT, class INTEGER, count INTEGER NOT NULL, "
            + "PRIMARY KEY (shard, host, class)) WITHOUT ROWID",
        // The row that stores each body. Only filled if equal bodies are stored once.
        "CREATE TABLE content (sha256 BLOB PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID",
        handover,
    ]

    /// The finished shards whose files were handed over, as they are.
    private static let handover = "CREATE TABLE handover (shard INTEGER PRIMARY KEY)"

    /// The tables of version 1, whose rows lack the checksums of staged images.
    static let firstStatements = statements.filter { $0 != handover }.map { statement in
        statement.hasPrefix("CREATE TABLE row ") ? String(statement.dropLast(", sum INTEGER)".count)) + ")" : statement
    }

    /// Makes a journal of version 1 one of version 2. SQLite then has the statement of `row` as it is in `statements`.
    static let upgrade = "ALTER TABLE row ADD COLUMN sum INTEGER; \(handover); PRAGMA user_version = 2"
}
