internal import Glibc

/// An open file, read and written at any offset.
///
/// Safe from any thread: no call depends on another one's offset. Each call may block its thread.
final class OpenFile: Sendable {
    let path: String
    private let descriptor: Int32

    /// Opens a file. A link is not followed.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - flags: The flags of `open`; more are added.
    ///   - operation: What to name in an error.
    init(_ path: String, _ flags: Int32, _ operation: OutputError.Operation) throws(OutputError) {
        self.path = path
        descriptor = unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw OutputError(operation, path) }
    }

    /// Creates a file for both, which is gone when it is closed.
    convenience init(temporary path: String) throws(OutputError) {
        try self.init(path, O_RDWR | O_CREAT | O_TRUNC, .create)
        unsafe unlink(path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the size in bytes, or `nil` if it is not a regular file.
    func size() throws(OutputError) -> Int64? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw OutputError(.read, path) }
        return status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }

    /// Reads as many bytes as the buffer holds. Fewer in the file are an error with the number 0.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws(OutputError) {
        var done = 0
        while done < bytes.count {
            let count = unsafe pread(
                descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw OutputError(.read, path, count < 0 ? errno : 0) }
            done += count
        }
    }

    /// Writes all bytes.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(OutputError) {
        var done = 0
        while done < bytes.count {
            let count = unsafe pwrite(
                descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw OutputError(.write, path) }
            done += count
        }
    }

    /// Replaces the elements of an array by bytes of the file.
    func read(_ bytes: inout [UInt8], at offset: Int64) throws(OutputError) {
        let result = unsafe bytes.withUnsafeMutableBytes { bytes in
            Result { () throws(OutputError) in try unsafe read(bytes, at: offset) }
        }
        try result.get()
    }

    /// Writes all elements.
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(OutputError) {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(OutputError) in try unsafe write(bytes, at: offset) }
        }
        try result.get()
    }
}
