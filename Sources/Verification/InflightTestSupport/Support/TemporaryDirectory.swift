import Glibc
internal import InflightConcurrency
internal import InflightFiles

/// A test's own directory, removed with all its contents.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init(in place: String = "/tmp") {
        var template = Array("\(place)/inflight-test-XXXXXX".utf8CString)
        path = unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe String(cString: mkdtemp(buffer.baseAddress!)!)
        }
    }

    deinit { Self.remove(path) }

    package func appending(_ name: String) -> String { path + "/" + name }

    /// The names in the directory, hidden ones included, sorted.
    package var names: [String] { Self.names(path) }

    package func write(_ name: String, _ bytes: [UInt8]) {
        Self.write(appending(name), bytes)
    }

    package func write(_ name: String, _ text: String) { write(name, Array(text.utf8)) }

    /// Returns whether a file exists with exactly these bytes.
    package func holds(_ name: String, _ bytes: [UInt8]) -> Bool { read(name) == bytes }

    /// Returns the contents of a file; nil if it cannot be read.
    package func read(_ name: String) -> [UInt8]? { Self.read(appending(name)) }

    /// Calls `body` with the contents of a file, on a thread of the clock, as soon as it exists. Needs no thread of the
    /// pool, so a busy machine does not delay it.
    package func whenExists(_ name: String, _ body: @escaping @Sendable ([UInt8]) -> Void) {
        if let bytes = read(name) { return body(bytes) }
        let clock = SystemClock()
        _ = clock.schedule(at: clock.now() + .milliseconds(1)) { [weak self] in self?.whenExists(name, body) }
    }

    package static func write(_ path: String, _ bytes: [UInt8], permissions: UInt32 = 0o644) {
        do {
            let file = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, permissions: permissions)
            try file.write(bytes)
            try file.close()
        } catch {
            preconditionFailure("cannot write \(path): \(error.text)")
        }
    }

    package static func read(_ path: String) -> [UInt8]? {
        guard let file = try? FileDescriptor.open(path, O_RDONLY) else { return nil }
        defer { try? file.close() }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(file.number, $0.baseAddress, $0.count) }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }

    package static func names(_ path: String) -> [String] {
        (try? Folder.names(in: path).sorted()) ?? []
    }

    /// Removes a file, or a folder with all its contents. Of a link, it removes the link itself.
    package static func remove(_ path: String) {
        guard unsafe unlink(path) != 0 else { return }
        for name in names(path) { remove(path + "/" + name) }
        unsafe rmdir(path)
    }
}
