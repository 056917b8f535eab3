internal import Glibc
internal import InflightFiles
internal import InflightSQLite

/// Coordinates the processes that share a folder, by locks on one empty file.
///
/// A store that writes to the index holds byte 0 shared; one that replaces the index holds it exclusively. Each store
/// also locks a byte at a number of its own, which shows that it is alive. The kernel releases all locks of a process
/// that ends, so that no store waits for a dead one.
// Unchecked: immutable after initialization.
final class FolderLock: @unchecked Sendable {
    /// The number that identifies this store in the index while it is alive.
    let owner: Int64
    private let file: FileDescriptor

    init(_ path: String, fileSystem: any FileSystem) throws(SystemError) {
        file = try fileSystem.open(path, for: .making)
        var random = SystemRandomNumberGenerator()
        while true {
            let candidate = Int64.random(in: Self.owners, using: &random)
            let status = RangeLock.acquire(.exclusive, file.number, start: candidate, count: 1)
            if status == 0 {
                owner = candidate
                return
            }
            guard status == EAGAIN else {
                try? file.close()
                throw SystemError(code: status)
            }
        }
    }

    deinit {
        try? file.close()
    }

    /// Returns whether the store with that number is alive, in any process.
    func isAlive(_ owner: Int64) -> Bool {
        owner == self.owner || (owner > 0 && RangeLock.isHeld(file.number, start: owner, count: 1))
    }

    /// Whether no other store in any process has the folder open.
    var isOnlyOne: Bool {
        !RangeLock.isHeld(file.number, start: Self.owners.lowerBound, count: Int64(Self.owners.count))
    }

    private static let owners: Range<Int64> = (1 << 20)..<(1 << 60)

    /// Runs `body` while no index is replaced or, if `alone`, while no other store writes.
    ///
    /// Throws `EAGAIN` if the lock stays held for longer than `milliseconds`.
    func hold<Result>(
        alone: Bool = false, waitingAtMost milliseconds: Int32,
        _ body: () throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let kind = alone ? RangeLock.Kind.exclusive : .shared
        var waited: Int32 = 0
        while true {
            let status = RangeLock.acquire(kind, file.number, start: 0, count: 1)
            if status == 0 { break }
            guard status == EAGAIN, waited < milliseconds else { throw .file(SystemError(code: status), "lock") }
            // Other processes hold it and do not signal its release, so it is polled each millisecond, as SQLite does
            // for its own locks.
            usleep(1000)
            waited += 1
        }
        defer { RangeLock.release(file.number, start: 0, count: 1) }
        return try body()
    }
}
