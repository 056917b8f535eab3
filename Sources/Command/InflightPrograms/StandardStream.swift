internal import Glibc
package import InflightFiles

/// Standard output or standard error, written completely and without a buffer of its own.
package struct StandardStream: Sendable {
    package enum WriteError: Error, Equatable {
        /// The reader has closed the stream.
        case closed
        case failed(errno: Int32)

        /// The error as a system error.
        package var system: SystemError {
            switch self {
            case .closed: SystemError(code: EPIPE)
            case .failed(let code): SystemError(code: code)
            }
        }

        /// Reports why standard output cannot be written, unless its reader has closed it, and returns the exit status.
        package func reported() -> Int32 {
            if self == .closed { return ExitStatus.closedOutput }
            StandardStream.error.say("inflight: Cannot write to standard output: \(system.text).\n")
            return ExitStatus.failure
        }
    }

    package let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    package static let output = StandardStream(descriptor: 1)
    package static let error = StandardStream(descriptor: 2)

    package var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The width of the terminal; `nil` if the stream is not a terminal, or if the width is unknown.
    package var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The maximum width of lines, from 32 to 400: that of the terminal or, if it is not one, the value of `COLUMNS`.
    package var maximumLineWidth: Int? {
        let told = unsafe getenv("COLUMNS").flatMap { unsafe Int(String(cString: $0)) }
        return (columns ?? told).map { min(400, max(32, $0)) }
    }

    /// Writes all bytes, and blocks until they are written.
    package func write(_ bytes: [UInt8]) throws(WriteError) {
        try unsafe bytes.withUnsafeBytes { buffer in
            Result { () throws(WriteError) in try unsafe write(buffer) }
        }.get()
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(WriteError) {
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
    package func say(_ text: String) {
        try? write(Array(text.utf8))
    }

    /// Writes the result of the command, and returns its exit status.
    package func print(_ text: String) -> Int32 { print(Array(text.utf8)) }

    package func print(_ text: [UInt8]) -> Int32 {
        do throws(WriteError) {
            try write(text)
            return ExitStatus.success
        } catch {
            return error.reported()
        }
    }

    private func waitUntilWritable() {
        var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&watched, 1, -1)
    }

    /// Opens descriptors 0 to 2 if they are closed, so that no file that the program opens gets their number and
    /// receives output.
    package static func reserveDescriptors() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // `open` returns the lowest free number, which is this one. The opposite access mode makes its use fail.
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
