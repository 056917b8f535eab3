import Glibc
import Testing

/// A folder that is gone, with the files and folders in it, when the test is.
final class Scratch: Sendable {
    private let folder: String

    init() throws {
        var template = Array("/tmp/inflight-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template)
        folder = unsafe String(cString: try #require(unsafe made))
    }

    deinit {
        Self.remove(folder)
    }

    private static func remove(_ path: String) {
        if let entries = unsafe opendir(path) {
            while let entry = unsafe readdir(entries) {
                let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                    unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            unsafe closedir(entries)
        }
        unsafe Glibc.remove(path)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = unsafe try #require(unsafe fopen(path(name), "w"), "\(name) cannot be written")
        unsafe fwrite(bytes, 1, bytes.count, file)
        unsafe fclose(file)
    }
}
