internal import CInflightSQLite

/// An error reported by SQLite.
package struct DatabaseError: Error, Hashable {
    /// The extended result code.
    package var code: Int32
    /// SQLite's description.
    package var text: String

    /// Creates an error with an extended result code.
    package init(code: Int32, text: String) {
        self.code = code
        self.text = text
    }

    private var primary: Int32 { code & 0xFF }

    /// Whether the bytes of the database are not those that SQLite wrote.
    package var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT }
    /// Whether the disk is full, or the database or its log has reached its limit.
    package var isFull: Bool { primary == SQLITE_FULL }
    /// Whether the file or its folder cannot be written or opened.
    package var isReadOnly: Bool { [SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN].contains(primary) }
    /// Whether the log has reached its limit.
    package var isLogFull: Bool { code == Self.logFull }
    /// `INFLIGHT_SQLITE_LOG_FULL`, a macro that Swift does not import.
    private static let logFull = SQLITE_FULL | (77 << 8)
    /// Whether another connection held a lock for longer than the busy timeout.
    package var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

    /// The contents of a row are invalid.
    package static let damaged = DatabaseError(code: SQLITE_CORRUPT, text: "a row has invalid contents")
}

/// A connection to an SQLite database, for one thread at a time.
// Unchecked: passed from thread to thread, never shared. Safe: the pointer does not escape this object.
@safe package final class Database: @unchecked Sendable {
    fileprivate let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The pages of the log after this connection's last commit, including other connections'; nil before its first.
    package fileprivate(set) var logPages: Int?

    /// SQLite's VFS with limits for logs. The name is nil, the default VFS, if it cannot be registered.
    // Safe: an immortal name, set once and never changed.
    @safe private struct LimitedFiles: @unchecked Sendable {
        let name = unsafe inflight_sqlite_register()
        static let shared = LimitedFiles()
    }

    /// The purpose of a connection.
    package enum Mode {
        /// Reads an existing database.
        case reading
        /// Reads and writes an existing database.
        case writing
        /// Like ``writing``, but creates the database if it does not exist.
        case making
        /// Reads an existing database without its log. Nothing may change it meanwhile.
        case alone
    }

    /// Opens a database. No component of its path may be a symbolic link.
    ///
    /// - Parameters:
    ///   - fileSystem: The name of SQLite's VFS; nil for the default one with limits for logs.
    ///   - rowLimit: The maximum length of a row, of a value in it, and of a statement, in bytes.
    ///   - milliseconds: How long to wait for a lock that another process holds.
    package init(
        path: String, mode: Mode, fileSystem: String? = nil, rowLimit: Int32 = 2 << 20,
        waitingAtMost milliseconds: Int32
    ) throws(DatabaseError) {
        var opened: OpaquePointer?
        // Readers open for writing too. SQLite lets only such a connection maintain the log's shared memory.
        let access =
            switch mode {
            case .reading, .writing: SQLITE_OPEN_READWRITE
            case .making: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .alone: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let path = mode == .alone ? Self.immutable(path) : path
        let status =
            if let fileSystem {
                unsafe sqlite3_open_v2(path, &opened, flags, fileSystem)
            } else {
                unsafe sqlite3_open_v2(path, &opened, flags, LimitedFiles.shared.name)
            }
        guard let opened = unsafe opened else {
            throw DatabaseError(code: SQLITE_NOMEM, text: "out of memory")
        }
        unsafe handle = opened
        guard status == SQLITE_OK else {
            let error = unsafe DatabaseError(opened)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe sqlite3_extended_result_codes(handle, 1)
        unsafe sqlite3_busy_timeout(handle, milliseconds)
        // A row's stated length must not make SQLite allocate that much memory.
        unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, rowLimit)
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // A foreign log must not be copied into this database. Enabled once the log is known to be ours.
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if mode == .reading { try run("PRAGMA query_only = 1") }
    }

    /// Returns the URI of a database that does not change, whose log SQLite does not read
    /// (https://www.sqlite.org/uri.html).
    private static func immutable(_ path: String) -> String {
        let escapes: [UInt8: String] = [UInt8(ascii: "%"): "%25", UInt8(ascii: "?"): "%3F", UInt8(ascii: "#"): "%23"]
        let escaped = path.utf8.flatMap { byte in escapes[byte].map { Array($0.utf8) } ?? [byte] }
        return "file:" + String(decoding: escaped, as: UTF8.self) + "?immutable=1"
    }

    deinit {
        statements.removeAll()
        unsafe sqlite3_close_v2(handle)
    }

    /// Sets whether this connection copies the log into the database and removes it if it is the last one to close.
    package func copiesLogWhenClosed(_ copies: Bool = true) {
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, copies ? 0 : 1)
    }

    /// Keeps ``logPages`` up to date. Call it after the last `wal_autocheckpoint`, which replaces the hook.
    package func countsLog() {
        let count: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
            database, _, _, pages in
            // Alive: called inside a commit of that connection.
            unsafe Unmanaged<Database>.fromOpaque(database!).takeUnretainedValue().logPages = Int(pages)
            return SQLITE_OK
        }
        unsafe sqlite3_wal_hook(handle, count, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Makes commits fail that would extend the log, of any writer, beyond `bytes` (``DatabaseError/isLogFull``).
    package func limitLog(to bytes: Int64) { unsafe inflight_sqlite_limit_log(handle, bytes) }

    /// Sets how long to wait for a lock that another process holds, in milliseconds.
    package func wait(atMost milliseconds: Int32) { unsafe sqlite3_busy_timeout(handle, milliseconds) }

    /// Runs statements without results.
    package func run(_ text: String) throws(DatabaseError) {
        guard unsafe sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw lastError }
    }

    /// Returns a prepared statement, cached after its first use.
    package func statement(_ text: String) throws(DatabaseError) -> Statement {
        if let known = statements[text] { return known }
        var made: OpaquePointer?
        let status = unsafe sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
        guard status == SQLITE_OK, let made = unsafe made else { throw lastError }
        let statement = unsafe Statement(made, database: self)
        statements[text] = statement
        return statement
    }

    /// Runs a cached statement and calls `row` for each row until it returns false.
    package func query(
        _ text: String, _ values: Value..., row: (borrowing Row) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) {
        try statement(text).run(values, row: row)
    }

    /// Runs a cached statement and returns what `read` makes of each row.
    package func rows<Result>(
        _ text: String, _ values: Value..., read: (borrowing Row) -> Result
    ) throws(DatabaseError) -> [Result] {
        try statement(text).rows(values, read: read)
    }

    /// Runs a cached statement and returns what `read` makes of the first row, or nil if there is none.
    package func row<Result>(
        _ text: String, _ values: Value..., read: (borrowing Row) -> Result
    ) throws(DatabaseError) -> Result? {
        try statement(text).rows(values, limit: 1, read: read).first
    }

    /// Runs a cached statement that returns no rows.
    package func change(_ text: String, _ values: Value...) throws(DatabaseError) {
        try statement(text).run(values) { (_: borrowing Row) throws(DatabaseError) in true }
    }

    /// Returns the first column of the first row as an integer, or nil if there is no row.
    package func number(_ text: String, _ values: Value...) throws(DatabaseError) -> Int64? {
        try statement(text).rows(values, limit: 1) { $0.number(0) }.first
    }

    /// Returns the first column of all rows.
    package func numbers(_ text: String, _ values: Value...) throws(DatabaseError) -> [Int64] {
        try statement(text).rows(values) { $0.number(0) }
    }

    /// Runs `body` with all of its reads from one snapshot.
    package func snapshot<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        try change("BEGIN")
        // A read transaction has nothing to commit that could fail.
        defer { try? change("COMMIT") }
        return try body()
    }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// The kinds of SQLite's checkpoints.
    package enum Checkpoint {
        case passive, restart, truncate
    }

    /// Copies the log into the database. `restart` and `truncate` wait for readers up to the connection's busy timeout.
    /// - Returns: Whether all of it was copied.
    @discardableResult
    package func checkpoint(_ kind: Checkpoint) throws(DatabaseError) -> Bool {
        let mode =
            switch kind {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var (all, copied): (Int32, Int32) = (0, 0)
        let status = unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, &all, &copied)
        if status & 0xFF == SQLITE_BUSY { return false }
        guard status == SQLITE_OK else { throw lastError }
        // The next commit restarts the log, unless a connection still reads it. That commit then updates the count.
        if all == copied { logPages = 0 }
        return all == copied
    }

    fileprivate var lastError: DatabaseError { unsafe DatabaseError(handle) }
}

