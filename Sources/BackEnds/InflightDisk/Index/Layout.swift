/// How the index of this version looks, and how older ones are brought to it.
struct Layout: Sendable {
    /// Written into every index; a larger number is a newer program's, and left alone.
    var version: Int64
    /// For each older version the statements that make the next one of it.
    var migrations: [Int64: String]
    /// What makes the tables of an empty index, one after the other.
    var statements: [String]

    /// - Parameter tables: statements, with a semicolon behind each.
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

    /// Bytes of a page, as measured in `Documentation/Decisions/0006-bodies-that-survive.md`.
    static let pageBytes: Int64 = 4096

    /// What SQLite puts before each page in its log (https://www.sqlite.org/fileformat2.html#walformat).
    static let logPageHeadBytes: Int64 = 24

    /// What a connection that writes is told, before anything else.
    static let pragmas = """
        PRAGMA journal_mode = WAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA secure_delete = OFF;
        PRAGMA cache_size = -2000;
        PRAGMA temp_store = MEMORY;
        """

    /// What has to be said before the first table is made.
    static let beforeTables = """
        PRAGMA page_size = \(pageBytes);
        PRAGMA auto_vacuum = INCREMENTAL;
        """

    /// Rows are small, so that what is counted on every use lies close together; bodies have a table of their own.
    ///
    /// `seal` is a checksum over what does not change by use. `file` is 0 where the body is in `body`.
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
