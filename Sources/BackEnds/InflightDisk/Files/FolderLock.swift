internal import CInflightSQLite

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What the processes that share a folder tell each other by the locks on one empty file.
///
/// Byte 0 is held, shared, by whoever writes into the index, and exclusively by whoever replaces the index itself. A
/// number of its own says of each store that it lives. The kernel lets go of all that with the process, so that nobody
/// waits for the dead.
// Unchecked: nothing changes after it was made.
final class FolderLock: @unchecked Sendable {
    /// Names this store in the index, as long as it lives.
    let owner: Int64
    private let file: OpenFile
    private let fileSystem: any FileSystem

    init(_ path: String, fileSystem: any FileSystem) throws(FileError) {
        file = try fileSystem.open(path, for: .making)
        self.fileSystem = fileSystem
        var random = SystemRandomNumberGenerator()
        while true {
            let candidate = Int64.random(in: Self.owners, using: &random)
            let status = inflight_lock(file.descriptor, INFLIGHT_LOCK_EXCLUSIVE, candidate, 1)
            if status == 0 {
                owner = candidate
                return
            }
            guard status == EAGAIN else {
                fileSystem.close(file)
                throw FileError(status)
            }
        }
    }

    deinit {
        fileSystem.close(file)
    }

    /// Whether a store of that number lives, in whatever process.
    func isAlive(_ owner: Int64) -> Bool {
        owner == self.owner || (owner > 0 && inflight_lock_is_held(file.descriptor, owner, 1))
    }

    /// Whether no other store has the folder open, in whatever process.
    var isOnlyOne: Bool { !inflight_lock_is_held(file.descriptor, Self.owners.lowerBound, Int64(Self.owners.count)) }

    private static let owners: Range<Int64> = (1 << 20)..<(1 << 60)

    /// Runs `body` while no index is replaced, or where `alone`, while nobody else writes.
    ///
    /// A lock that is held for longer than `milliseconds` is `EAGAIN`.
    func hold<Result>(
        alone: Bool = false, waitingAtMost milliseconds: Int32,
        _ body: () throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let kind = alone ? INFLIGHT_LOCK_EXCLUSIVE : INFLIGHT_LOCK_SHARED
        var waited: Int32 = 0
        while true {
            let status = inflight_lock(file.descriptor, kind, 0, 1)
            if status == 0 { break }
            guard status == EAGAIN, waited < milliseconds else { throw .file(FileError(status), "lock") }
            // Other processes hold it, and nothing tells when they do not any more: looked at each millisecond, as SQLite
            // does for its own locks.
            usleep(1000)
            waited += 1
        }
        defer { _ = inflight_lock(file.descriptor, INFLIGHT_LOCK_NONE, 0, 1) }
        return try body()
    }
}
