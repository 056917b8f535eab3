import Glibc
import InflightSQLite
import InflightTestSupport
import Testing

/// SQLite's write-ahead log through the VFS that limits it and gathers its frames.
@Suite("Write-ahead log", .timeLimit(.minutes(10)))
struct LogTests {
    private static func database(_ folder: Folder, _ mode: Database.Mode = .making) throws -> Database {
        let database = try Database(path: folder.appending("index.sqlite"), mode: mode, waitingAtMost: 5000)
        // A cache this small writes pages to the log before the end of a transaction, and some of them twice.
        try database.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 8")
        return database
    }

    /// Returns the contents by number.
    private static func contents(_ database: Database) throws -> [Int64: [UInt8]] {
        var found: [Int64: [UInt8]] = [:]
        try database.query("SELECT id, bytes FROM item") { (row: borrowing Row) throws(DatabaseError) in
            found[row.number(0)] = row.bytes(1)
            return true
        }
        return found
    }

    @Test(
        "Each commit is in the files whole, whatever was written twice, rolled back or checkpointed before",
        arguments: UInt64(0)..<8)
    func commits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (folder, copy) = (Folder(), Folder())
        folder.write("index.sqlite", [])
        copy.write("index.sqlite", [])
        let writers = [try Self.database(folder), try Self.database(folder)]
        try writers[0].run("CREATE TABLE item (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")
        var expected: [Int64: [UInt8]] = [:]
        for _ in 0..<60 {
            let writer = writers[Int.random(in: 0...1, using: &random)]
            var changed = expected
            try writer.run("BEGIN IMMEDIATE")
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                let id = Int64.random(in: 0..<40, using: &random)
                let byte = UInt8.random(in: 0...255, using: &random)
                let bytes = [UInt8](repeating: byte, count: Int.random(in: 0..<9000, using: &random))
                try writer.change("INSERT OR REPLACE INTO item VALUES (?, ?)", .number(id), .bytes(bytes))
                changed[id] = bytes
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                try writer.run("ROLLBACK")
            } else {
                try writer.run("COMMIT")
                expected = changed
            }
            if Int.random(in: 0..<6, using: &random) == 0 { try writer.checkpoint(.restart) }
            #expect(try Self.contents(writers[0]) == expected)
            #expect(try Self.contents(writers[1]) == expected)
            // The files as a kill now would leave them: SQLite reads the log by its checksums.
            for name in ["index.sqlite", "index.sqlite-wal"] { copy.write(name, folder.read(name)) }
            unsafe unlink(copy.appending("index.sqlite-shm"))
            #expect(try Self.contents(Self.database(copy, .writing)) == expected)
        }
    }
}
