internal import Glibc

/// A finished file of the output, open for reading.
///
/// It remains readable while another run replaces it. Each call may read, and so blocks its thread.
final class StoredFile {
    /// The number of bytes to read at a time.
    static let chunkSize = 256 * 1024

    /// The path.
    let path: String
    /// The size when it was opened, in bytes.
    let size: Int64
    private let descriptor: Int32

    /// Opens a file. Links are not followed.
    init(_ path: String) throws(OutputError) {
        // Without O_NONBLOCK, a named pipe in the place of the file would block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw OutputError(.read, path) }
        var status = stat()
        let failure = unsafe fstat(descriptor, &status) == 0 ? 0 : errno
        self.path = path
        self.descriptor = descriptor
        size = Int64(status.st_size)
        guard failure == 0 else { throw OutputError(.read, path, failure) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw OutputError(damaged: path, "It is not a file.") }
    }

    deinit { close(descriptor) }

    /// Returns bytes of the file.
    ///
    /// - Parameters:
    ///   - count: The number of bytes. The caller limits it. Fewer in the file are an error.
    ///   - offset: The offset of the first byte.
    func read(_ count: Int, at offset: Int64) throws(OutputError) -> [UInt8] {
        guard offset >= 0, count >= 0, Int64(count) <= size - offset else {
            throw OutputError(damaged: path, "It is truncated.")
        }
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let result = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pread(
                    descriptor, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
            }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw OutputError(.read, path) }
            guard result > 0 else { throw OutputError(damaged: path, "It is truncated.") }
            done += result
        }
        return bytes
    }

    /// Appends bytes of the file to another one.
    func copy(_ size: Int64, at offset: Int64, to target: OutputFile) throws(OutputError) {
        var left = size
        while left > 0 {
            let chunk = try read(Int(min(left, Int64(Self.chunkSize))), at: offset + (size - left))
            try target.append(chunk)
            left -= Int64(chunk.count)
        }
    }
}
