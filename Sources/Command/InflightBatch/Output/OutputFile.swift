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
        buffer.reserveCapacity(Self.bufferSize)
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

    /// Appends a whole file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - size: Its size in bytes. Another size is an error with the number 0.
    func appendFile(_ path: String, size: Int64) throws(OutputError) {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw OutputError(.read, path) }
        defer { close(file) }
        var left = size
        while true {
            if buffer.count == Self.bufferSize { try flush() }
            let start = buffer.count
            // One byte more than is left shows that the file is longer.
            let wanted = Int(min(Int64(Self.bufferSize - start), left + 1))
            var failure: Int32 = 0
            buffer.append(addingCapacity: wanted) { span in
                unsafe span.withUnsafeMutableBufferPointer { room, count in
                    var result = 0
                    repeat {
                        result = unsafe read(file, room.baseAddress.map { unsafe $0 + count }, wanted)
                    } while result < 0 && errno == EINTR
                    if result < 0 { failure = errno } else { count += result }
                }
            }
            guard failure == 0 else { throw OutputError(.read, path, failure) }
            let count = buffer.count - start
            left -= Int64(count)
            guard left >= 0 else { throw OutputError(.read, path, 0) }
            if count == 0 { break }
        }
        guard left == 0 else { throw OutputError(.read, path, 0) }
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

    /// Gives a file a second name, or copies it where the file system has no links. An existing file of that name and
    /// size is kept.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - target: The second path.
    ///   - size: The file's size in bytes. Another size is an error with the number 0.
    static func link(_ path: String, to target: String, size: Int64) throws(OutputError) {
        guard try self.size(path) == size else { throw OutputError(.read, path, 0) }
        if unsafe Glibc.link(path, target) == 0 { return }
        switch errno {
        case EEXIST where (try? self.size(target)) == size: return
        case EEXIST, EPERM, EXDEV, EMLINK, EOPNOTSUPP:
            let file = try OutputFile(target)
            try file.appendFile(path, size: size)
            try file.commit(synchronizes: false)
        default: throw OutputError(.create, target)
        }
    }

    private static func size(_ path: String) throws(OutputError) -> Int64 {
        var found = stat()
        guard unsafe lstat(path, &found) == 0 else { throw OutputError(.read, path) }
        return Int64(found.st_size)
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
