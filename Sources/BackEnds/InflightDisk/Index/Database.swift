internal import CInflightSQLite

/// An error reported by SQLite.
struct DatabaseError: Error, Hashable {
    /// The extended result code.
    var code: Int32
    var text: String

    private var primary: Int32 { code & 0xFF }

    /// Whether the bytes of the index are not those that SQLite wrote.
    var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT }
    /// Whether the log has reached its limit.
    var isLogFull: Bool { code == Self.logFull }
    /// `INFLIGHT_SQLITE_LOG_FULL`, a macro that Swift does not import.
    private static let logFull = SQLITE_FULL | (77 << 8)
    /// Whether another connection held a lock for longer than the busy timeout.
    var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

    static let damaged = DatabaseError(code: SQLITE_CORRUPT, text: "a row has invalid contents")
}

/// A connection to an index, for one thread at a time.
// Unchecked: passed from thread to thread, never shared. Safe: the pointer does not escape this object.
@safe final class Database: @unchecked Sendable {
    fileprivate let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The pages of the log after this connection's last commit, including other connections'; nil before its first.
    fileprivate(set) var logPages: Int?

    /// SQLite's VFS with limits for logs. The name is nil, the default VFS, if it cannot be registered.
    // Safe: an immortal name, set once and never changed.
    @safe private struct LimitedFiles: @unchecked Sendable {
        let name = unsafe inflight_sqlite_register()
        static let shared = LimitedFiles()
    }

    enum Mode {
        case reading
        case writing
        /// Like ``writing``, but creates the index if it does not exist.
        case making
    }

    /// - Parameters:
    ///   - fileSystem: The name of SQLite's VFS; nil for the default one with limits for logs.
    ///   - milliseconds: How long to wait for a lock that another process holds.
    init(
        path: String, mode: Mode, fileSystem: String? = nil, waitingAtMost milliseconds: Int32
    ) throws(DatabaseError) {
        var opened: OpaquePointer?
        // Readers open for writing too. SQLite lets only such a connection maintain the log's shared memory.
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
            | (mode == .making ? SQLITE_OPEN_CREATE : 0)
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
        unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(EntryRecord.limit + (1 << 20)))
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // A foreign log must not be copied into this index. Enabled once the log is known to be ours.
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if mode == .reading { try run("PRAGMA query_only = 1") }
    }

    deinit {
        statements.removeAll()
        unsafe sqlite3_close_v2(handle)
    }

    /// Lets the last connection to close copy the log into the index and remove it.
    func copiesLogWhenClosed() {
        unsafe inflight_sqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    }

    /// Keeps ``logPages`` up to date. Call it after the last `wal_autocheckpoint`, which replaces the hook.
    func countsLog() {
        let count: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
            database, _, _, pages in
            // Alive: called inside a commit of that connection.
            unsafe Unmanaged<Database>.fromOpaque(database!).takeUnretainedValue().logPages = Int(pages)
            return SQLITE_OK
        }
        unsafe sqlite3_wal_hook(handle, count, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Makes commits fail that would extend the log, of any writer, beyond `bytes` (``DatabaseError/isLogFull``).
    func limitLog(to bytes: Int64) { unsafe inflight_sqlite_limit_log(handle, bytes) }

    /// Sets how long to wait for a lock that another process holds, in milliseconds.
    func wait(atMost milliseconds: Int32) { unsafe sqlite3_busy_timeout(handle, milliseconds) }

    /// Runs statements without results.
    func run(_ text: String) throws(DatabaseError) {
        guard unsafe sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw lastError }
    }

    /// Returns a prepared statement, cached after its first use.
    func statement(_ text: String) throws(DatabaseError) -> Statement {
        if let known = statements[text] { return known }
        var made: OpaquePointer?
        let status = unsafe sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
        guard status == SQLITE_OK, let made = unsafe made else { throw lastError }
        let statement = unsafe Statement(made, database: self)
        statements[text] = statement
        return statement
    }

    /// Runs a cached statement and calls `row` for each row until it returns false.
    func query(
        _ text: String, _ values: Value..., row: (borrowing Row) throws(DatabaseError) -> Bool
    ) throws(DatabaseError) {
        try statement(text).run(values, row: row)
    }

    /// Runs a cached statement that returns no rows.
    func change(_ text: String, _ values: Value...) throws(DatabaseError) {
        try statement(text).run(values) { (_: borrowing Row) throws(DatabaseError) in true }
    }

    /// Returns the first column of the first row as an integer, or nil if there is no row.
    func number(_ text: String, _ values: Value...) throws(DatabaseError) -> Int64? {
        var number: Int64?
        try statement(text).run(values) { (row: borrowing Row) throws(DatabaseError) in
            number = row.number(0)
            return false
        }
        return number
    }

    /// Returns the first column of all rows.
    func numbers(_ text: String, _ values: Value...) throws(DatabaseError) -> [Int64] {
        var numbers: [Int64] = []
        try statement(text).run(values) { (row: borrowing Row) throws(DatabaseError) in
            numbers.append(row.number(0))
            return true
        }
        return numbers
    }

    /// Runs `body` with all of its reads from one snapshot.
    func snapshot<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        try change("BEGIN")
        // A read transaction has nothing to commit that could fail.
        defer { try? change("COMMIT") }
        return try body()
    }

    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    enum Checkpoint {
        case passive, restart, truncate
    }

    /// Copies the log into the index. `restart` and `truncate` wait for readers up to the connection's busy timeout.
    /// - Returns: Whether all of it was copied.
    @discardableResult
    func checkpoint(_ kind: Checkpoint) throws(DatabaseError) -> Bool {
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
enum Value {
    case number(Int64)
    case bytes([UInt8])
    /// Memory that the caller keeps until the statement has run.
    case memory(Memory)

    // Unchecked by the compiler: lives for one call. Safe: only SQLite reads it.
    @safe struct Memory {
        let bytes: UnsafeRawBufferPointer

        init(_ bytes: UnsafeRawBufferPointer) {
            unsafe self.bytes = bytes
        }
    }

    /// Returns the same 64 bits as a signed number.
    static func word(_ word: UInt64) -> Value { .number(Int64(bitPattern: word)) }
}

/// The current row of a statement, valid only during the call that receives it.
// Safe: it does not outlive the step that it represents.
@safe struct Row: ~Copyable {
    fileprivate let statement: OpaquePointer

    func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    func word(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }

    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    func bytes(_ column: Int32) -> [UInt8] { unsafe withBytes(column) { unsafe [UInt8]($0) } }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// A prepared statement.
// Safe: the pointer does not escape this object, and is released before its database.
@safe final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    fileprivate init(_ handle: OpaquePointer, database: Database) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    func run(
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

    private func bind(_ value: Value, at position: Int32) {
        switch value {
        case .number(let number): unsafe sqlite3_bind_int64(handle, position, number)
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
