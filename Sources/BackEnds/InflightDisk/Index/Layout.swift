/// The index's schema in this version, and the migrations from older ones.
struct Layout: Sendable {
    /// Stored in every index. An index with a larger number belongs to a newer program and is left alone.
    var version: Int64
    /// For each older version, the statements that migrate it to the next.
    var migrations: [Int64: String]
    /// The statements that create the tables of an empty index, in order.
    var statements: [String]

    /// - Parameter tables: Statements, each followed by a semicolon.
    init(version: Int64, migrations: [Int64: String], tables: String) {
        self.version = version
        self.migrations = migrations
        statements = tables.split(separator: ";").compactMap { statement in
            let lines = statement.split(separator: "\n", omittingEmptySubsequences: true)
            return lines.isEmpty ? nil : lines.joined(separator: "\n")
        }
    }

    /// "INFL".
    static let applicationID: Int64 = 0x494E_464C

    static let current = Layout(version: 1, migrations: [:], tables: tables)

    /// The page size in bytes, as measured in `Documentation/Decisions/0006-bodies-that-survive.md`.
    static let pageBytes: Int64 = 4096

    /// The header before each page in SQLite's log, in bytes (https://www.sqlite.org/fileformat2.html#walformat).
    static let logPageHeadBytes: Int64 = 24

    /// The first statements of each connection that writes.
    static let pragmas = """
        PRAGMA journal_mode = WAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA secure_delete = OFF;
        PRAGMA cache_size = -2000;
        PRAGMA temp_store = MEMORY;
        """

    /// The statements that must precede the first table.
    static let beforeTables = """
        PRAGMA page_size = \(pageBytes);
        PRAGMA auto_vacuum = INCREMENTAL;
        """

    /// Rows are small, so that the columns updated on every use lie close together. Bodies have a table of their own.
    ///
    /// `seal` is a checksum over the columns that use does not change. `file` is 0 if the body is in `body`.
    static let tables = """
        CREATE TABLE cache (
            id INTEGER PRIMARY KEY, identity INTEGER NOT NULL, next INTEGER NOT NULL, age INTEGER NOT NULL,
            entries INTEGER NOT NULL, partial INTEGER NOT NULL, files INTEGER NOT NULL,
            fileBytes INTEGER NOT NULL, bodyBytes INTEGER NOT NULL);
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, rank INTEGER NOT NULL, uses INTEGER NOT NULL,
            stored INTEGER NOT NULL, room INTEGER NOT NULL, file INTEGER NOT NULL, length INTEGER NOT NULL,
            sum INTEGER NOT NULL, seal INTEGER NOT NULL, record BLOB NOT NULL);
        CREATE INDEX entryByHash ON entry (hash);
        CREATE INDEX entryByRank ON entry (rank);
        CREATE TABLE body (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        CREATE TABLE pending (file INTEGER PRIMARY KEY, owner INTEGER NOT NULL, room INTEGER NOT NULL);
        """
}
