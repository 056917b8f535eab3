import Glibc
import Inflight
import InflightConcurrency

/// The terminal that a command is controlled from: what is changed of it for a while, and put back whatever happens.
///
/// May be used from any thread. There is one for a process at most.
final class TerminalModes: Sendable {
    /// Where answers are read: the terminal itself, whatever standard input is.
    let descriptor: Int32
    private let original: termios
    private let isChanged = Guarded(false)
    /// For a terminal that takes nothing when the end cannot wait, in milliseconds.
    private static let longestWait: Int32 = 250

    /// `nil` where `stream` is not the terminal that this process is controlled from, or where another job has it: whoever
    /// runs in the background is stopped for changing it.
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

    /// Nothing that is typed, or answered, is seen on the screen or waits for the end of a line. Ctrl-C stays what it is;
    /// Ctrl-Z does nothing, as nobody could put back what a stopped program has changed.
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

    /// Puts everything back.
    ///
    /// - Parameter forgetsInput: what has come in and nobody has read is dropped: half an answer is no command for the
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

    /// As ``restore(forgetsInput:)``, for an end that does not wait for whoever is writing: whatever that may be is ended
    /// first.
    func abandon() {
        let sequence = Array(TerminalRescue.sequence.utf8)
        let isWritable = isChanged.withLock { isChanged in
            // A terminal that takes nothing, as after Ctrl-S, would hold up the end. One that another thread is writing to
            // right now takes nothing either, but soon does.
            var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return unsafe isChanged && poll(&watched, 1, Self.longestWait) > 0
        }
        if isWritable { _ = unsafe write(descriptor, sequence, sequence.count) }
        restore(forgetsInput: true)
    }
}

/// Puts the terminal back where the process crashes in between.
enum TerminalRescue {
    /// Ends whatever command is being written, brings back the terminal's own colours and its cursor.
    static let sequence = "\u{1B}\\\u{1B}[0m\u{1B}[?25h"

    private struct Saved {
        var descriptor: Int32
        var modes: termios
    }

    // Written once, before any handler is set; a handler only reads. Never released: a crash may come at any time.
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
            // Everything called in here may be called in a handler (POSIX.1-2017, 2.4.3).
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
