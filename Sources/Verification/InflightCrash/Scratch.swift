import Glibc
import InflightFiles
import InflightTestSupport

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
    static func remove(_ path: String) { TemporaryDirectory.remove(path) }

    /// Returns the names in a folder; none if the path is not a folder. A symbolic link does not count as a folder.
    static func names(_ folder: String) -> [String] { isFolder(folder) ? TemporaryDirectory.names(folder) : [] }

    private static func isFolder(_ path: String) -> Bool { (try? FileStatus(of: path))?.isFolder ?? false }

    /// Returns the paths of all files below a folder, relative to it, in order.
    static func files(_ folder: String, below: String = "") -> [String] {
        names(folder + below).flatMap { name in
            let path = below + "/" + name
            return isFolder(folder + path) ? files(folder, below: path) : [path]
        }
    }

    /// Returns the total size of all files below a folder.
    static func bytes(_ folder: String) -> Int64 {
        files(folder).reduce(0) { $0 + ((try? FileStatus(of: folder + $1))?.size ?? 0) }
    }

    static func read(_ path: String) -> [UInt8] { TemporaryDirectory.read(path) ?? [] }

    static func write(_ path: String, _ bytes: [UInt8]) {
        TemporaryDirectory.write(path, bytes, permissions: 0o600)
    }

    static func copy(_ folder: String, to other: String) {
        unsafe mkdir(other, 0o700)
        for name in names(folder) {
            let (from, to) = (folder + "/" + name, other + "/" + name)
            if isFolder(from) { copy(from, to: to) } else { write(to, read(from)) }
        }
    }
}
