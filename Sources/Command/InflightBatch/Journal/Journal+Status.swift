internal import InflightSQLite

/// The rows of a run, counted by outcome.
package struct JournalSummary: Hashable, Sendable {
    /// The number of rows with an image.
    package var successes = 0
    /// The number of rows with the image of another row.
    package var duplicates = 0
    /// The number of failed rows.
    package var failures = 0
    /// The number of finished shards.
    package var finishedShards = 0
    /// The number of rows that have ended in open shards. They are in the counts above, too.
    package var openRows = 0

    /// Creates counts, by default of a run without rows.
    package init(
        successes: Int = 0, duplicates: Int = 0, failures: Int = 0, finishedShards: Int = 0, openRows: Int = 0
    ) {
        self.successes = successes
        self.duplicates = duplicates
        self.failures = failures
        self.finishedShards = finishedShards
        self.openRows = openRows
    }
}

/// The number of failed rows of one class and host.
package struct FailureCount: Hashable, Sendable {
    /// The class of the failures.
    package var failureClass: String
    /// The host.
    package var host: String
    /// The number of rows.
    package var count: Int
}

extension Journal {
    /// All failures. A row of a finished shard that is being replaced counts when the shard is finished again.
    private static let failures = """
        (SELECT class, host, count FROM failure UNION ALL SELECT class, host, count(*) AS count FROM row \
        WHERE class >= 2 AND number / ?1 NOT IN (SELECT number FROM shard) GROUP BY class, host)
        """

    /// Counts the rows. Takes time in proportion to their number.
    package func summary() throws(BatchFailure) -> JournalSummary {
        try inDatabase { () throws(DatabaseError) in
            var summary = JournalSummary()
            func add(_ code: UInt8, _ count: Int) {
                switch code {
                case JournalLayout.success: summary.successes += count
                case JournalLayout.duplicate: summary.duplicates += count
                default: summary.failures += count
                }
            }
            // One statement, so that it sees one state of a run that writes meanwhile.
            try database.query(
                "SELECT classes, 0, 0 FROM shard UNION ALL SELECT NULL, class, count(*) FROM row "
                    + "WHERE number / ? NOT IN (SELECT number FROM shard) GROUP BY class",
                .number(Int64(layout.shardSize))
            ) { (row: borrowing Row) throws(DatabaseError) in
                if row.isNull(0) {
                    add(UInt8(truncatingIfNeeded: row.number(1)), Int(row.number(2)))
                    summary.openRows += Int(row.number(2))
                } else {
                    summary.finishedShards += 1
                    for code in row.bytes(0) { add(code, 1) }
                }
                return true
            }
            return summary
        }
    }

    /// Returns the shards that were handed over, and whose files are not in the folder any more.
    package func absentShards() throws(BatchFailure) -> ShardSet {
        if handedOverShards.count == 0 { return ShardSet() }
        guard let layout = ShardLayout(of: self) else { return ShardSet() }
        return handedOverShards.absent(try OutputFolder.names(in: folder), layout)
    }

    /// Returns the failures by class and host, the most frequent first.
    ///
    /// - Parameter limit: The maximum number of groups.
    package func failures(limit: Int = 1000) throws(BatchFailure) -> [FailureCount] {
        try inDatabase { () throws(DatabaseError) in
            var counts: [FailureCount] = []
            try database.query(
                "SELECT class, host, sum(count) AS total FROM \(Self.failures) GROUP BY class, host "
                    + "ORDER BY total DESC, class, host LIMIT ?2", .number(Int64(layout.shardSize)),
                .number(Int64(limit))
            ) { (row: borrowing Row) throws(DatabaseError) in
                let name = try failureName(row.number(0))
                counts.append(FailureCount(failureClass: name, host: row.text(1), count: Int(row.number(2))))
                return true
            }
            return counts
        }
    }

    /// Returns the number of failures of each class.
    package func failuresByClass() throws(BatchFailure) -> [String: Int] {
        try inDatabase { () throws(DatabaseError) in
            var counts: [String: Int] = [:]
            try database.query(
                "SELECT class, sum(count) FROM \(Self.failures) GROUP BY class", .number(Int64(layout.shardSize))
            ) { (row: borrowing Row) throws(DatabaseError) in
                counts[try failureName(row.number(0))] = Int(row.number(1))
                return true
            }
            return counts
        }
    }

    /// Returns the finished shards that have failures of these classes, for `retry`.
    package func finishedShards(withFailures names: Set<String>) throws(BatchFailure) -> [Int] {
        try inDatabase { () throws(DatabaseError) in
            var shards: Set<Int> = []
            try database.query("SELECT DISTINCT shard, class FROM failure") {
                (row: borrowing Row) throws(DatabaseError) in
                if names.contains(try failureName(row.number(1))) { shards.insert(Int(row.number(0))) }
                return true
            }
            return shards.sorted()
        }
    }

    private func failureName(_ code: Int64) throws(DatabaseError) -> String {
        guard let code = UInt8(exactly: code), case .failure(let name) = try classes.outcomeClass(code) else {
            throw .damaged
        }
        return name
    }
}
