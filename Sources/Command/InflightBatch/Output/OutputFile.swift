internal import CInflightBatch
internal import Glibc
internal import InflightFiles

/// A file that appears whole: it is written under a temporary name, and renamed when it is complete.
///
/// Not safe for concurrent use. Each call may write, and so blocks its thread.
final class OutputFile {
    /// What a temporary name ends with. A run removes such files of a run before it.
    static let temporarySuffix = ".partial"

    private static let bufferSize = 256 * 1024

    /// The path after ``commit()``.
    let path: String
    private let temporaryPath: String
    /// Nil after ``commit(synchronizes:)``.
    private var file: FileDescriptor?
    private var buffer: [UInt8] = []

    /// Creates the file under its temporary name, in place of a remainder of an earlier run.
    init(_ path: String) throws(BatchFailure) {
        self.path = path
        temporaryPath = path + Self.temporarySuffix
        do {
            file = try .open(temporaryPath, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, permissions: 0o644)
        } catch {
            throw .output(.create, temporaryPath, error)
        }
    }

    deinit {
        guard let file else { return }
        try? file.close()
        unsafe unlink(temporaryPath)
    }

    /// Appends bytes.
    func append(_ bytes: [UInt8]) throws(BatchFailure) {
        if buffer.count + bytes.count > Self.bufferSize { try flush() }
        if bytes.count > Self.bufferSize { try write(bytes) } else { buffer += bytes }
    }

    /// Appends a part of another file.
    func append(_ range: FileRange) throws(BatchFailure) {
        var done: Int64 = 0
        while done < range.size {
            if buffer.count == Self.bufferSize { try flush() }
            let count = Int(min(Int64(Self.bufferSize - buffer.count), range.size - done))
            let offset = range.offset + done
            var failure: BatchFailure?
            buffer.append(addingCapacity: count) { span in
                unsafe span.withUnsafeMutableBufferPointer { room, used in
                    let target = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(room)[used..<used + count])
                    do throws(BatchFailure) {
                        try unsafe range.file.read(target, at: offset)
                        used += count
                    } catch {
                        failure = error
                    }
                }
            }
            if let failure { throw failure }
            done += Int64(count)
        }
    }

    /// Gives the file its name, in place of another file of that name. The caller synchronizes the folder.
    ///
    /// - Parameter synchronizes: Whether the file is written to the disk before. If not, the caller does that.
    func commit(synchronizes: Bool = true) throws(BatchFailure) {
        try flush()
        do { if synchronizes { try file?.synchronize() } } catch {
            throw .output(.synchronize, temporaryPath, error)
        }
        do { try file.take()?.close() } catch {
            unsafe unlink(temporaryPath)
            throw .output(.write, temporaryPath, error)
        }
        guard unsafe rename(temporaryPath, path) == 0 else {
            let error = BatchFailure.output(.rename, temporaryPath)
            unsafe unlink(temporaryPath)
            throw error
        }
    }

    private func flush() throws(BatchFailure) {
        try write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8]) throws(BatchFailure) {
        do { try file?.write(bytes) } catch { throw .output(.write, temporaryPath, error) }
    }
}

/// Folders of the output.
enum OutputFolder {
    /// Creates a folder, and those above it. An existing one is no error.
    static func create(_ path: String) throws(BatchFailure) {
        if unsafe mkdir(path, 0o755) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try create(String(path[..<slash]))
            if unsafe mkdir(path, 0o755) == 0 { return }
        }
        let number = errno
        guard number == EEXIST else { throw .output(.create, path, number) }
        guard (try? FileStatus(of: path, followsLink: true))?.isFolder == true else {
            throw .output(.create, path, ENOTDIR)
        }
    }

    /// Writes the names in a folder to the disk.
    static func synchronize(_ path: String) throws(BatchFailure) {
        try synchronize(path, fsync)
    }

    /// Writes all files of a folder's file system to the disk: much faster than each file of a shard alone.
    static func synchronizeAll(_ path: String) throws(BatchFailure) {
        try synchronize(path, inflight_synchronize_all)
    }

    private static func synchronize(_ path: String, _ call: (Int32) -> Int32) throws(BatchFailure) {
        do throws(SystemError) {
            let folder = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
            defer { try? folder.close() }
            if call(folder.number) != 0 { throw SystemError.last }
        } catch {
            throw .output(.synchronize, path, error)
        }
    }

    /// Returns the size of a regular file in bytes, or `nil` if there is none of this name.
    static func size(ofFile path: String) throws(BatchFailure) -> Int64? {
        do {
            let status = try FileStatus(of: path)
            return status.isFile ? status.size : nil
        } catch {
            if error == .isMissing { return nil }
            throw .output(.read, path, error)
        }
    }

    /// Renames a folder to another name. A folder of that name is replaced atomically, and removed.
    static func replace(_ path: String, with temporary: String) throws(BatchFailure) {
        if unsafe rename(temporary, path) == 0 { return }
        guard errno == ENOTEMPTY || errno == EEXIST else { throw .output(.rename, temporary) }
        guard unsafe inflight_exchange(temporary, path) == 0 else { throw .output(.rename, temporary) }
        try remove(temporary)
    }

    /// Returns the names of a folder's files and folders, in any order.
    static func names(in path: String) throws(BatchFailure) -> [String] {
        do { return try Folder.names(in: path) } catch { throw .output(.read, path, error) }
    }

    /// Removes a file. A missing one is no error.
    static func remove(file path: String) throws(BatchFailure) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .output(.remove, path) }
    }

    /// Removes a file, or a folder with its files and folders.
    static func removeAny(_ path: String) throws(BatchFailure) {
        if unsafe unlink(path) == 0 { return }
        guard errno == EISDIR || errno == EPERM else { return try remove(file: path) }
        try remove(path)
    }

    /// Removes a folder with its files and folders. Links are removed, not followed. A missing folder is no error.
    static func remove(_ path: String) throws(BatchFailure) {
        let names: [String]
        do {
            names = try Folder.names(in: path)
        } catch {
            if error.code == ENOENT { return }
            throw .output(.remove, path, error)
        }
        for name in names { try removeAny(path + "/" + name) }
        guard unsafe rmdir(path) == 0 else { throw .output(.remove, path) }
    }
}
