internal import CInflightBatch
internal import Glibc

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
    private var descriptor: Int32
    private var buffer: [UInt8] = []

    /// Creates the file under its temporary name, in place of a remainder of an earlier run.
    init(_ path: String) throws(OutputError) {
        self.path = path
        temporaryPath = path + Self.temporarySuffix
        descriptor = unsafe open(temporaryPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw OutputError(.create, temporaryPath) }
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        unsafe unlink(temporaryPath)
    }

    /// Appends bytes.
    func append(_ bytes: [UInt8]) throws(OutputError) {
        if buffer.count + bytes.count > Self.bufferSize { try flush() }
        if bytes.count > Self.bufferSize { try write(bytes) } else { buffer += bytes }
    }

    /// Appends a part of another file.
    func append(_ range: FileRange) throws(OutputError) {
        var done: Int64 = 0
        while done < range.size {
            if buffer.count == Self.bufferSize { try flush() }
            let count = Int(min(Int64(Self.bufferSize - buffer.count), range.size - done))
            let offset = range.offset + done
            var failure: OutputError?
            buffer.append(addingCapacity: count) { span in
                unsafe span.withUnsafeMutableBufferPointer { room, used in
                    let target = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(room)[used..<used + count])
                    do throws(OutputError) {
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
    func commit(synchronizes: Bool = true) throws(OutputError) {
        try flush()
        guard !synchronizes || fsync(descriptor) == 0 else { throw OutputError(.synchronize, temporaryPath) }
        let failure = close(descriptor) == 0 || errno == EINTR ? 0 : errno
        descriptor = -1
        guard failure == 0 else {
            unsafe unlink(temporaryPath)
            throw OutputError(.write, temporaryPath, failure)
        }
        guard unsafe rename(temporaryPath, path) == 0 else {
            let error = OutputError(.rename, temporaryPath)
            unsafe unlink(temporaryPath)
            throw error
        }
    }

    private func flush() throws(OutputError) {
        try write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8]) throws(OutputError) {
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(OutputError) in
            try unsafe Self.write(bytes, to: descriptor, temporaryPath)
        }
    }

    /// Writes all bytes to an open file. `path` names it in errors.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String) throws(OutputError) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe Glibc.write(
                descriptor, bytes.baseAddress.map { unsafe $0 + offset }, bytes.count - offset)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw OutputError(.write, path) }
            offset += count
        }
    }
}

/// Folders of the output.
enum OutputFolder {
    /// Creates a folder, and those above it. An existing one is no error.
    static func create(_ path: String) throws(OutputError) {
        if unsafe mkdir(path, 0o755) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try create(String(path[..<slash]))
            if unsafe mkdir(path, 0o755) == 0 { return }
        }
        let error = OutputError(.create, path)
        guard error.number == EEXIST else { throw error }
        var found = stat()
        guard unsafe stat(path, &found) == 0, found.st_mode & S_IFMT == S_IFDIR else {
            throw OutputError(.create, path, ENOTDIR)
        }
    }

    /// Writes the names in a folder to the disk.
    static func synchronize(_ path: String) throws(OutputError) {
        try synchronize(path, fsync)
    }

    /// Writes all files of a folder's file system to the disk: much faster than each file of a shard alone.
    static func synchronizeAll(_ path: String) throws(OutputError) {
        try synchronize(path, inflight_synchronize_all)
    }

    private static func synchronize(_ path: String, _ call: (Int32) -> Int32) throws(OutputError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw OutputError(.synchronize, path) }
        defer { close(descriptor) }
        guard call(descriptor) == 0 else { throw OutputError(.synchronize, path) }
    }

    /// Returns the size of a regular file in bytes, or `nil` if there is none of this name.
    static func size(ofFile path: String) throws(OutputError) -> Int64? {
        var found = stat()
        if unsafe lstat(path, &found) != 0 {
            guard errno == ENOENT else { throw OutputError(.read, path) }
            return nil
        }
        return found.st_mode & S_IFMT == S_IFREG ? Int64(found.st_size) : nil
    }

    /// Renames a folder to another name. A folder of that name is replaced atomically, and removed.
    static func replace(_ path: String, with temporary: String) throws(OutputError) {
        if unsafe rename(temporary, path) == 0 { return }
        guard errno == ENOTEMPTY || errno == EEXIST else { throw OutputError(.rename, temporary) }
        guard unsafe inflight_exchange(temporary, path) == 0 else { throw OutputError(.rename, temporary) }
        try remove(temporary)
    }

    /// Returns the names of a folder's files and folders, in any order.
    static func names(in path: String) throws(OutputError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw OutputError(.read, path) }
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

    /// Removes a file. A missing one is no error.
    static func remove(file path: String) throws(OutputError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw OutputError(.remove, path) }
    }

    /// Removes a file, or a folder with its files and folders.
    static func removeAny(_ path: String) throws(OutputError) {
        if unsafe unlink(path) == 0 { return }
        guard errno == EISDIR || errno == EPERM else { return try remove(file: path) }
        try remove(path)
    }

    /// Removes a folder with its files and folders. Links are removed, not followed. A missing folder is no error.
    static func remove(_ path: String) throws(OutputError) {
        let names: [String]
        do throws(OutputError) {
            names = try self.names(in: path)
        } catch {
            if error.number == ENOENT { return }
            throw OutputError(.remove, path, error.number)
        }
        for name in names { try removeAny(path + "/" + name) }
        guard unsafe rmdir(path) == 0 else { throw OutputError(.remove, path) }
    }
}
