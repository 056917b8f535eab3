internal import InflightSQLite

/// The one row of the table `cache`: the totals over all entries. Every transaction writes it, so that each log
/// identifies the cache that it belongs to.
struct IndexState: Hashable {
    /// The cache's unique identity, the seed of all its checksums.
    var identity: UInt64
    /// The number of the next entry.
    var next: Int64
    /// The rank of the entry evicted last, above which new entries start.
    var age: Int64
    var entries: Int64
    /// The number of entries with only a part of their body.
    var partial: Int64
    /// The number of entries with a file.
    var files: Int64
    /// The bytes that all files take or may take: those of entries, being written, or waiting for removal.
    var fileBytes: Int64
    /// The sum of the lengths of all bodies.
    var bodyBytes: Int64

    static func read(_ database: Database) throws(DatabaseError) -> IndexState {
        let state = try database.row(
            "SELECT identity, next, age, entries, partial, files, fileBytes, bodyBytes FROM cache WHERE id = 1"
        ) { row in
            IndexState(
                identity: row.word(0), next: row.number(1), age: row.number(2), entries: row.number(3),
                partial: row.number(4), files: row.number(5), fileBytes: row.number(6), bodyBytes: row.number(7))
        }
        guard let state, state.isPossible else { throw .damaged }
        return state
    }

    /// Whether no number is negative or so large that sums could overflow.
    private var isPossible: Bool {
        let most: Int64 = 1 << 60
        return next > 0 && next < .max - most && age >= 0 && age < most
            && [entries, partial, files, fileBytes, bodyBytes].allSatisfy { $0 >= 0 && $0 < most }
    }

    func write(_ database: Database) throws(DatabaseError) {
        try database.change(
            """
            UPDATE cache SET next = ?, age = ?, entries = ?, partial = ?, files = ?, fileBytes = ?, bodyBytes = ?
            WHERE id = 1
            """,
            .number(next), .number(age), .number(entries), .number(partial), .number(files), .number(fileBytes),
            .number(bodyBytes))
    }
}
