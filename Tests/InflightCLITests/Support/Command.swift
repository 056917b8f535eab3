import FoundationEssentials
import Glibc
import InflightTestSupport

/// The built command, run as a separate process.
final class RunningCommand {
    /// The destination of standard error.
    enum Errors {
        case captured
        /// A controlling terminal of that size; bytes written to it are typed input. A cell of zero pixels means that
        /// the terminal does not report its cell size.
        case terminal(columns: UInt16, rows: UInt16 = 24, cell: (width: UInt16, height: UInt16) = (0, 0))
    }

    let pid: pid_t
    private let directory: TemporaryDirectory
    private var input: Int32?
    private var outputEnd: Int32?
    private(set) var terminal: Int32?

    /// - Parameters:
    ///   - arguments: the arguments, without the name of the command.
    ///   - workingDirectory: the folder in which it runs.
    ///   - input: the text of its standard input. If nil, the input stays open for ``type(_:)``.
    ///   - pipesOutput: whether its standard output is a pipe that ``closeOutput()`` closes.
    ///   - prefix: shell commands that run first, in the same process.
    init(
        _ arguments: [String], in workingDirectory: TemporaryDirectory, input: String? = "",
        environment: [String: String] = [:], pipesOutput: Bool = false, errors: Errors = .captured, prefix: String = ""
    ) {
        directory = TemporaryDirectory()
        // The command may have ended before input is typed, which must not kill the test process.
        Glibc.signal(SIGPIPE, SIG_IGN)
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)

