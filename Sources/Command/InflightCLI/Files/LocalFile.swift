import Glibc
import Inflight

/// A regular file opened for reading.
final class LocalFile {
    let size: Int
    private let descriptor: Int32

    /// - Parameters:
    ///   - directory: The directory that a relative path starts from; by default the working directory.
    ///   - flags: Additional flags of open(2).
    /// - Throws: `EISDIR` or `EINVAL` if it is not a regular file.
    init(_ path: String, in directory: Int32 = AT_FDCWD, flags: Int32 = 0) throws(SystemError) {
        let file = unsafe openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags)
        guard file >= 0 else { throw .last }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw SystemError(code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        (size, descriptor) = (status.st_size, file)
    }

    deinit { close(descriptor) }

    /// Reads the first bytes: as many as there are, up to `count`.
    func read(_ count: Int) throws(SystemError) -> Bytes {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
        var done = 0
        while done < count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[done..<count])
            let got = unsafe pread(descriptor, rest.baseAddress, rest.count, done)
            if got < 0 {
                if errno == EINTR { continue }
                let error = SystemError.last
                unsafe memory.deallocate()
                throw error
            }
            if got == 0 { break }
            done += got
        }
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: memory[..<done])) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
    }
}
