#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The system's own file system.
package struct SystemFileSystem: FileSystem {
    package init() {}

    package func makeFolder(_ path: String) throws(FileError) {
        if unsafe mkdir(path, 0o700) == 0 { return try makePrivate(path, isFolder: true) }
        if errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw FileError(errno)
        }
        try makeFolder(String(path[..<slash]))
        if unsafe mkdir(path, 0o700) == 0 { return try makePrivate(path, isFolder: true) }
        guard errno == EEXIST else { throw FileError(errno) }
    }

    package func makePrivate(_ path: String, isFolder: Bool) throws(FileError) {
        guard unsafe chmod(path, isFolder ? 0o700 : 0o600) == 0 else { throw FileError(errno) }
    }

    package var user: UInt32 { geteuid() }

    package func resolved(_ path: String) throws(FileError) -> String {
        if let real = unsafe realpath(path, nil) {
            defer { unsafe free(real) }
            return unsafe String(cString: real)
        }
        let error = FileError(errno)
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

    package func status(_ path: String) throws(FileError) -> FileStatus {
        var found = stat()
        guard unsafe lstat(path, &found) == 0 else { throw FileError(errno) }
        return FileStatus(found)
    }

    package func status(_ file: OpenFile) throws(FileError) -> FileStatus {
        var found = stat()
        guard unsafe fstat(file.descriptor, &found) == 0 else { throw FileError(errno) }
        return FileStatus(found)
    }

    package func names(in folder: String) throws(FileError) -> [String] {
        guard let stream = unsafe opendir(folder) else { throw FileError(errno) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package func open(_ path: String, for use: FileUse) throws(FileError) -> OpenFile {
        // Links are not followed, and a pipe in place of a file does not block the thread.
        let flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | use.flags
        while true {
            #if canImport(Darwin)
                let descriptor = Darwin.open(path, flags, 0o600)
            #elseif canImport(Glibc)
                let descriptor = unsafe Glibc.open(path, flags, 0o600)
            #elseif canImport(Musl)
                let descriptor = unsafe Musl.open(path, flags, 0o600)
            #endif
            if descriptor >= 0 {
                // The umask may have removed this user's own permissions too.
                if use == .creating || use == .making { fchmod(descriptor, 0o600) }
                return OpenFile(descriptor: descriptor)
            }
            guard errno == EINTR else { throw FileError(errno) }
        }
    }

    package func read(
        _ file: OpenFile, at offset: Int64, into room: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        while true {
            let count = unsafe pread(file.descriptor, room.baseAddress, room.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw FileError(errno) }
        }
    }

    package func write(
        _ file: OpenFile, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(FileError) -> Int {
        while true {
            let count = unsafe pwrite(file.descriptor, bytes.baseAddress, bytes.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw FileError(errno) }
        }
    }

    package func synchronize(_ file: OpenFile) throws(FileError) {
        guard fsync(file.descriptor) == 0 else { throw FileError(errno) }
    }

    package func close(_ file: OpenFile) {
        #if canImport(Darwin)
            _ = Darwin.close(file.descriptor)
        #elseif canImport(Glibc)
            _ = Glibc.close(file.descriptor)
        #elseif canImport(Musl)
            _ = Musl.close(file.descriptor)
        #endif
    }

    package func rename(_ path: String, to other: String) throws(FileError) {
        #if canImport(Darwin)
            let status = Darwin.rename(path, other)
        #elseif canImport(Glibc)
            let status = unsafe Glibc.rename(path, other)
        #elseif canImport(Musl)
            let status = unsafe Musl.rename(path, other)
        #endif
        guard status == 0 else { throw FileError(errno) }
    }

    package func remove(_ path: String) throws(FileError) {
        guard unsafe unlink(path) == 0 else { throw FileError(errno) }
    }

    package func removeFolder(_ path: String) throws(FileError) {
        guard unsafe rmdir(path) == 0 else { throw FileError(errno) }
    }
}

extension FileUse {
    fileprivate var flags: Int32 {
        switch self {
        case .reading: O_RDONLY
        case .creating: O_WRONLY | O_CREAT | O_EXCL
        case .extending: O_WRONLY
        case .making: O_RDWR | O_CREAT
        }
    }
}

extension FileStatus {
    fileprivate init(_ found: stat) {
        self.init(
            identity: Identity(device: UInt64(found.st_dev), node: UInt64(found.st_ino)), size: Int64(found.st_size),
            isFolder: found.st_mode & S_IFMT == S_IFDIR, isLink: found.st_mode & S_IFMT == S_IFLNK,
            owner: found.st_uid, isPrivate: found.st_mode & 0o077 == 0)
    }
}

extension FileError {
    /// No file has that name.
    package static var isMissing: FileError { FileError(ENOENT) }
    package static var exists: FileError { FileError(EEXIST) }
    package static var inputOutput: FileError { FileError(EIO) }
    package static var noSpace: FileError { FileError(ENOSPC) }

    /// Whether the error does not concern the file itself: the operation may succeed later, or for another user.
    var isTransient: Bool { [EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EAGAIN].contains(number) }

    /// The system's description of the error.
    package var text: String { unsafe String(cString: strerror(number)) }
}
