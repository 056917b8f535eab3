import CDiskFaults
import Glibc
import InflightCore
import InflightDisk
import InflightFiles

/// The system's files as another user sees them, for tests that run as root: modes apply to that user.
///
/// Every calling thread becomes that user for file access, which includes SQLite's calls on it. The store's threads are
/// its own and end with it.
struct OtherUser: FileSystem {
    /// The user ID of `nobody`.
    static let number: uid_t = 65534

    private let system = SystemFileSystem()

    /// Makes that user the owner of a folder.
    static func own(_ path: String) {
        guard geteuid() == 0 else { return }
        _ = unsafe chown(path, number, number)
    }

    private func become() -> SystemFileSystem {
        if geteuid() == 0 { disk_faults_become(Self.number) }
        return system
    }

    func makeFolder(_ path: String) throws(SystemError) { try become().makeFolder(path) }
    func makePrivate(_ path: String, isFolder: Bool) throws(SystemError) {
        try become().makePrivate(path, isFolder: isFolder)
    }
    var user: UInt32 { geteuid() == 0 ? Self.number : geteuid() }
    func resolved(_ path: String) throws(SystemError) -> String { try become().resolved(path) }
    func removeFolder(_ path: String) throws(SystemError) { try become().removeFolder(path) }
    func status(_ path: String) throws(SystemError) -> FileStatus { try become().status(path) }
    func names(in folder: String) throws(SystemError) -> [String] { try become().names(in: folder) }
    func open(_ path: String, for use: FileUse) throws(SystemError) -> FileDescriptor {
        try become().open(path, for: use)
    }
    func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus { try become().status(file) }
    func read(
        _ file: FileDescriptor, at offset: Int64, into room: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        try unsafe become().read(file, at: offset, into: room)
    }
    func write(_ file: FileDescriptor, _ bytes: Bytes, at offset: Int64) throws(SystemError) {
        try become().write(file, bytes, at: offset)
    }
    func synchronize(_ file: FileDescriptor) throws(SystemError) { try become().synchronize(file) }
    func rename(_ path: String, to other: String) throws(SystemError) { try become().rename(path, to: other) }
    func remove(_ path: String) throws(SystemError) { try become().remove(path) }
}