extension DatabaseError {
    fileprivate init(_ handle: OpaquePointer) {
        code = unsafe sqlite3_extended_errcode(handle)
        text = unsafe String(cString: sqlite3_errmsg(handle))
    }
}

/// A value bound to a parameter of a statement.
package enum Value {
    case null
    case number(Int64)
    case text(String)
    case bytes([UInt8])
    /// Memory that the caller keeps until the statement has run.
    case memory(Memory)

    // Unchecked by the compiler: lives for one call. Safe: only SQLite reads it.
    @safe package struct Memory {
        fileprivate let bytes: UnsafeRawBufferPointer

        /// Refers to the bytes of a buffer.
        package init(_ bytes: UnsafeRawBufferPointer) {
            unsafe self.bytes = bytes
        }
    }

    /// Returns the same 64 bits as a signed number.
    package static func word(_ word: UInt64) -> Value { .number(Int64(bitPattern: word)) }
}

/// The current row of a statement, valid only during the call that receives it.
// Safe: it does not outlive the step that it represents.
@safe package struct Row: ~Copyable {
    fileprivate let statement: OpaquePointer

    /// Returns whether a column is NULL.
    package func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// Returns a column as an integer, 0 if it is NULL.
    package func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    /// Returns the same 64 bits as an unsigned number.
    package func word(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }

    /// Calls `body` with a column's bytes, which are valid until it returns.
    package func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    /// Returns a column's bytes, none if it is NULL.
    package func bytes(_ column: Int32) -> [UInt8] { unsafe withBytes(column) { unsafe [UInt8]($0) } }

    /// Returns a column as text, empty if it is NULL.
    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// A prepared statement.
// Safe: the pointer does not escape this object, and is released before its database.
@safe package final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    fileprivate init(_ handle: OpaquePointer, database: Database) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Runs the statement and calls `row` for each row until it returns false.
    package func run(
        _ values: [Value], row: (borrowing Row) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) {
        defer { unsafe sqlite3_reset(handle) }
        for (index, value) in values.enumerated() { bind(value, at: Int32(index + 1)) }
        // Bound memory belongs to `values`, which must live until the statement is reset.
        defer { extendLifetime(values) }
        while true {
            switch unsafe sqlite3_step(handle) {
            case SQLITE_ROW: if !(try unsafe row(Row(statement: handle))) { return }
            case SQLITE_DONE: return
            default: throw database.lastError
            }
        }
    }

    fileprivate func rows<Result>(
        _ values: [Value], limit: Int = .max, read: (borrowing Row) -> Result
    ) throws(DatabaseError) -> [Result] {
        var rows: [Result] = []
        try run(values) { (row: borrowing Row) throws(DatabaseError) in
            rows.append(read(row))
            return rows.count < limit
        }
        return rows
    }

    private func bind(_ value: Value, at position: Int32) {
        switch value {
        case .null: unsafe sqlite3_bind_null(handle, position)
        case .number(let number): unsafe sqlite3_bind_int64(handle, position, number)
        case .text(let text):
            // Copied, as bytes are. The pointer is not null for an empty text, which would bind NULL.
            unsafe sqlite3_bind_text64(
                handle, position, text, UInt64(text.utf8.count),
                unsafeBitCast(-1, to: sqlite3_destructor_type.self), UInt8(SQLITE_UTF8))
        case .bytes(let bytes):
            // Copied, since it is small and an array's storage may move.
            _ = unsafe bytes.withUnsafeBytes {
                unsafe sqlite3_bind_blob64(
                    handle, position, $0.baseAddress ?? UnsafeRawPointer(handle), UInt64($0.count),
                    unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        case .memory(let memory):
            unsafe inflight_sqlite_bind_bytes(handle, position, memory.bytes.baseAddress, memory.bytes.count)
        }
    }
}
