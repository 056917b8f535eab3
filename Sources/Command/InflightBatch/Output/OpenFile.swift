internal import Glibc
internal import InflightFiles

/// An open file, read and written at any offset.
///
/// Safe from any thread: no call depends on another one's offset. Each call may block its thread.
final class OpenFile: Sendable {
    let path: String
    private let file: FileDescriptor

    /// Opens a file. A link is not followed.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - flags: The flags of `open`; more are added.
    ///   - operation: What to name in an error.
    init(_ path: String, _ flags: Int32, _ operation: OutputError.Operation) throws(BatchFailure) {
        self.path = path
        do { file = try .open(path, flags | O_NOFOLLOW, permissions: 0o644) } catch {
            throw .output(operation, path, error)
        }
    }

    /// Creates a file for both, which is gone when it is closed.
    convenience init(temporary path: String) throws(BatchFailure) {
        try self.init(path, O_RDWR | O_CREAT | O_TRUNC, .create)
        unsafe unlink(path)
    }

    deinit { try? file.close() }

    /// Returns the size in bytes, or `nil` if it is not a regular file.
    func size() throws(BatchFailure) -> Int64? {
        do {
            let status = try file.status()
            return status.isFile ? status.size : nil
        } catch {
            throw .output(.read, path, error)
        }
    }

    /// Reads as many bytes as the buffer holds. Fewer in the file are an error with the number 0.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws(BatchFailure) {
        let count: Int
        do { count = try unsafe file.read(into: bytes, at: offset) } catch { throw .output(.read, path, error) }
        if count < bytes.count { throw .output(.read, path, 0) }
    }

    /// Writes all bytes.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(BatchFailure) {
        do { try unsafe file.write(bytes, at: offset) } catch { throw .output(.write, path, error) }
    }

    /// Replaces the elements of an array by bytes of the file.
    func read(_ bytes: inout [UInt8], at offset: Int64) throws(BatchFailure) {
        var span = bytes.mutableSpan
        try unsafe span.withUnsafeMutableBytes { (bytes) throws(BatchFailure) in try unsafe read(bytes, at: offset) }
    }

    /// Writes all elements.
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(BatchFailure) {
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(BatchFailure) in try unsafe write(bytes, at: offset) }
    }
}