        var closedByParent: [Int32] = []
        if let input {
            directory.write("in", input)
            unsafe posix_spawn_file_actions_addopen(&actions, 0, directory.appending("in"), O_RDONLY, 0)
        } else {
            let (read, write) = Self.pipe()
            unsafe posix_spawn_file_actions_adddup2(&actions, read, 0)
            closedByParent.append(read)
            self.input = write
        }
        if pipesOutput {
            let (read, write) = Self.pipe()
            unsafe posix_spawn_file_actions_adddup2(&actions, write, 1)
            closedByParent.append(write)
            outputEnd = read
        } else {
            unsafe posix_spawn_file_actions_addopen(
                &actions, 1, directory.appending("out"), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        switch errors {
        case .captured:
            unsafe posix_spawn_file_actions_addopen(
                &actions, 2, directory.appending("err"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        case .terminal(let columns, let rows, let cell):
            let (master, name) = Self.terminal(Self.window(columns, rows, cell))
            // The first terminal that a session leader opens becomes its controlling terminal.
            unsafe posix_spawn_file_actions_addopen(&actions, 2, name, O_RDWR, 0)
            flags |= Self.newSession
            terminal = master
            initialTerminalModes = Self.modes(of: master)
        }
        // Otherwise descriptors of concurrent tests would count towards a limit that a test sets.
        if let close = unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
            _ = unsafe unsafeBitCast(close, to: CloseFrom.self)(&actions, 3)
        }
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

        // Disables retries, except in tests about retries.
        var arguments = arguments
        if arguments.first == "get", !arguments.contains("--retries") {
            arguments.insert(contentsOf: ["--retries", "0"], at: 1)
        }
        let words =
            ["/bin/sh", "-c", "cd \"$0\" || exit 99\n\(prefix)\nexec \"$@\"", workingDirectory.path, Self.binary]
            + arguments
        var variables = ["PATH": "/usr/bin:/bin", "TERM": "xterm", "TMPDIR": directory.path]
        variables.merge(environment) { $1 }
        var rawWords = unsafe words.map { unsafe strdup($0) } + [nil]
        var list = unsafe variables.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        var pid: pid_t = 0
        let status = unsafe posix_spawn(&pid, words[0], &actions, &attributes, &rawWords, &list)
        precondition(status == 0, "cannot run \(words[0]): \(status)")
        self.pid = pid
        for descriptor in closedByParent { close(descriptor) }
        unsafe (rawWords + list).forEach { unsafe free($0) }
    }

    deinit {
        for descriptor in [input, outputEnd, terminal] where descriptor != nil { close(descriptor!) }
    }

    /// The command that was built with these tests, in the folder of their bundle.
    static let binary = BuiltProgram.path("inflight")

    func type(_ text: String) { Self.write(text, to: input!) }

    func typeOnTerminal(_ text: String) { Self.write(text, to: terminal!) }

    func endInput() {
        close(input!)
        input = nil
    }

    func closeOutput() {
        close(outputEnd!)
        outputEnd = nil
    }

    /// Reads one line of the piped output, including its line break.
    func readLine() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.last != UInt8(ascii: "\n"), unsafe read(outputEnd!, &byte, 1) == 1 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the terminal's output up to a text or to its end.
    func readTerminal(until text: String? = nil) -> String {
        let bytes = readTerminal { seen in text.map { String(decoding: seen, as: UTF8.self).contains($0) } ?? false }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the terminal's output to its end and types the texts that `answer` returns. `answer` is called after every
    /// piece, with all output so far.
    func converse(_ answer: ([UInt8]) -> String?) -> [UInt8] {
        readTerminal { seen in
            answer(seen).map(typeOnTerminal)
            return false
        }
    }

    /// Reads until the end, or until all output so far is enough.
    private func readTerminal(_ isEnough: ([UInt8]) -> Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(terminal!, $0.baseAddress, $0.count) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            if isEnough(bytes) { return bytes }
        }
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Waits for the process to end.
    func wait() -> CommandResult {
        var status: Int32 = 0
        var usage = rusage()
        while unsafe wait4(pid, &status, 0, &usage) == -1 && errno == EINTR {}
        // Negative after a signal, so that tests fail, because the command never ends by one.
        let signal = status & 0x7F
        return CommandResult(
            status: signal == 0 ? status >> 8 & 0xFF : -signal, output: directory.read("out") ?? [],
            errors: String(decoding: directory.read("err") ?? [], as: UTF8.self), peakKilobytes: usage.ru_maxrss)
    }

    private static func pipe() -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        precondition(unsafe Glibc.pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    // From <spawn.h> and <asm/ioctls.h>; Glibc's module shows them only to programs that enable GNU's extensions.
    private typealias CloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    private static let newSession: Int32 = 0x80
    private static let unlockTerminal: UInt = 0x4004_5431
    private static let terminalNumber: UInt = 0x8004_5430

    private static func window(
        _ columns: UInt16, _ rows: UInt16, _ cell: (width: UInt16, height: UInt16)
    ) -> winsize {
        winsize(
            ws_row: rows, ws_col: columns, ws_xpixel: columns &* cell.width, ws_ypixel: rows &* cell.height)
    }

    /// Resizes the terminal's window, as a user does by dragging its corner.
    func resizeTerminal(columns: UInt16, rows: UInt16) {
        var size = Self.window(columns, rows, (0, 0))
        _ = unsafe ioctl(terminal!, UInt(TIOCSWINSZ), &size)
    }

    /// The terminal modes before the command started, which changes them at once.
    private(set) var initialTerminalModes: [UInt32] = []

    /// The current terminal modes that a program may change.
    var terminalModes: [UInt32] { Self.modes(of: terminal!) }

    private static func modes(of terminal: Int32) -> [UInt32] {
        var modes = termios()
        _ = unsafe tcgetattr(terminal, &modes)
        return [modes.c_iflag, modes.c_oflag, modes.c_lflag]
    }

    private static func terminal(_ window: winsize) -> (Int32, name: String) {
        let master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        precondition(master >= 0, "no terminals here")
        var (unlocked, number): (Int32, Int32) = (0, 0)
        _ = unsafe ioctl(master, unlockTerminal, &unlocked)
        _ = unsafe ioctl(master, terminalNumber, &number)
        var size = window
        _ = unsafe ioctl(master, UInt(TIOCSWINSZ), &size)
        return (master, "/dev/pts/\(number)")
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

struct CommandResult {
    var status: Int32
    var output: [UInt8]
    var errors: String
    var peakKilobytes: Int

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The lines of `--json`.
    var lines: [Line] {
        get throws { try decoded() }
    }

    /// The lines of JSON on standard output.
    func decoded<Value: Decodable>() throws -> [Value] {
        try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Value.self, from: Data($0)) }
    }
}

/// A line of `--json`.
struct Line: Decodable, Equatable {
    struct Failure: Decodable, Equatable {
        var code: String
        var stage: String
        var message: String
    }

    var url: String
    var outcome: String
    var file: String?
    var format: String?
    var width: Int?
    var height: Int?
    var bytes: Int?
    var wireBytes: Int?
    var status: Int?
    var from: String?
    var sourceFormat: String?
    var sourceWidth: Int?
    var sourceHeight: Int?
    var finalURL: String?
    var previews: [String]?
    var incomplete: Bool?
    var ms: Int?
    var error: Failure?
    // Fields of `info` only.
    var orientation: Int?
    var frames: Int?
    var loops: Int?
    var durationMilliseconds: Int?
    var color: String?
    var alpha: Bool?
    var readBytes: Int?
}

extension Line {
    init(json: String) throws { self = try JSONDecoder().decode(Line.self, from: Data(json.utf8)) }
}

extension TemporaryDirectory {
    /// Runs the command in this folder until it ends.
    func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:], prefix: String = ""
    ) -> CommandResult {
        run(arguments, input: input, environment: environment, prefix: prefix)
    }

    func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:], prefix: String = ""
    ) -> CommandResult {
        RunningCommand(arguments, in: self, input: input, environment: environment, prefix: prefix).wait()
    }
}
