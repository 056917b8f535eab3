import Glibc
import Inflight

/// The demo's few file operations, without Foundation.
enum TextFile {
    static func write(_ text: String, to path: String) throws { try write(Bytes(text), to: path) }

    /// Writes a temporary file and renames it, so that no reader sees a partial file.
    static func write(_ bytes: Bytes, to path: String) throws {
        let hidden = path + ".part"
        guard let file = unsafe fopen(hidden, "w") else { throw Usage("\(path) cannot be written: errno \(errno).") }
        let written = unsafe bytes.withUnsafeBytes { unsafe fwrite($0.baseAddress, 1, $0.count, file) }
        let closed = unsafe fclose(file)
        guard written == bytes.count, closed == 0, unsafe rename(hidden, path) == 0 else {
            unsafe unlink(hidden)
            throw Usage("\(path) cannot be written: errno \(errno).")
        }
    }

    /// Returns the names in a folder, sorted.
    static func names(in folder: String) throws -> [String] {
        guard let stream = unsafe opendir(folder) else { throw Usage("\(folder) cannot be read: errno \(errno).") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }

    static func absolute(_ path: String) throws -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw Usage("\(path) does not exist.") }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Returns the `file:` URL of an absolute path.
    static func url(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text = Array("file://".utf8)
        for byte in path.utf8 {
            let isPlain = byte > 0x20 && byte < 0x7F && !"%?#".utf8.contains(byte)
            text += isPlain ? [byte] : [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
