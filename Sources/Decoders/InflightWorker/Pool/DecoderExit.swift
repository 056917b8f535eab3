internal import Glibc

/// A description of how a process ended, for messages.
struct DecoderExit: CustomStringConvertible {
    /// The signal that ended the process, or 256 plus the exit status; 0 if unknown.
    private let status: Int32

    init(_ status: Int32) {
        self.status = status
    }

    var description: String {
        if status == 0 { return "unknown cause" }
        if status >= 256 { return "exit status \(status - 256)" }
        let names = [
            SIGSEGV: "crash", SIGBUS: "crash", SIGILL: "crash", SIGTRAP: "crash", SIGFPE: "crash",
            SIGABRT: "aborted", SIGSYS: "forbidden system call",
            SIGKILL: "killed", SIGXCPU: "CPU time limit exceeded", SIGXFSZ: "memory limit exceeded",
        ]
        return "\(names[status] ?? "terminated") (signal \(status))"
    }
}
