internal import Glibc

/// A description of how a process ended, for messages.
struct DecoderEnding: CustomStringConvertible {
    /// The signal that ended it, or 256 plus its exit status; 0 if unknown.
    private let status: Int32

    init(_ status: Int32) {
        self.status = status
    }

    var description: String {
        if status == 0 { return "it is not known how" }
        if status >= 256 { return "it exited with status \(status - 256)" }
        let names = [
            SIGSEGV: "a crash", SIGBUS: "a crash", SIGILL: "a crash", SIGTRAP: "a crash", SIGFPE: "a crash",
            SIGABRT: "it gave up", SIGSYS: "it asked the system for what decoders may not have",
            SIGKILL: "it was killed", SIGXCPU: "it computed for too long", SIGXFSZ: "it wanted too much memory",
        ]
        return "\(names[status] ?? "a signal") (signal \(status))"
    }
}
