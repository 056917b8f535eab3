internal import Glibc

/// A temporary file for a body that does not fit into memory, or that is downloaded to a file. It has no name, so
/// nothing remains of it, however the process ends.
final class SpillFile: Sendable {
    fileprivate let descriptor: Int32

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

    /// Creates a file that can get a name in `folder`, if its file system knows such files.
    init(forDownloadsTo folder: String) throws(PosixError) {
        let opened = unsafe Glibc.open(folder, Self.unnamed | O_RDWR | O_CLOEXEC, 0o666)
        descriptor = try opened >= 0 ? opened : Self.open(in: folder)
    }

    /// Creates a file with a name, for a body that is complete.
    fileprivate init(named path: String) throws(PosixError) {
        descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw .last }
    }

    /// O_TMPFILE, which Swift does not import.
    private static var unnamed: Int32 { 0o20000000 | O_DIRECTORY }

    deinit {
        close(descriptor)
    }

    private static func open(in folder: String) throws(PosixError) -> Int32 {
        for _ in 0..<16 {
            let path = draft(in: folder)
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

    /// Returns a path for a file that is about to get another.
    private static func draft(in folder: String) -> String {
        "\(folder)/.inflight-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    }

    func write(_ bytes: Bytes, at offset: Int) throws(PosixError) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(PosixError) in try unsafe write(bytes, at: offset) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(PosixError) {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
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

// Files of downloads.

extension SpillFile {
    /// Puts the first `count` bytes at `path`, in place of a file there and with its permissions. There is never a file
    /// with a part of them, also if this fails.
    ///
    /// - Parameter copies: whether this file has to stay as it is. If not, it gets the name itself where possible.
    func publish(_ count: Int, at path: String, copies: Bool) throws(PosixError) {
        var old = stat()
        let permissions = unsafe stat(path, &old) == 0 ? old.st_mode & 0o7777 : nil
        let draft = Self.draft(in: Self.folder(of: path))
        do throws(PosixError) {
            if copies || !isNamed(draft) {
                try SpillFile(named: draft).takeBytes(of: self, count, permissions: permissions)
            } else {
                try finish(permissions: permissions)
            }
            guard unsafe rename(draft, path) == 0 else { throw .last }
        } catch {
            unsafe unlink(draft)
            throw error
        }
    }

    /// Returns the folder of a path.
    static func folder(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Gives the file a name. Returns whether its file system allows that: it must be the folder's, and know files
    /// without a name.
    private func isNamed(_ path: String) -> Bool {
        unsafe linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0
    }

    private func takeBytes(of other: SpillFile, _ count: Int, permissions: mode_t?) throws(PosixError) {
        var written = 0
        try unsafe other.forEachPiece(count) { (piece) throws(PosixError) in
            try unsafe write(piece, at: written)
            written += piece.count
        }
        try finish(permissions: permissions)
    }

    /// Calls `body` with the first `count` bytes, piece by piece.
    func forEachPiece(
        _ count: Int, _ body: (UnsafeRawBufferPointer) throws(PosixError) -> Void
    ) throws(PosixError) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: min(max(1, count), 1 << 20), alignment: 16)
        defer { unsafe room.deallocate() }
        for start in stride(from: 0, to: count, by: room.count) {
            let piece = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<min(room.count, count - start)])
            guard unsafe read(into: piece, at: start) == piece.count else { throw PosixError(code: EIO) }
            try unsafe body(UnsafeRawBufferPointer(piece))
        }
    }

    private func finish(permissions: mode_t?) throws(PosixError) {
        if let permissions, fchmod(descriptor, permissions) != 0 { throw .last }
        // Some file systems report only when a file is closed that the disk is full.
        let other = dup(descriptor)
        guard other >= 0, close(other) == 0 else { throw .last }
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
