import Glibc

/// The file that a drawing, or a trace, goes to. It appears whole or not at all, and that it can be written is known before there is
/// anything to write.
struct DrawingFile: Sendable {
    private let path: String
    private let draft: String
    private let descriptor: Int32

    /// - Throws: what the system says against a file there.
    init(_ path: String) throws(SystemError) {
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw SystemError(code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        self.path = path
        draft = path + ".\(getpid()).partial"
        descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        if descriptor < 0 { throw .last }
    }

    func finish(_ text: String) throws(SystemError) {
        try append(Array(text.utf8))
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
