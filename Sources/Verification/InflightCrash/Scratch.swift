import Glibc
import InflightDisk

/// The program's own folders and files.
enum Scratch {
    /// Creates a new folder.
    static func make(in place: String = "/tmp") -> String {
        var template = Array("\(place)/inflight-crash-XXXXXX".utf8CString)
        return unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe String(cString: mkdtemp(buffer.baseAddress!)!)
        }
    }

    /// Removes a file, or a folder with all its contents.
    static func remove(_ path: String) {
        for name in names(path) { remove(path + "/" + name) }
        unsafe Glibc.remove(path)
    }

    /// Returns the names in a folder; none if the path is not a folder. A symbolic link does not count as a folder.
    static func names(_ folder: String) -> [String] {
        var status = stat()
        guard unsafe lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
        return (try? SystemFileSystem().names(in: folder).sorted()) ?? []
    }

    /// Returns the paths of all files below a folder, relative to it, in order.
    static func files(_ folder: String, below: String = "") -> [String] {
        names(folder + below).flatMap { name in
            let path = below + "/" + name
            var status = stat()
            unsafe lstat(folder + path, &status)
            return status.st_mode & S_IFMT == S_IFDIR ? files(folder, below: path) : [path]
        }
    }

    /// Returns the total size of all files below a folder.
    static func bytes(_ folder: String) -> Int64 {
        files(folder).reduce(0) { sum, path in
            var status = stat()
            return unsafe lstat(folder + path, &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    static func read(_ path: String) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var status = stat()
        unsafe fstat(file, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe Glibc.read(file, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    static func write(_ path: String, _ bytes: [UInt8]) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(file >= 0, "\(path) cannot be written")
        defer { close(file) }
        precondition(unsafe Glibc.write(file, bytes, bytes.count) == bytes.count, "\(path) cannot be written")
    }

    static func copy(_ folder: String, to other: String) {
        unsafe mkdir(other, 0o700)
        for name in names(folder) {
            var status = stat()
            unsafe lstat(folder + "/" + name, &status)
            if status.st_mode & S_IFMT == S_IFDIR {
                copy(folder + "/" + name, to: other + "/" + name)
            } else {
                write(other + "/" + name, read(folder + "/" + name))
            }
        }
    }
}
