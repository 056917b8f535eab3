internal import Glibc
package import InflightConcurrency

/// Runs code that may crash, hang or corrupt memory in a separate process, and ends that process.
///
/// The program starts itself again. The child reports each record at once, so that everything
/// before a crash is known.
package struct ChildLauncher: Sendable {
    /// The end of a child.
    package enum Ending: Equatable, Sendable {
        case exited(status: Int)
        case crashed(signal: Int)
        /// The child was still running at the time limit, and was killed.
        case timedOut
    }

    package struct Outcome: Sendable {
        package var ending: Ending
        package var events: [RecordedEvent]
        /// The time at which the child had ended, on the clock of the records.
        package var endedAt: MonotonicTime
        /// The beginning of its output on standard error.
        package var errors: String
    }

    /// The maximum number of bytes taken of each of a child's streams.
    private static let limit = 1 << 20

    /// The path of the program.
    private let executable: String

    /// - Parameter executable: By default this process's own.
    package init(executable: String = "/proc/self/exe") {
        self.executable = executable
    }

    /// Runs one child until it ends, and kills it after `timeout`.
    ///
    /// Blocks the calling thread. If this process ends meanwhile, by whatever signal, the child ends with it.
    package func run(_ name: String, _ arguments: [String] = [], timeout: Duration) throws(LabError) -> Outcome {
        let (output, errors) = (try Pipe(), try Pipe())
        let child = try spawn(["--child", name, "\(getpid())"] + arguments, output, errors)
        output.closeWriting()
        errors.closeWriting()
        let clock = SystemClock()
        let deadline = clock.now() + timeout
        var streams = [output, errors]
        var isOverdue = false
        while streams.contains(where: \.isOpen) {
            let left = (deadline - clock.now()).saturatedNanoseconds
            if left <= 0 {
                isOverdue = true
                break
            }
            Self.read(&streams, milliseconds: Int32(clamping: left / 1_000_000 + 1))
        }
        if isOverdue {
            kill(child, SIGKILL)
            while streams.contains(where: \.isOpen) { Self.read(&streams, milliseconds: -1) }
        }
        let ending = Self.wait(for: child)
        let text = String(decoding: streams[0].bytes, as: UTF8.self)
        return Outcome(
            ending: isOverdue ? .timedOut : ending,
            events: text.split(separator: "\n").compactMap { RecordedEvent(line: $0) }, endedAt: clock.now(),
            errors: String(decoding: streams[1].bytes, as: UTF8.self))
    }

    private func spawn(_ arguments: [String], _ output: Pipe, _ errors: Pipe) throws(LabError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writing, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors.writing, 2)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // This process may have blocked or ignored signals, but signals have to be able to end the child.
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))

        var words = unsafe (["inflight-lab"] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        var variables = unsafe Self.environment
        defer { unsafe variables.forEach { unsafe free($0) } }
        let status = unsafe posix_spawn(&child, executable, &actions, &attributes, &words, &variables)
        guard status == 0 else {
            throw LabError("Cannot start a child process (error \(status)). Check the process limit (ulimit -u).")
        }
        return child
    }

    /// This process's environment, but without backtraces, because the crash is intended.
    private static var environment: [UnsafeMutablePointer<CChar>?] {
        var variables = unsafe [strdup("SWIFT_BACKTRACE=enable=no")]
        var next = unsafe environ
        while let variable = unsafe next.pointee {
            if unsafe strncmp(variable, "SWIFT_BACKTRACE=", 16) != 0 { unsafe variables.append(strdup(variable)) }
            unsafe next += 1
        }
        return unsafe variables + [nil]
    }

    private static func wait(for child: pid_t) -> Ending {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? .exited(status: Int(status >> 8 & 0xFF)) : .crashed(signal: Int(signal))
    }

    private static func read(_ streams: inout [Pipe], milliseconds: Int32) {
        var watched = streams.map { pollfd(fd: $0.isOpen ? $0.reading : -1, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&watched, nfds_t(watched.count), milliseconds) > 0 else { return }
        for index in streams.indices where watched[index].revents != 0 { streams[index].take(limit: limit) }
    }

    /// The pipe from the child to this process.
    private final class Pipe {
        let reading: Int32
        let writing: Int32
        private(set) var isOpen = true
        private(set) var bytes: [UInt8] = []
        private var writingIsOpen = true

        init() throws(LabError) {
            var ends: [Int32] = [0, 0]
            guard unsafe pipe(&ends) == 0 else {
                throw LabError("Cannot open a pipe: too many open files. Raise the limit (ulimit -n).")
            }
            (reading, writing) = (ends[0], ends[1])
            // Not to be inherited by other children.
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }

        deinit {
            close(reading)
            if writingIsOpen { close(writing) }
        }

        func closeWriting() {
            close(writing)
            writingIsOpen = false
        }

        /// Reads the available bytes. Those beyond the limit are discarded, so that the pipe never blocks the child.
        func take(limit: Int) {
            var chunk = [UInt8](repeating: 0, count: 16_384)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(reading, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes += chunk[..<min(count, limit - bytes.count)]
            } else if count == 0 || errno != EINTR {
                isOpen = false
            }
        }
    }
}

extension ChildLauncher.Ending {
    /// The text at the end of a sentence.
    package var text: String {
        switch self {
        case .exited(let status): status == 0 ? "exited" : "exited with status \(status)"
        case .crashed(let signal): "was killed by \(Self.name(of: signal))"
        case .timedOut: "did not end, and was killed at the time limit"
        }
    }

    /// The text beside a mark.
    package var mark: String {
        switch self {
        case .exited: "ended"
        case .crashed(let signal): Self.name(of: signal)
        case .timedOut: "killed"
        }
    }

    /// The text in a table.
    package var short: String {
        switch self {
        case .exited(let status): "status \(status)"
        case .crashed(let signal): Self.name(of: signal)
        case .timedOut: "hung"
        }
    }

    private static func name(of signal: Int) -> String {
        switch Int32(signal) {
        case SIGILL: "SIGILL"
        case SIGTRAP: "SIGTRAP"
        case SIGABRT: "SIGABRT"
        case SIGSEGV: "SIGSEGV"
        case SIGBUS: "SIGBUS"
        case SIGKILL: "SIGKILL"
        default: "signal \(signal)"
        }
    }
}
