/// The file operations of the store (SQLite accesses the index itself), few enough that a test can make each fail.
///
/// - Thread: any. Calls block for as long as the file system does.
/// - Errors: ``FileError`` with the system's `errno`.
package protocol FileSystem: Sendable {
    /// Creates a folder and its missing parents for this user only. An existing folder is left as it is.
    func makeFolder(_ path: String) throws(FileError)
    /// Removes other users' permissions and grants this user's own, whatever the umask.
    func makePrivate(_ path: String, isFolder: Bool) throws(FileError)
    /// The user who will own created files.
    var user: UInt32 { get }
    /// Returns the absolute path without symbolic links. Its last components need not exist.
    func resolved(_ path: String) throws(FileError) -> String
    /// Returns the status of `path`. A symbolic link at its end is not followed.
    func status(_ path: String) throws(FileError) -> FileStatus
    /// Returns the names in a folder, without `.` and `..`, in no particular order.
    func names(in folder: String) throws(FileError) -> [String]

    func open(_ path: String, for use: FileUse) throws(FileError) -> OpenFile
    func status(_ file: OpenFile) throws(FileError) -> FileStatus
    /// Reads at most as many bytes as fit into `room`. Returns the count, 0 at the end.
    func read(_ file: OpenFile, at offset: Int64, into room: UnsafeMutableRawBufferPointer) throws(FileError) -> Int
    /// Writes some of `bytes` and returns how many.
    func write(_ file: OpenFile, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) -> Int
    /// Returns once the written data survives a power cut. For a folder, that covers the names in it.
    func synchronize(_ file: OpenFile) throws(FileError)
    func close(_ file: OpenFile)

    func rename(_ path: String, to other: String) throws(FileError)
    func remove(_ path: String) throws(FileError)
    /// Removes an empty folder.
    func removeFolder(_ path: String) throws(FileError)
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

package struct OpenFile: Sendable, Hashable {
    package let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }
}

package struct FileStatus: Sendable, Hashable {
    /// Identifies a file independently of its name.
    package struct Identity: Sendable, Hashable {
        package var device: UInt64
        package var node: UInt64

        package init(device: UInt64, node: UInt64) {
            self.device = device
            self.node = node
        }
    }

    package var identity: Identity
    package var size: Int64
    package var isFolder: Bool
    package var isLink: Bool
    package var owner: UInt32
    /// Whether other users have no permissions.
    package var isPrivate: Bool

    package init(
        identity: Identity, size: Int64, isFolder: Bool, isLink: Bool, owner: UInt32, isPrivate: Bool
    ) {
        self.identity = identity
        self.size = size
        self.isFolder = isFolder
        self.isLink = isLink
        self.owner = owner
        self.isPrivate = isPrivate
    }
}

/// An error of the system for a failed operation.
package struct FileError: Error, Hashable, Sendable {
    package var number: Int32

    package init(_ number: Int32) {
        self.number = number
    }
}
