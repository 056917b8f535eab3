internal import Glibc

/// A finished file of the output, open for reading.
///
/// It remains readable while another run replaces it. Each call may read, and so blocks its thread.
package final class StoredFile: Sendable {
    /// The number of bytes to read at a time.
    static let chunkSize = 256 * 1024

    /// The size when it was opened, in bytes.
    let size: Int64
    private let file: OpenFile

    /// The path.
    var path: String { file.path }

    /// Opens a file. Links are not followed.
    package init(_ path: String) throws(BatchFailure) {
        // Without O_NONBLOCK, a named pipe in the place of the file would block.
        file = try OpenFile(path, O_RDONLY | O_NONBLOCK, .read)
        guard let size = try file.size() else { throw .output(damaged: path, "It is not a file.") }
        self.size = size
    }

    /// The whole file.
    package var whole: FileRange { FileRange(file: self, offset: 0, size: size) }

    /// Returns bytes of the file.
    ///
    /// - Parameters:
    ///   - count: The number of bytes. The caller limits it. Fewer in the file are an error.
    ///   - offset: The offset of the first byte.
    func read(_ count: Int, at offset: Int64) throws(BatchFailure) -> [UInt8] {
        try check(count, offset)
        var bytes = [UInt8](repeating: 0, count: count)
        try file.read(&bytes, at: offset)
        return bytes
    }

    /// Fills a buffer with bytes of the file. Fewer in the file are an error.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws(BatchFailure) {
        try check(bytes.count, offset)
        try unsafe file.read(bytes, at: offset)
    }

    private func check(_ count: Int, _ offset: Int64) throws(BatchFailure) {
        guard offset >= 0, count >= 0, Int64(count) <= size - offset else {
            throw .output(damaged: path, "It is truncated.")
        }
    }
}

/// A part of a file, for example a member of an archive.
package struct FileRange: Sendable {
    /// The file.
    let file: StoredFile
    /// The offset of the first byte.
    let offset: Int64
    /// The number of bytes.
    package let size: Int64

    /// Returns the bytes. The caller limits their number.
    package func bytes() throws(BatchFailure) -> [UInt8] { try file.read(Int(size), at: offset) }
}
