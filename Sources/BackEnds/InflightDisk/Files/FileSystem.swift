package import InflightCore
package import InflightFiles

/// The file operations of the store (SQLite accesses the index itself), few enough that a test can make each fail.
///
/// - Thread: any. Calls block for as long as the file system does.
/// - Errors: `SystemError` with the system's `errno`.
package protocol FileSystem: Sendable {
    /// Creates a folder and its missing parents for this user only. An existing folder is left as it is.
    func makeFolder(_ path: String) throws(SystemError)
    /// Removes other users' permissions and grants this user's own, whatever the umask.
    func makePrivate(_ path: String, isFolder: Bool) throws(SystemError)
    /// The user who will own created files.
    var user: UInt32 { get }
    /// Returns the absolute path without symbolic links. Its last components need not exist.
    func resolved(_ path: String) throws(SystemError) -> String
    /// Returns the status of `path`. A symbolic link at its end is not followed.
    func status(_ path: String) throws(SystemError) -> FileStatus
    /// Returns the names in a folder, without `.` and `..`, in no particular order.
    func names(in folder: String) throws(SystemError) -> [String]

    /// Opens a file. The caller closes it.
    func open(_ path: String, for use: FileUse) throws(SystemError) -> FileDescriptor
    func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus
    /// Reads until `room` is full or the file ends. Returns the count.
    func read(_ file: FileDescriptor, at offset: Int64, into room: UnsafeMutableRawBufferPointer) throws(SystemError)
        -> Int
    func write(_ file: FileDescriptor, _ bytes: Bytes, at offset: Int64) throws(SystemError)
    /// Returns once the written data survives a power cut. For a folder, that covers the names in it.
    func synchronize(_ file: FileDescriptor) throws(SystemError)

    func rename(_ path: String, to other: String) throws(SystemError)
    func remove(_ path: String) throws(SystemError)
    /// Removes an empty folder.
    func removeFolder(_ path: String) throws(SystemError)
}

/// The purpose for which a file is opened.
package enum FileUse: Sendable {
    /// An existing file or folder.
    case reading
    /// A new file, which must not exist.
    case creating
    /// An existing file, to be written beyond its end.
    case extending
    /// An existing file, or a new one for this user only.
    case making
}

/// Reads and writes small files as a whole.
enum WholeFile {
    /// Reads at most `limit` bytes.
    static func read(_ path: String, limit: Int, _ fileSystem: any FileSystem) throws(SystemError) -> [UInt8] {
        let file = try fileSystem.open(path, for: .reading)
        defer { try? file.close() }
        var bytes = [UInt8](repeating: 0, count: limit)
        var span = bytes.mutableSpan
        let count = try unsafe span.withUnsafeMutableBytes { (room) throws(SystemError) in
            try unsafe fileSystem.read(file, at: 0, into: room)
        }
        return Array(bytes[..<count])
    }

    /// Replaces the file, and returns once its data survives a power cut.
    static func write(_ bytes: [UInt8], to path: String, _ fileSystem: any FileSystem) throws(SystemError) {
        try? fileSystem.remove(path)
        let file = try fileSystem.open(path, for: .creating)
        defer { try? file.close() }
        try fileSystem.write(file, Bytes(bytes), at: 0)
        try fileSystem.synchronize(file)
    }
}
