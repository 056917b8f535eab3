import Glibc
import Inflight

/// A regular file opened for reading.
final class LocalFile {
    let size: Int
    private let descriptor: FileDescriptor

    /// - Parameters:
    ///   - directory: The directory that a relative path starts from; by default the working directory.
    ///   - flags: Additional flags of open(2).
    /// - Throws: `EISDIR` or `EINVAL` if it is not a regular file.
    init(_ path: String, in directory: Int32 = AT_FDCWD, flags: Int32 = 0) throws(SystemError) {
        descriptor = try FileDescriptor.open(path, in: directory, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags)
        let status = try? descriptor.status()
        guard let status, status.isFile else {
            try? descriptor.close()
            throw SystemError(code: status?.isFolder == true ? EISDIR : EINVAL)
        }
        size = Int(status.size)
    }

    deinit { try? descriptor.close() }

    /// Reads the first bytes: as many as there are, up to `count`.
    func read(_ count: Int) throws(SystemError) -> Bytes {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(memory)) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
        let done = try unsafe descriptor.read(into: room, at: 0)
        return bytes.part(0..<done)
    }
}
