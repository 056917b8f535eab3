import Glibc
import InflightConcurrency
import InflightCore
import InflightWorker

/// Reads the format `fault`, whose files are a word and a number: what goes wrong, and how much of it. A PSD file has
/// the same after its signature.
struct FaultyCodec: ImageCodec {
    var decodableFormats: Set<ImageFormat> { [ImageFormat(rawValue: "fault"), .psd] }
    var encodableFormats: Set<ImageFormat> { [] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        .info(ImageInfo(format: format, storedWidth: 8, storedHeight: 8))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw CodecError.noEncoder(options.format)
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let text = String(decoding: bytes.array, as: UTF8.self)
        let words = text.split(separator: " ").map(String.init).filter { $0 != "8BPS" }
        let number = words.count > 1 ? Int(words[1]) ?? 0 : 0
        switch words.first {
        case "good": return Self.picture(side: max(1, number))
        case "patient": while !cancellation.isCancelled { sched_yield() }
        case "loop": while true { sched_yield() }
        case "lie": try InvalidReply(number).send()
        case "deaf": Self.answerWithoutReading(bytes)
        default: try SandboxViolation(words.first ?? "").attempt(number)
        }
        throw CodecError.cancelled
    }

    /// Answers this request and all later ones, but reads none of them. It sees a request coming by the last byte of
    /// its input, in the memory that it shares with the program.
    private static func answerWithoutReading(_ bytes: Bytes) -> Never {
        let socket = MessageSocket(Descriptor(3))
        var (id, seen) = (1, UInt8(0))
        while true {
            let last = unsafe bytes.withUnsafeBytes { unsafe $0[$0.count - 1] }
            if last == seen {
                sched_yield()
                continue
            }
            seen = last
            _ = socket.send(DecoderReply.failure(id: id, code: "damaged", message: "deaf", libraryText: nil).message)
            id += 1
        }
    }

    static func picture(side: Int) -> PixelBuffer {
        unsafe PixelBuffer(width: side, height: side, format: .rgba) { memory in
            for index in memory.indices { unsafe memory[index] = UInt8(truncatingIfNeeded: index) }
        }
    }
}

/// What a decoder could do to others if nothing prevented it. The message of an error reports the outcome.
struct SandboxViolation {
    private let name: String

    init(_ name: String) {
        self.name = name
    }

    func attempt(_ number: Int) throws(LoadError) {
        switch name {
        case "crash": fatalError("as ordered")
        case "write":
            // Far out of bounds.
            unsafe UnsafeMutablePointer<UInt8>(bitPattern: UInt(number))!.pointee = 1
        case "allocate": throw told("\(Self.fill())")
        case "share": throw told("\(Self.share())")
        case "open": throw told(Self.outcome(unsafe open("/etc/passwd", O_RDONLY)))
        case "create": throw told(Self.outcome(unsafe open("/tmp/inflight-was-here", O_CREAT | O_WRONLY, 0o600)))
        case "stat":
            // With AT_EMPTY_PATH, the filter allows a path, which it cannot inspect.
            var status = stat()
            throw told(Self.outcome(unsafe fstatat(AT_FDCWD, "/etc/passwd", &status, 0x1000)))
        case "list": throw told(unsafe opendir("/") == nil ? "failed: error \(errno)" : "done")
        case "socket": throw told(Self.outcome(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)))
        case "fork":
            var child: pid_t = 0
            let status = unsafe Self.withArguments { unsafe posix_spawn(&child, "/bin/true", nil, nil, $0, nil) }
            throw told(status == 0 ? "done" : "failed: error \(status)")
        case "exec":
            throw told(Self.outcome(unsafe Self.withArguments { unsafe execv("/bin/true", $0) }))
        case "kill": throw told(Self.outcome(kill(getppid(), SIGTERM)))
        case "execute":
            let memory = unsafe mmap(nil, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            throw told(unsafe memory == MAP_FAILED ? "failed: error \(errno)" : "done")
        case "raise":
            var limit = rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max)
            throw told(Self.outcome(unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)))
        case "descriptors":
            throw told((0..<64).filter { fcntl($0, F_GETFD) >= 0 }.map(String.init).joined(separator: " "))
        case "environment":
            var names: [String] = []
            var variable = unsafe environ
            while let text = unsafe variable.pointee {
                names.append(unsafe String(cString: text))
                unsafe variable += 1
            }
            throw told(names.joined(separator: " "))
        case "exit": _exit(7)
        case "process": throw told("\(getpid())")
        default: throw told("what is \(name)?")
        }
    }

    private func told(_ text: String) -> LoadError { LoadError(.damaged, stage: .decode, message: text) }

    private static func outcome(_ status: Int32) -> String { status < 0 ? "failed: error \(errno)" : "done" }

    private static func withArguments(
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("true"), nil]
        return unsafe body(&arguments)
    }

    /// Allocates memory until there is none left; returns the number of pieces of 1 MiB.
    private static func fill() -> Int {
        var count = 0
        while count < 100_000, let memory = unsafe malloc(1 << 20) {
            unsafe memset(memory, 1, 1 << 20)
            count += 1
        }
        return count
    }

    /// Allocates shared memory in unmapped pieces of 30 MiB until there is none left; returns their size in MiB.
    private static func share() -> Int {
        signal(SIGXFSZ, SIG_IGN)
        var pieces: [Descriptor] = []
        let piece = Bytes([UInt8](repeating: 1, count: 30 << 20))
        while let shared = SharedPixels().seal(piece) { pieces.append(shared) }
        return pieces.count * 30
    }
}
