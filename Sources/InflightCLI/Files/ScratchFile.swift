import Glibc

/// A file without a name: gone with the process, however that ends.
final class ScratchFile {
    private let descriptor: Int32
    private let limit: Int

    /// In `TMPDIR`, or where temporary files usually are; on a disk rather than in memory, where there is a choice.
    ///
    /// - Parameter limit: the most bytes that it may take.
    init(limit: Int = .max) throws(SystemError) {
        self.limit = limit
        descriptor = try Self.openSomewhere()
    }

    deinit { close(descriptor) }

    /// Fills `bytes`; where the file ends before that, the rest is zero.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, offset + done)
            if count < 0 {
                if errno == EINTR { continue }
                throw .last
            }
            if count == 0 {
                unsafe rest.initializeMemory(as: UInt8.self, repeating: 0)
                return
            }
            done += count
        }
    }

    /// - Throws: `EFBIG` beyond the limit; nothing is written then.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        guard bytes.count <= limit - offset else { throw SystemError(code: EFBIG) }
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, offset + done)
            if count < 0 {
                if errno == EINTR { continue }
                throw .last
            }
            done += count
        }
    }

    private static func openSomewhere() throws(SystemError) -> Int32 {
        var failure = SystemError(code: ENOENT)
        let preferred = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
        for directory in [preferred, "/var/tmp", "/tmp"].compactMap(\.self) {
            do throws(SystemError) {
                return try open(in: directory)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func open(in directory: String) throws(SystemError) -> Int32 {
        // The system offers names; O_EXCL makes sure that the file is ours before its name is taken away.
        for _ in 0..<16 {
            let path = "\(directory)/.inflight-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
            let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                unsafe unlink(path)
                return descriptor
            }
            if errno != EEXIST { throw .last }
        }
        throw .last
    }
}
