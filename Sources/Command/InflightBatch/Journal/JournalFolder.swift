internal import Glibc
internal import InflightFiles
internal import InflightSQLite

/// The output folder of a run, and the journal's files in it.
struct JournalFolder {
    static let journalName = "journal.sqlite"
    static let lockName = "journal.lock"
    /// The name of a journal that is not complete.
    static let newName = "journal.new"

    /// The path as the caller named it.
    let named: String
    /// The path without symbolic links, which SQLite rejects.
    let path: String

    var journal: String { path + "/" + Self.journalName }
    var new: String { path + "/" + Self.newName }

    /// Opens the folder, and creates it first if `creates`. Its parent must exist.
    init(_ named: String, creates: Bool) throws(BatchFailure) {
        self.named = named
        if creates, unsafe mkdir(named, 0o777) != 0, errno != EEXIST {
            throw .journal(JournalError(errno: errno, named))
        }
        guard let real = unsafe realpath(named, nil) else {
            throw .journal(errno == ENOENT ? .missing(named) : JournalError(errno: errno, named))
        }
        defer { unsafe free(real) }
        path = unsafe String(cString: real)
        guard let status = try? FileStatus(of: path) else { throw .journal(JournalError(errno: errno, named)) }
        guard status.isFolder else { throw .journal(.notAFolder(named)) }
    }

    /// Returns whether there is a journal of ours, without changing anything.
    ///
    /// - Throws: ``BatchFailure`` if there is another one, or other files without a journal.
    func hasJournal() throws(BatchFailure) -> Bool {
        var header = [UInt8](repeating: 0, count: 100)
        let file = unsafe open(journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT else { throw .journal(JournalError(errno: errno, named)) }
            try checkIsEmpty()
            return false
        }
        defer { close(file) }
        let count = unsafe header.withUnsafeMutableBytes { unsafe pread(file, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .journal(JournalError(errno: errno, named)) }
        guard count == header.count, header.starts(with: "SQLite format 3\0".utf8) else {
            throw .journal(.damaged(named, reason: "it is not an SQLite database"))
        }
        // SQLite's header holds the version at offset 60 and the application's identity at offset 68. Both are written
        // before the file has its name, so they are never only in the log. The version may be older than that in the
        // log, after an upgrade.
        func word(_ offset: Int) -> Int { header[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } }
        guard word(68) == JournalLayout.applicationID else { throw .journal(.foreignFile(named)) }
        let version = word(60)
        guard version <= JournalLayout.version else {
            throw .journal(.newer(named, version: version, supported: JournalLayout.version))
        }
        return true
    }

    /// Throws if the folder has files that no killed start of a run has left.
    private func checkIsEmpty() throws(BatchFailure) {
        // With `-journal` for SQLite's own file beside the new one.
        let own = [Self.lockName, Self.newName, Self.newName + "-journal"]
        let names = try namingFolder { () throws(BatchFailure) in try OutputFolder.names(in: path) }
        guard names.allSatisfy(own.contains) else { throw .journal(.foreignFolder(named)) }
    }

    /// Creates an empty journal under another name, then renames it, so that no journal is ever incomplete.
    func makeJournal(options: [String: String]) throws(BatchFailure) {
        for name in [new, new + "-journal"] { unsafe unlink(name) }
        do throws(DatabaseError) {
            let database = try Database(path: new, mode: .making, waitingAtMost: 0)
            try database.run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
            try database.run(JournalLayout.statements.joined(separator: ";\n"))
            try database.run(
                "PRAGMA application_id = \(JournalLayout.applicationID); "
                    + "PRAGMA user_version = \(JournalLayout.version)")
            for (name, value) in options {
                try database.change("INSERT INTO option VALUES (?, ?)", .text(name), .text(value))
            }
            try database.run("COMMIT")
        } catch {
            throw .journal(JournalError(error, named))
        }
        guard unsafe rename(new, journal) == 0 else { throw .journal(JournalError(errno: errno, named)) }
        try namingFolder { () throws(BatchFailure) in try OutputFolder.synchronize(path) }
    }

    /// Names the folder instead of the file in it.
    private func namingFolder<Result>(_ body: () throws(BatchFailure) -> Result) throws(BatchFailure) -> Result {
        do throws(BatchFailure) {
            return try body()
        } catch {
            guard case .output(let output) = error else { throw error }
            throw .journal(JournalError(errno: output.number, named))
        }
    }
}

/// Excludes other runs from a folder while it exists. The kernel releases it when the process ends.
final class JournalLock {
    private let file: Int32

    init(_ folder: JournalFolder) throws(BatchFailure) {
        let path = folder.path + "/" + JournalFolder.lockName
        let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
        guard file >= 0 else { throw .journal(JournalError(errno: errno, folder.named)) }
        let status = RangeLock.acquire(.exclusive, file, start: 0, count: 1)
        guard status == 0 else {
            close(file)
            throw .journal(status == EAGAIN ? .locked(folder.named) : JournalError(errno: status, folder.named))
        }
        self.file = file
    }

    deinit {
        // A program that is being started has a copy of the file for a moment, which would keep the lock.
        RangeLock.release(file, start: 0, count: 1)
        close(file)
    }
}
