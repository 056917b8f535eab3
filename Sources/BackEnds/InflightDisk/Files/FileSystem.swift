/// What the store does with files of its own (SQLite has its own ways to the index): a few operations, so that a test can
/// let each of them fail.
///
/// - Thread: any. They block for as long as the file system does.
/// - Errors: ``FileError`` with the system's number.
package protocol FileSystem: Sendable {
    /// Makes a folder and those above it that are missing, for this user alone. One that is there is left as it is.
    func makeFolder(_ path: String) throws(FileError)
    /// Takes other users' rights away, and gives this one its own, whatever the umask took.
    func makePrivate(_ path: String, isFolder: Bool) throws(FileError)
    /// The user to whom files belong that are made.
    var user: UInt32 { get }
    /// An absolute path without symbolic links to the same place, whose last parts may not be there yet.
    func resolved(_ path: String) throws(FileError) -> String
    /// What is at `path`; a symbolic link at its end is not followed.
    func status(_ path: String) throws(FileError) -> FileStatus
    /// The names in a folder, without `.` and `..`, in no order.
    func names(in folder: String) throws(FileError) -> [String]

    func open(_ path: String, for use: FileUse) throws(FileError) -> OpenFile
    func status(_ file: OpenFile) throws(FileError) -> FileStatus
    /// Reads at most what there is room for; 0 at the end.
    func read(_ file: OpenFile, at offset: Int64, into room: UnsafeMutableRawBufferPointer) throws(FileError) -> Int
    /// Writes some of `bytes`, and tells how many.
    func write(_ file: OpenFile, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) -> Int
    /// Returns when what was written is where a power cut does not reach it. For folders: the names in it.
    func synchronize(_ file: OpenFile) throws(FileError)
    func close(_ file: OpenFile)

    func rename(_ path: String, to other: String) throws(FileError)
    func remove(_ path: String) throws(FileError)
    /// Removes a folder that holds nothing.
    func removeFolder(_ path: String) throws(FileError)
}

/// What a file is opened for.
package enum FileUse: Sendable {
    /// It, or a folder, is there.
    case reading
    /// It is made; it must not be there.
    case creating
    /// It is there, and is written behind its end.
    case extending
    /// It is there or is made, then for this user alone.
    case making
}

package struct OpenFile: Sendable, Hashable {
    package let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }
}

package struct FileStatus: Sendable, Hashable {
    /// Tells two files apart, whatever their names.
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
    /// Other users have no rights on it.
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

/// What the system said when an operation failed.
package struct FileError: Error, Hashable, Sendable {
    package var number: Int32

    package init(_ number: Int32) {
        self.number = number
    }
}
