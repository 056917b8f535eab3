import Glibc
import Testing

/// A folder of the test's own, removed with the files in it.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/inflight-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template)
        unsafe try #require(made != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        if let folder = unsafe opendir(path) {
            while let entry = unsafe readdir(folder) {
                let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
                if name != ".", name != ".." { unsafe unlink(path + "/" + name) }
            }
            unsafe closedir(folder)
        }
        unsafe rmdir(path)
    }

    func read(_ name: String) throws -> String {
        let file = try unsafe #require(fopen(path + "/" + name, "r"))
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
