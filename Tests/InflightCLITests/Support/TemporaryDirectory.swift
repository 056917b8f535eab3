import Glibc

/// A directory of a test's own, removed with all that is in it.
final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/inflight-test-XXXXXX".utf8CString)
        path = unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe String(cString: mkdtemp(buffer.baseAddress!)!)
        }
    }

    deinit { Self.remove(path) }

    func appending(_ name: String) -> String { path + "/" + name }

    /// The names in it, hidden ones included, sorted.
    var names: [String] { Self.names(path) }

    func write(_ name: String, _ bytes: [UInt8]) {
        let file = unsafe open(appending(name), O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        precondition(file >= 0, "cannot write \(appending(name))")
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes[done...].withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            precondition(count > 0)
            done += count
        }
        close(file)
    }

    func write(_ name: String, _ text: String) { write(name, Array(text.utf8)) }

    /// Whether there is a file that holds just that.
    func holds(_ name: String, _ bytes: [UInt8]) -> Bool { read(name) == bytes }

    /// `nil` where it cannot be read.
    func read(_ name: String) -> [UInt8]? { Self.read(appending(name)) }

    static func read(_ path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress, $0.count) }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }

    static func names(_ path: String) -> [String] {
        guard let directory = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func remove(_ path: String) {
        for name in names(path) {
            let child = path + "/" + name
            if unsafe unlink(child) != 0 { remove(child) }
        }
        unsafe rmdir(path)
    }
}
