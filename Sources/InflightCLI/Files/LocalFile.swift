import Glibc
import Inflight

/// Plain files, read whole.
enum LocalFile {
    /// - Throws: `EFBIG` beyond `limit`, `EINVAL` for what is no plain file.
    static func read(_ descriptor: Int32, limit: Int64) throws(SystemError) -> Bytes {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(code: EINVAL) }
        guard Int64(status.st_size) <= limit else { throw SystemError(code: EFBIG) }
        return try read(descriptor, count: status.st_size, at: 0)
    }

    /// As many bytes as there are, up to `count`.
    static func read(_ descriptor: Int32, count: Int, at offset: Int) throws(SystemError) -> Bytes {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
        var done = 0
        while done < count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[done..<count])
            let got = unsafe pread(descriptor, rest.baseAddress, rest.count, offset + done)
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
