internal import Glibc
package import InflightCore
package import InflightFiles

/// The system's own file system.
package struct SystemFileSystem: FileSystem {
    package init() {}

    package func makeFolder(_ path: String) throws(SystemError) {
        try Folder.make(path, permissions: 0o700, isExact: true)
    }

    package func makePrivate(_ path: String, isFolder: Bool) throws(SystemError) {
        guard unsafe chmod(path, isFolder ? 0o700 : 0o600) == 0 else { throw .last }
    }

    package var user: UInt32 { geteuid() }

    package func resolved(_ path: String) throws(SystemError) -> String {
        if let real = unsafe realpath(path, nil) {
            defer { unsafe free(real) }
            return unsafe String(cString: real)
        }
        let error = SystemError.last
        guard error == .isMissing else { throw error }
        if let found = try? status(path) {
            // A dangling link exists itself, and its target may appear later. Anything else was created meanwhile.
            if found.isLink { throw error }
            return try resolved(path)
        }
        guard let slash = path.lastIndex(of: "/") else { return try resolved(".") + "/" + path }
        let above = try resolved(slash == path.startIndex ? "/" : String(path[..<slash]))
        return (above == "/" ? "" : above) + path[slash...]
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus { try FileStatus(of: path) }

    package func status(_ file: FileDescriptor) throws(SystemError) -> FileStatus { try file.status() }

    package func names(in folder: String) throws(SystemError) -> [String] { try Folder.names(in: folder) }

    package func open(_ path: String, for use: FileUse) throws(SystemError) -> FileDescriptor {
        let flags =
            switch use {
            case .reading: O_RDONLY
            case .creating: O_WRONLY | O_CREAT | O_EXCL
            case .extending: O_WRONLY
            case .making: O_RDWR | O_CREAT
            }
        // Links are not followed, and a pipe in place of a file does not block the thread.
        let file = try FileDescriptor.open(path, flags | O_NOFOLLOW | O_NONBLOCK, permissions: 0o600)
        // The umask may have removed this user's own permissions too.
        if flags & O_CREAT != 0 { fchmod(file.number, 0o600) }
        return file
    }

    package func read(
        _ file: FileDescriptor, at offset: Int64, into room: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        try unsafe file.read(into: room, at: offset)
    }

    package func write(_ file: FileDescriptor, _ bytes: Bytes, at offset: Int64) throws(SystemError) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemError) in try unsafe file.write(bytes, at: offset) }
    }

    package func synchronize(_ file: FileDescriptor) throws(SystemError) { try file.synchronize() }

    package func rename(_ path: String, to other: String) throws(SystemError) {
        guard unsafe Glibc.rename(path, other) == 0 else { throw .last }
    }

    package func remove(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) == 0 else { throw .last }
    }

    package func removeFolder(_ path: String) throws(SystemError) {
        guard unsafe rmdir(path) == 0 else { throw .last }
    }
}
