internal import InflightSQLite

/// The journal of a batch run: an SQLite database in the output folder, from which a killed run resumes.
///
/// - Rows of open shards are recorded as they end. ``commit()`` makes them survive the end of the process. Call it
///   before a staged file may be relied upon: what was recorded since is lost if the process is killed.
/// - A finished shard replaces the records of its rows in one transaction. It survives a power cut, together with
///   everything that was recorded before. The images of recorded rows in open shards may not: nothing synchronizes
///   staged files. Their rows have checksums, with which ``StagingFolder`` finds those that are lost.
/// - A journal of an earlier version is read as it is, and gets this version's tables when a run continues.
/// - A lock beside the journal excludes other runs until the journal is released.
/// - The index of URLs for ``RowOutcome/duplicate(of:)`` is not in the journal. It is built again when the input is
///   read again.
///
/// After an error, no more is recorded, and every call that records throws the same error. For one thread at a time.
package final class Journal {
    /// The longest row, in bytes: the classes and images of the largest shard.
    private static let rowLimit = Int32(5 * ShardLayout.maximumShardSize + (1 << 20))
    /// How long to wait for a lock of a program that reads the journal, in milliseconds.
    private static let busyTimeout: Int32 = 5000
    /// The number of rows after which ``record(_:)`` commits by itself.
    private static let batchLimit = 1000
    /// The option that holds the number of rows in a shard.
    private static let shardSizeOption = "shard-size"
    /// The option of runs whose sidecars have the class of a failure. Not compared: a run keeps what it began with.
    private static let errorClassOption = "error-class"

    /// The shards that are complete on disk.
    package private(set) var finishedShards = ShardSet()
    /// Those of them whose files were handed over, and may not be in the folder any more.
    package private(set) var handedOverShards = ShardSet()
    /// The options of the run.
    package let options: [String: String]

    /// The connection, until the journal is closed.
    private var openDatabase: Database?
    let folder: String
    private var lock: JournalLock?
    let layout: ShardLayout
    private var failure: BatchFailure?
    private var log = DigestLog()
    private var pendingCount = 0
    private(set) var classes = ClassTable()
    /// The columns of a row as ``row(_:)`` reads them. The last one is the checksum, which version 1 lacks.
    private let rowColumns: String

    /// Opens the journal of a run, or creates it in an empty or a new folder.
    ///
    /// - Parameters:
    ///   - folder: The output folder. Its parent must exist.
    ///   - options: The options that affect the output, by their names, with their values as text.
    ///   - layout: The division of rows into shards. The size of a shard is compared as the option `shard-size`.
    /// - Throws: ``BatchFailure``, in particular if another run has the folder or the options differ. A folder that
    ///   has no journal and is not empty is not changed.
    package convenience init(
        folder: String, options: [String: String], layout: ShardLayout
    ) throws(BatchFailure) {
        var options = options
        options[Self.shardSizeOption] = String(layout.shardSize)
        let place = try JournalFolder(folder, creates: true)
        _ = try place.hasJournal()
        let lock = try JournalLock(place)
        // Another run may have created it before this one had the lock.
        if !(try place.hasJournal()) {
            try place.makeJournal(options: options.merging([Self.errorClassOption: "yes"]) { $1 })
        }
        try self.init(place, .writing, lock)
        options[Self.errorClassOption] = self.options[Self.errorClassOption]
        let changes = Set(options.keys).union(self.options.keys).sorted().filter { options[$0] != self.options[$0] }
        guard changes.isEmpty else {
            throw .journal(
                .changedOptions(
                    folder, changes.map { .init(name: $0, old: self.options[$0], new: options[$0]) }))
        }
    }

    /// Opens the journal of a run to read it, also while the run writes.
    package convenience init(reading folder: String) throws(BatchFailure) {
        let place = try JournalFolder(folder, creates: false)
        do throws(BatchFailure) {
            guard try place.hasJournal() else { throw .journal(.missing(folder)) }
        } catch {
            if case .journal(.foreignFolder) = error { throw .journal(.missing(folder)) }
            throw error
        }
        try self.init(place, .reading, nil)
    }

    private init(_ place: JournalFolder, _ mode: Database.Mode, _ lock: JournalLock?) throws(BatchFailure) {
        folder = place.named
        self.lock = lock
        do throws(DatabaseError) {
            let database = try Database(
                path: place.journal, mode: mode, rowLimit: Self.rowLimit, waitingAtMost: Self.busyTimeout)
            openDatabase = database
            let version: Int
            (options, layout, version) = try Self.checked(database)
            rowColumns = version == 1 && mode == .reading ? "*, NULL" : "*"
            if mode == .writing {
                if version == 1 {
                    // The checkpoint lets an earlier version of the program tell why it cannot read the journal.
                    try database.run("BEGIN IMMEDIATE; \(JournalLayout.upgrade); COMMIT; PRAGMA wal_checkpoint")
                }
                try database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
                try database.run("PRAGMA journal_size_limit = 67108864")
            }
            // A reader too: otherwise it would leave an empty log behind.
            database.copiesLogWhenClosed()
            try load(hasHandOvers: version > 1 || mode == .writing)
        } catch {
            throw .journal(JournalError(error, place.named))
        }
    }

    private static func checked(
        _ database: Database
    ) throws(DatabaseError) -> ([String: String], ShardLayout, version: Int) {
        var problem = "no answer"
        try database.query("PRAGMA quick_check(1)") { (row: borrowing Row) throws(DatabaseError) in
            problem = row.text(0)
            return false
        }
        guard problem == "ok" else { throw DatabaseError(code: DatabaseError.damaged.code, text: problem) }
        var tables: Set<String> = []
        try database.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100") {
            (row: borrowing Row) throws(DatabaseError) in
            tables.insert(row.text(0))
            return true
        }
        let isFirst = tables == Set(JournalLayout.firstStatements)
        guard isFirst || tables == Set(JournalLayout.statements) else {
            throw DatabaseError(code: DatabaseError.damaged.code, text: "its tables are not those of a journal")
        }
        var options: [String: String] = [:]
        try database.query("SELECT name, value FROM option") { (row: borrowing Row) throws(DatabaseError) in
            options[row.text(0)] = row.text(1)
            return true
        }
        guard let size = options[shardSizeOption].flatMap({ Int($0) }), let layout = ShardLayout(shardSize: size)
        else { throw .damaged }
        return (options, layout, isFirst ? 1 : JournalLayout.version)
    }

    private func load(hasHandOvers: Bool) throws(DatabaseError) {
        classes = try ClassTable(database)
        for number in try database.numbers("SELECT number FROM shard ORDER BY number") {
            finishedShards.insert(Int(number))
        }
        guard hasHandOvers else { return }
        for number in try database.numbers("SELECT shard FROM handover ORDER BY shard") {
            handedOverShards.insert(Int(number))
        }
    }

    var database: Database {
        guard let openDatabase else { preconditionFailure("a journal was used after it was closed") }
        return openDatabase
    }

    /// Closes the journal, and lets other runs use the folder. Unless another program reads it, SQLite's log is copied
    /// into the journal and removed, so that the one file is all of it. Call nothing afterwards.
    package func close() {
        openDatabase = nil
        lock = nil
    }

    // MARK: Input

    /// Whether the sidecars of the run have the class of a failure. All rows of a run have the same columns.
    var hasErrorClass: Bool { options[Self.errorClassOption] != nil }

    /// Returns the inputs, in the order of the run.
    package func inputs() throws(BatchFailure) -> [JournalInput] {
        try inDatabase { () throws(DatabaseError) in
            var inputs: [JournalInput] = []
            try database.query("SELECT name, identity, row_count FROM input ORDER BY number") {
                (row: borrowing Row) throws(DatabaseError) in
                inputs.append(JournalInput(name: row.text(0), identity: row.text(1), rowCount: row.integer(2)))
                return true
            }
            return inputs
        }
    }

    /// Records an input, or replaces it. Call it again when its end was read.
    package func record(_ input: JournalInput, number: Int) throws(BatchFailure) {
        try changing { () throws(DatabaseError) in
            try database.change(
                "INSERT OR REPLACE INTO input VALUES (?, ?, ?, ?)", .number(Int64(number)), .text(input.name),
                .text(input.identity), Value(input.rowCount))
        }
    }

    /// Returns the number of rows of an input whose digests were recorded.
    package func recordedCount(ofInput input: Int) throws(BatchFailure) -> Int {
        try inDatabase { () throws(DatabaseError) in try log.count(input, in: database) }
    }

    /// Returns the recorded digests of a block of an input, at most ``DigestLog/blockLength``.
    package func digests(ofInput input: Int, block: Int) throws(BatchFailure) -> [UInt32] {
        try inDatabase { () throws(DatabaseError) in try log.digests(input, block, in: database) }
    }

    /// Records the digest of an input's next row. Call it before recording the outcome of that row.
    package func record(_ digest: UInt32, ofInput input: Int) throws(BatchFailure) {
        try changing { () throws(DatabaseError) in
            try log.append(digest, input, in: database)
        }
    }

    // MARK: Rows

    /// Records the end of a row. A row that was recorded before is replaced.
    package func record(_ row: JournalRow) throws(BatchFailure) {
        try changing { () throws(DatabaseError) in
            var (code, size, offset, sum) = (JournalLayout.success, nil as Int?, nil as Int?, nil as UInt64?)
            var (message, original) = (nil as String?, nil as Int?)
            var image = ImageRecord()
            switch row.outcome {
            case .success(let staged):
                image = staged.record
                (size, offset, sum) = (Int(staged.size), Int(staged.offset), staged.sum)
            case .failure(let name, let text): (code, message) = (try classes.code(name, in: database), text)
            case .duplicate(let number): (code, original) = (JournalLayout.duplicate, number)
            }
            try database.change(
                "INSERT OR REPLACE INTO row VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                .number(Int64(row.number)), .number(Int64(code)), Value(message), .text(row.host), Value(original),
                Value(image.width),
                Value(image.height), Value(image.originalWidth), Value(image.originalHeight), Value(image.exif),
                image.sha256.map { Value.bytes($0.bytes) } ?? .null, Value(size), Value(offset),
                Value(sum.map { Int(truncatingIfNeeded: $0) }))
            pendingCount += 1
        }
        if pendingCount >= Self.batchLimit { try commit() }
    }

    /// Removes the records of rows, which have not ended any more, and of their duplicates: another fetch may bring
    /// other bodies. Takes time in proportion to the number of all rows.
    package func forget(_ rows: Set<Int>) throws(BatchFailure) {
        let numbers = rows.map(String.init).joined(separator: ",")
        try changing { () throws(DatabaseError) in
            try database.run("DELETE FROM row WHERE number IN (\(numbers)) OR original IN (\(numbers))")
            try database.run("DELETE FROM content WHERE row IN (\(numbers))")
        }
    }

    /// Makes everything recorded so far survive the end of the process. After a power cut, the latest commits may be
    /// missing, but never a finished shard.
    package func commit() throws(BatchFailure) {
        if let failure { throw failure }
        guard database.isInTransaction else { return }
        try changing { () throws(DatabaseError) in
            try log.write(in: database)
            try database.run("COMMIT")
            pendingCount = 0
        }
    }

    /// Returns the ended rows of a shard that is open, or is being replaced, in their order.
    package func rows(of shard: Int) throws(BatchFailure) -> [JournalRow] {
        let rows = layout.rows(of: shard)
        return try inDatabase { () throws(DatabaseError) in
            var found: [JournalRow] = []
            try database.query(
                "SELECT \(rowColumns) FROM row WHERE number >= ? AND number < ? ORDER BY number",
                .number(Int64(rows.lowerBound)), .number(Int64(rows.upperBound))
            ) { (row: borrowing Row) throws(DatabaseError) in
                found.append(try self.row(row))
                return true
            }
            return found
        }
    }

    /// Returns an ended row of a shard that is open, or is being replaced.
    package func row(_ number: Int) throws(BatchFailure) -> JournalRow? {
        try inDatabase { () throws(DatabaseError) in
            var found: JournalRow?
            try database.query("SELECT \(rowColumns) FROM row WHERE number = ?", .number(Int64(number))) {
                (row: borrowing Row) throws(DatabaseError) in
                found = try self.row(row)
                return false
            }
            return found
        }
    }

    private func row(_ row: borrowing Row) throws(DatabaseError) -> JournalRow {
        let outcome: RowOutcome<StagedImage>
        switch try self.classes.outcomeClass(UInt8(truncatingIfNeeded: row.number(1))) {
        case .success:
            var image = ImageRecord()
            (image.width, image.height) = (row.integer(5), row.integer(6))
            (image.originalWidth, image.originalHeight) = (row.integer(7), row.integer(8))
            image.exif = row.isNull(9) ? nil : row.text(9)
            image.sha256 = ContentDigest(row.bytes(10))
            let sum = row.isNull(13) ? nil : UInt64(bitPattern: row.number(13))
            outcome = .success(
                StagedImage(offset: row.number(12), size: row.number(11), sum: sum, record: image))
        case .duplicate:
            guard let original = row.integer(4) else { throw .damaged }
            outcome = .duplicate(of: original)
        case .failure(let name): outcome = .failure(class: name, message: row.text(2))
        }
        return JournalRow(number: Int(row.number(0)), host: row.text(3), outcome: outcome)
    }

    // MARK: Shards

    /// Records that a shard is complete on disk, and removes the records of its rows. Returns once this survives a
    /// power cut.
    ///
    /// A shard that was finished before is replaced: rows without a new outcome keep their class. So `retry` records
    /// only the rows that it fetches, and the last shard of an input that has grown records only its new rows.
    ///
    /// - Parameters:
    ///   - shard: The number of the shard.
    ///   - rows: Its rows, as in ``ShardBook/Action``.
    ///   - images: The blocks of its archive at which the images of its rows begin, 0 for rows without one. Empty
    ///     without an archive.
    package func finish(_ shard: Int, rows: Range<Int>, images: [UInt32] = []) throws(BatchFailure) {
        var missing: Int?
        try durably { () throws(DatabaseError) in
            missing = try replaceRows(rows, by: shard, images)
            try database.run(missing == nil ? "COMMIT" : "ROLLBACK")
        }
        if let missing { throw .journal(.incomplete(folder, shard: shard, row: missing)) }
        finishedShards.insert(shard)
        handedOverShards = handedOverShards.subtracting([shard])
    }

    /// Records that the files of a finished shard were handed over. Returns once this survives a power cut.
    func handOver(_ shard: Int) throws(BatchFailure) {
        try durably { () throws(DatabaseError) in
            try database.change("INSERT OR REPLACE INTO handover VALUES (?)", .number(Int64(shard)))
            try database.run("COMMIT")
        }
        handedOverShards.insert(shard)
    }

    /// Commits, then runs a transaction that `body` ends, and that survives a power cut.
    private func durably(_ body: () throws(DatabaseError) -> Void) throws(BatchFailure) {
        try commit()
        try inDatabase { () throws(DatabaseError) in try database.run("PRAGMA synchronous = FULL") }
        try changing(body)
        try inDatabase { () throws(DatabaseError) in try database.run("PRAGMA synchronous = NORMAL") }
    }

    private struct FailureKey: Hashable {
        var host: String
        var code: UInt8
    }

    /// Returns a row without an outcome, if there is one.
    private func replaceRows(_ rows: Range<Int>, by shard: Int, _ images: [UInt32]) throws(DatabaseError) -> Int? {
        var classes = Array(try storedShard(shard)?.classes.prefix(rows.count) ?? [])
        classes += repeatElement(JournalLayout.missing, count: rows.count - classes.count)
        var ended: [(index: Int, host: String, code: UInt8, original: Int)] = []
        let (first, end) = (Value.number(Int64(rows.lowerBound)), Value.number(Int64(rows.upperBound)))
        try database.query("SELECT number, host, class, original FROM row WHERE number >= ? AND number < ?", first, end)
        {
            (row: borrowing Row) throws(DatabaseError) in
            let code = UInt8(truncatingIfNeeded: row.number(2))
            ended.append((Int(row.number(0)) - rows.lowerBound, row.text(1), code, Int(row.number(3))))
            return true
        }
        // The changes of the numbers of failures.
        var changes: [FailureKey: Int] = [:]
        for (index, host, code, original) in ended {
            var code = code
            if code == JournalLayout.duplicate, let found = try self.code(ofRow: original),
                JournalLayout.failures.contains(found)
            {
                code = found
            }
            if JournalLayout.failures.contains(classes[index]) {
                changes[FailureKey(host: host, code: classes[index]), default: 0] -= 1
            }
            if JournalLayout.failures.contains(code) { changes[FailureKey(host: host, code: code), default: 0] += 1 }
            classes[index] = code
        }
        if let index = classes.firstIndex(of: JournalLayout.missing) { return rows.lowerBound + index }
        try database.change(
            "INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?, ?)", .number(Int64(shard)), first,
            .number(Int64(rows.count)), .bytes(classes),
            .bytes(JournalLayout.bytes(images)))
        for (key, change) in changes where change != 0 {
            try database.change(
                "INSERT INTO failure VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                .number(Int64(shard)), .text(key.host), .number(Int64(key.code)), .number(Int64(change)))
        }
        try database.change("DELETE FROM failure WHERE shard = ? AND count <= 0", .number(Int64(shard)))
        try database.change("DELETE FROM row WHERE number >= ? AND number < ?", first, end)
        try database.change("DELETE FROM handover WHERE shard = ?", .number(Int64(shard)))
        return nil
    }

    /// Returns the class of a row, or of the row that it is a duplicate of, if the journal has it.
    private func code(ofRow row: Int) throws(DatabaseError) -> UInt8? {
        var row = row
        while true {
            var (code, original) = (nil as UInt8?, row)
            try database.query("SELECT class, original FROM row WHERE number = ?", .number(Int64(row))) {
                (record: borrowing Row) throws(DatabaseError) in
                (code, original) = (UInt8(truncatingIfNeeded: record.number(0)), Int(record.number(1)))
                return false
            }
            // A duplicate is of an earlier row, so that this ends.
            if code == JournalLayout.duplicate, original < row {
                row = original
                continue
            }
            if code != nil { return code }
            let position = layout.position(of: row)
            try database.query(
                "SELECT substr(classes, ?, 1) FROM shard WHERE number = ?", .number(Int64(position.index + 1)),
                .number(Int64(position.shard))
            ) { (record: borrowing Row) throws(DatabaseError) in
                code = record.bytes(0).first
                return false
            }
            return code
        }
    }

    /// Returns a finished shard, or `nil`.
    package func finishedShard(_ shard: Int) throws(BatchFailure) -> FinishedShard? {
        try inDatabase { () throws(DatabaseError) -> FinishedShard? in
            guard let stored = try storedShard(shard) else { return nil }
            var classes: [OutcomeClass] = []
            for code in stored.classes { classes.append(try self.classes.outcomeClass(code)) }
            return FinishedShard(rows: stored.first..<(stored.first + classes.count), classes: classes)
        }
    }

    /// Returns a row of a finished shard, or `nil`. Takes much less time than ``finishedShard(_:)``.
    package func finishedRow(_ row: Int) throws(BatchFailure) -> FinishedRow? {
        let position = layout.position(of: row)
        return try inDatabase { () throws(DatabaseError) in
            var found: (code: UInt8, image: [UInt8])?
            try database.query(
                "SELECT substr(classes, ?, 1), substr(images, ?, 4) FROM shard WHERE number = ? AND count > ?",
                .number(Int64(position.index + 1)), .number(Int64(4 * position.index + 1)),
                .number(Int64(position.shard)), .number(Int64(position.index))
            ) { (record: borrowing Row) throws(DatabaseError) in
                guard let code = record.bytes(0).first else { throw .damaged }
                found = (code, record.bytes(1))
                return false
            }
            guard let found else { return nil }
            return FinishedRow(
                outcomeClass: try classes.outcomeClass(found.code),
                imageBlock: JournalLayout.numbers(found.image).first { $0 != 0 })
        }
    }

    private func storedShard(_ shard: Int) throws(DatabaseError) -> (first: Int, classes: [UInt8])? {
        var found: (first: Int, classes: [UInt8])?
        try database.query("SELECT first, count, classes FROM shard WHERE number = ?", .number(Int64(shard))) {
            (row: borrowing Row) throws(DatabaseError) in
            let classes = row.bytes(2)
            guard classes.count == Int(row.number(1)), Int(row.number(0)) == layout.rows(of: shard).lowerBound else {
                throw .damaged
            }
            found = (Int(row.number(0)), classes)
            return false
        }
        return found
    }

    // MARK: Bodies

    /// Returns the row that stores a body, or `nil`.
    package func row(withContent digest: ContentDigest) throws(BatchFailure) -> Int? {
        try inDatabase { () throws(DatabaseError) in
            try database.number("SELECT row FROM content WHERE sha256 = ?", .bytes(digest.bytes)).map { Int($0) }
        }
    }

    /// Records the row that stores a body. Of two rows, the first in the input remains.
    package func record(_ digest: ContentDigest, storedInRow row: Int) throws(BatchFailure) {
        try changing { () throws(DatabaseError) in
            try database.change(
                "INSERT INTO content VALUES (?, ?) ON CONFLICT DO UPDATE SET row = min(row, excluded.row)",
                .bytes(digest.bytes), .number(Int64(row)))
        }
    }

    // MARK: Errors

    /// Runs `body` in the open transaction, or in a new one. After an error, the transaction is rolled back.
    private func changing(_ body: () throws(DatabaseError) -> Void) throws(BatchFailure) {
        if let failure { throw failure }
        do throws(DatabaseError) {
            if !database.isInTransaction { try database.run("BEGIN IMMEDIATE") }
            try body()
        } catch {
            if database.isInTransaction { try? database.run("ROLLBACK") }
            let failure = BatchFailure.journal(JournalError(error, folder))
            self.failure = failure
            throw failure
        }
    }

    func inDatabase<Result>(_ body: () throws(DatabaseError) -> Result) throws(BatchFailure) -> Result {
        do throws(DatabaseError) {
            return try body()
        } catch {
            throw .journal(JournalError(error, folder))
        }
    }
}

extension Row {
    /// Returns a column as an integer, or `nil` if it is NULL.
    fileprivate borrowing func integer(_ column: Int32) -> Int? { isNull(column) ? nil : Int(number(column)) }
}

extension Value {
    fileprivate init(_ number: Int?) { self = number.map { Value.number(Int64($0)) } ?? .null }

    fileprivate init(_ text: String?) { self = text.map { Value.text($0) } ?? .null }
}
