internal import InflightSQLite

/// A key-value table in an unnamed database. SQLite writes what exceeds its cache to a file that it unlinks before the
/// first write, so that nothing remains however the process ends.
///
/// The file is in SQLite's folder for temporary files: `SQLITE_TMPDIR`, `TMPDIR`, `/var/tmp` or `/tmp`. For one thread
/// at a time.
package final class TemporaryTable {
    private let database: Database

    /// - Parameter maximumPages: The maximum number of pages of 4 KiB; if nil, there is no limit.
    package init(maximumPages: Int? = nil) throws {
        database = try Database(path: "", mode: .making, fileSystem: "unix", waitingAtMost: 0)
        if let maximumPages { try database.run("PRAGMA max_page_count = \(maximumPages)") }
        try database.run("CREATE TABLE entry (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    }

    package func value(of key: [UInt8]) throws -> [UInt8]? {
        try database.row("SELECT value FROM entry WHERE key = ?", .bytes(key)) { $0.bytes(0) }
    }

    /// Adds entries, replacing those with the same keys. Adds either all of them, or none if there is not enough space.
    package func set(_ entries: some Sequence<(key: [UInt8], value: [UInt8])>) throws {
        try database.run("BEGIN")
        do {
            // Sorted in the order of the table, so that each page is visited once.
            for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                try database.change("INSERT OR REPLACE INTO entry VALUES (?, ?)", .bytes(key), .bytes(value))
            }
            try database.run("COMMIT")
        } catch {
            if database.isInTransaction { try? database.run("ROLLBACK") }
            throw error
        }
    }
}
