import Glibc

/// Standard output or standard error, written whole and without a buffer of its own.
struct StandardStream: Sendable {
    enum WriteError: Error, Equatable {
        /// Nobody reads any more.
        case closed
        case failed(errno: Int32)

        /// As the system says it.
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

    /// The terminal's width; `nil` where it is none, or does not say.
    var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// How wide lines may be: the terminal's width, or where it is none, what `COLUMNS` says; from 32 to 400.
    var toldColumns: Int? {
        let told = unsafe getenv("COLUMNS").flatMap { unsafe Int(String(cString: $0)) }
        return (columns ?? told).map { min(400, max(32, $0)) }
    }

    /// Blocks until all is written.
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

    /// Writes, and lets it be where that is not possible: for what is said beside the work.
    func say(_ text: String) {
        try? write(Array(text.utf8))
    }

    private func waitUntilWritable() {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&watched, 1, -1)
    }

    /// Makes sure that descriptors 0 to 2 are open, so that no file of ours takes their place and no output goes into
    /// it.
    static func reserveDescriptors() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The lowest free number is taken: this one. Open for the other direction, so that use is still an error.
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
