import Glibc

/// A file that is written at once: a drawing, a report. It appears whole or not at all, and that it can be written is known
/// before there is anything to write.
struct WholeFile: Sendable {
    private let path: String
    private let draft: String
    private let descriptor: Int32

    /// - Throws: what the system says against a file there.
    init(_ path: String) throws(SystemError) {
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw SystemError(code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        // A link stays one, be it the user's or the system's: what it leads to is replaced.
        let path = Self.target(of: path)
        self.path = path
        draft = path + ".\(getpid()).partial"
        descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        if descriptor < 0 { throw .last }
    }

    private static func target(of path: String) -> String {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        // A link that leads nowhere is replaced as a file would be.
        guard let target = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(target) }
        return unsafe String(cString: target)
    }

    func finish(_ bytes: [UInt8]) throws(SystemError) {
        try append(bytes)
        try finish()
    }

    /// Where it fails, the file is given up.
    func append(_ bytes: [UInt8]) throws(SystemError) {
        do throws(StandardStream.WriteError) {
            try StandardStream(descriptor: descriptor).write(bytes)
        } catch {
            abandon()
            guard case .failed(let code) = error else { throw SystemError(code: EPIPE) }
            throw SystemError(code: code)
        }
    }

    func finish() throws(SystemError) {
        guard unsafe rename(draft, path) == 0 else {
            let error = SystemError.last
            abandon()
            throw error
        }
    }

    /// Leaves nothing behind.
    func abandon() { _ = unsafe unlink(draft) }
}
