import Glibc
import Inflight
import InflightConcurrency

/// The controlling terminal: changes its modes temporarily, and restores them in the end, even after a crash.
///
/// May be used from any thread. There is at most one per process.
final class TerminalModes: Sendable {
    /// The descriptor for reading replies: the terminal itself, whatever standard input is.
    let descriptor: Int32
    private let original: termios
    private let isChanged = Guarded(false)
    /// The maximum wait, in milliseconds, for a terminal that accepts no output while the process has to exit.
    private static let longestWait: Int32 = 250

    /// Returns `nil` if `stream` is not the controlling terminal of this process, or if this process is in the
    /// background: the system stops a background process that changes the terminal.
    init?(_ stream: StandardStream) {
        guard tcgetpgrp(stream.descriptor) == getpgrp() else { return nil }
        let descriptor = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var original = termios()
        guard descriptor >= 0, unsafe tcgetattr(descriptor, &original) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        self.descriptor = descriptor
        self.original = original
        TerminalRescue.prepare(descriptor, original)
    }

    deinit { close(descriptor) }

    /// Turns off echo and line buffering for typed input and for replies. Ctrl-C still works. Ctrl-Z does nothing,
    /// because a stopped program could not restore the terminal.
    func silence() {
        var quiet = original
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON)
        unsafe withUnsafeMutableBytes(of: &quiet.c_cc) { keys in
            unsafe keys[Int(VMIN)] = 0
            unsafe keys[Int(VTIME)] = 0
            // `_POSIX_VDISABLE` of Linux.
            unsafe keys[Int(VSUSP)] = 0
        }
        isChanged.withLock { isChanged in
            isChanged = true
            TerminalRescue.arm()
            _ = unsafe tcsetattr(descriptor, TCSANOW, &quiet)
        }
    }

    /// Restores the terminal.
    ///
    /// - Parameter forgetsInput: Whether to drop unread input, so that half a reply does not become a command for the
    ///   shell.
    func restore(forgetsInput: Bool) {
        isChanged.withLock { isChanged in
            guard isChanged else { return }
            isChanged = false
            var original = original
            _ = unsafe tcsetattr(descriptor, forgetsInput ? TCSAFLUSH : TCSANOW, &original)
            TerminalRescue.disarm()
        }
    }

    /// Restores the terminal like ``restore(forgetsInput:)``, for an exit that does not wait for a writer. It first
    /// ends any command that is being written.
    func abandon() {
        let sequence = Array(TerminalRescue.sequence.utf8)
        let isWritable = isChanged.withLock { isChanged in
            // A terminal that accepts no output, as after Ctrl-S, would delay the exit. While another thread writes, a
            // terminal may accept none either, but only briefly.
            var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return unsafe isChanged && poll(&watched, 1, Self.longestWait) > 0
        }
        if isWritable { _ = unsafe write(descriptor, sequence, sequence.count) }
        restore(forgetsInput: true)
    }
}

/// Restores the terminal if the process crashes while the modes are changed.
enum TerminalRescue {
    /// Ends any command that is being written, and restores the default colours and the cursor.
    static let sequence = "\u{1B}\\\u{1B}[0m\u{1B}[?25h"

    private struct Saved {
        var descriptor: Int32
        var modes: termios
    }

    // Written once, before any handler is set; a handler only reads. Never released, as a crash may happen at any time.
    nonisolated(unsafe) private static let saved = UnsafeMutablePointer<Saved>.allocate(capacity: 1)
    // Written once, as above.
    nonisolated(unsafe) private static let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(
        capacity: sequence.utf8.count)

    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT]

    static func prepare(_ descriptor: Int32, _ modes: termios) {
        unsafe saved.initialize(to: Saved(descriptor: descriptor, modes: modes))
        _ = unsafe bytes.initialize(from: sequence.utf8)
    }

    static func arm() {
        for number in signals {
            // A signal handler may call all functions used here (POSIX.1-2017, 2.4.3).
            signal(number) { number in
                _ = unsafe tcsetattr(
                    TerminalRescue.saved.pointee.descriptor, TCSANOW, &TerminalRescue.saved.pointee.modes)
                _ = unsafe write(
                    TerminalRescue.saved.pointee.descriptor, TerminalRescue.bytes.baseAddress,
                    TerminalRescue.bytes.count)
                _ = signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    static func disarm() {
        for number in signals { signal(number, SIG_DFL) }
    }
}
