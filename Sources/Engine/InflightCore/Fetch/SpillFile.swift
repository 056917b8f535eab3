internal import Glibc

/// A temporary file for a body that does not fit into memory. It has no name, so nothing remains of it, however the
/// process ends.
final class SpillFile: Sendable {
    private let descriptor: Int32

    /// Creates the file in `folder`; if `nil`, in `TMPDIR`, `/var/tmp` or `/tmp`.
    init(in folder: String?) throws(PosixError) {
        let preferred = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
        var failure = PosixError(code: ENOENT)
        for folder in folder.map({ [$0] }) ?? [preferred, "/var/tmp", "/tmp"].compactMap(\.self) {
            do throws(PosixError) {
                descriptor = try Self.open(in: folder)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    deinit {
        close(descriptor)
    }

    private static func open(in folder: String) throws(PosixError) -> Int32 {
        for _ in 0..<16 {
            let path = "\(folder)/.inflight-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
            let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let descriptor = unsafe Glibc.open(path, flags, 0o600)
            if descriptor >= 0 {
                unsafe unlink(path)
                return descriptor
            }
            if errno != EEXIST { break }
        }
        throw .last
    }

    func write(_ bytes: Bytes, at offset: Int) throws(PosixError) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
                return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last }
            done += count
        }
    }

    /// Fills `room` from `offset`.
    ///
    /// - Returns: the number of bytes read.
    func read(into room: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        var done = 0
        while done < room.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[done...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// Returns the first `count` bytes, in memory. They are not mapped: if a mapped file cannot be read on access, for
    /// example because its disk fails, the system ends the process with SIGBUS.
    func bytes(_ count: Int) throws(PosixError) -> Bytes {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: room[..<count])) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
        errno = 0
        guard unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: room[..<count]), at: 0) == count else {
            throw errno == 0 ? PosixError(code: EIO) : .last
        }
        return bytes
    }
}

/// An error of the operating system.
package struct PosixError: Error {
    let code: Int32

    package init(code: Int32) { self.code = code }

    static var last: PosixError { PosixError(code: errno) }

    /// The system's message, such as "No space left on device".
    package var text: String { unsafe String(cString: strerror(code)) }
}
