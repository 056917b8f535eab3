internal import Glibc

/// What the system knows of a file or folder.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Sendable {
        case file, folder, link, other
    }

    /// Identifies a file independently of its name.
    package struct Identity: Hashable, Sendable {
        package var device: UInt64
        package var node: UInt64
    }

    package var kind: Kind
    package var identity: Identity
    /// The size in bytes.
    package var size: Int64
    package var owner: UInt32
    /// Whether other users have no permissions.
    package var isPrivate: Bool
    /// The number of its names; 0 for an open file that was removed.
    package var linkCount: Int
    /// The time of the last change of its bytes, in nanoseconds since 1970.
    package var modified: Int64

    package var isFile: Bool { kind == .file }
    package var isFolder: Bool { kind == .folder }
    package var isLink: Bool { kind == .link }

    /// Returns the status of a path; of a link at its end only if it is to be followed.
    ///
    /// - Parameter folder: The descriptor of the folder that a relative path starts from.
    package init(of path: String, in folder: Int32 = AT_FDCWD, followsLink: Bool = false) throws(SystemError) {
        var found = stat()
        guard unsafe fstatat(folder, path, &found, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else { throw .last }
        self.init(found)
    }

    fileprivate init(_ found: stat) {
        kind =
            switch found.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .other
            }
        identity = Identity(device: UInt64(found.st_dev), node: UInt64(found.st_ino))
        size = Int64(found.st_size)
        owner = found.st_uid
        isPrivate = found.st_mode & 0o077 == 0
        linkCount = Int(found.st_nlink)
        modified = Int64(found.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(found.st_mtim.tv_nsec)
    }
}

extension FileDescriptor {
    package func status() throws(SystemError) -> FileStatus {
        var found = stat()
        guard unsafe fstat(number, &found) == 0 else { throw .last }
        return FileStatus(found)
    }
}
