internal import InflightSQLite

/// The bytes that represent the classes of outcomes in the journal.
struct ClassTable {
    private var names: [UInt8: String] = [:]
    private var codes: [String: UInt8] = [:]

    /// Creates a table without classes of failures.
    init() {}

    /// Reads the table.
    init(_ database: Database) throws(DatabaseError) {
        try database.query("SELECT code, name FROM class") { (row: borrowing Row) throws(DatabaseError) in
            guard let code = UInt8(exactly: row.number(0)), JournalLayout.failures.contains(code) else {
                throw .damaged
            }
            names[code] = row.text(1)
            codes[row.text(1)] = code
            return true
        }
    }

    /// Returns the class that a byte represents.
    func outcomeClass(_ code: UInt8) throws(DatabaseError) -> OutcomeClass {
        switch code {
        case JournalLayout.success: return .success
        case JournalLayout.duplicate: return .duplicate
        default:
            guard let name = names[code] else { throw .damaged }
            return .failure(name)
        }
    }

    /// Returns the byte of a class of failures, a new one if necessary. The classes for which no byte remains are
    /// recorded as `other`.
    mutating func code(_ name: String, in database: Database) throws(DatabaseError) -> UInt8 {
        if let code = codes[name] { return code }
        if codes.count >= JournalLayout.failures.count - 1, name != "other" { return try code("other", in: database) }
        let code = JournalLayout.failures.lowerBound + UInt8(codes.count)
        try database.change("INSERT INTO class VALUES (?, ?)", .number(Int64(code)), .text(name))
        codes[name] = code
        names[code] = name
        return code
    }
}
