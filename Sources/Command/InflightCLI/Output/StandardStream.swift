import Glibc

/// Standard output or standard error, written completely and without a buffer of its own.
struct StandardStream: Sendable {
    enum WriteError: Error, Equatable {
        /// The reader has closed the stream.
        case closed
        case failed(errno: Int32)

        /// The error as a system error.
        var system: SystemError {
            switch self {
            case .closed: SystemError(code: EPIPE)
            case .failed(let code): SystemError(code: code)
            }
        }
    }

    let descriptor: Int32

    static let output = StandardStream(descriptor: 1)
    static let error = StandardStream(descriptor: 2)

    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The width of the terminal; `nil` if the stream is not a terminal, or if the width is unknown.
    var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The maximum width of lines, from 32 to 400: that of the terminal or, if it is not one, the value of `COLUMNS`.
    var maximumLineWidth: Int? {
        let told = unsafe getenv("COLUMNS").flatMap { unsafe Int(String(cString: $0)) }
        return (columns ?? told).map { min(400, max(32, $0)) }
    }

    /// Writes all bytes, and blocks until they are written.
    func write(_ bytes: [UInt8]) throws(WriteError) {
        try unsafe bytes.withUnsafeBytes { buffer in
            Result { () throws(WriteError) in try unsafe write(buffer) }
        }.get()
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(WriteError) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let written = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written >= 0 {
                unsafe rest = rest.dropFirst(written)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilWritable()
            case EPIPE, EBADF: throw .closed
            default: throw .failed(errno: errno)
            }
        }
    }

    /// Writes a message and ignores failures, for output that is not the result of the command.
    func say(_ text: String) {
        try? write(Array(text.utf8))
    }

    private func waitUntilWritable() {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&watched, 1, -1)
    }

    /// Opens descriptors 0 to 2 if they are closed, so that no file that the program opens gets their number and
    /// receives output.
    static func reserveDescriptors() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // `open` returns the lowest free number, which is this one. The opposite access mode makes its use fail.
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
