internal import Glibc
public import InflightCore
internal import InflightWorker

/// The main loop of a decoder process.
///
/// It enters the sandbox, decodes images on request, one after the other, and ends with the program that started it.
///
/// ```swift
/// DecoderService(codecs: [MyCodec()]).run()      // all of the decoder program's `main.swift`
/// ```
public struct DecoderService {
    private let codecs: [any ImageCodec]
    private let missing: () -> [String]
    private let prepare: () throws(LoadError) -> Void

    /// Creates a service, without entering the sandbox.
    ///
    /// - Parameters:
    ///   - codecs: the first that supports a format is used. Their formats are queried after `prepare`.
    ///   - missing: returns the names, without spaces, of absent components to report to the program: see
    ///     ``DecoderCapabilities/missing``. Called after `prepare`.
    ///   - prepare: loads and opens everything that the codecs will need. No file can be opened afterwards. If it
    ///     throws, the process exits, and the program reports the error's message.
    public init(
        codecs: [any ImageCodec], missing: @escaping () -> [String] = { [] },
        prepare: @escaping () throws(LoadError) -> Void = {}
    ) {
        self.codecs = codecs
        self.missing = missing
        self.prepare = prepare
    }

    /// Serves the program at the other end of descriptors 3 and 4, and exits when that program ends.
    ///
    /// Call it on the main thread, before any other starts. It closes all descriptors from 5 on. If the process was not
    /// started by a ``DecoderPool``, it prints a message and exits with status 2. If the sandbox cannot
    /// be closed, it reports that to the program and exits.
    public func run() -> Never {
        Descriptor.closeAll(from: 5)
        // The runtime's handlers would start a backtrace program. By default, a crash ends the process with its signal.
        for crash in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] { signal(crash, SIG_DFL) }
        let requests = MessageSocket(Descriptor(3))
        guard case .message(let first, _) = requests.receive(upTo: 4096),
            case .begin(let maximumMemory, let maximumSeconds) = DecoderRequest(first)
        else {
            Self.say("inflight-decoder is started by programs that use Inflight. It cannot be run by itself.\n")
            _exit(2)
        }
        var sandbox = Sandbox()
        sandbox.begin()
        do throws(LoadError) {
            try prepare()
        } catch {
            _ = requests.send(DecoderReply.notReady(message: error.message).message)
            _exit(1)
        }
        let codecs = CodecRegistry(codecs)
        let missing = missing()
        if let missing = sandbox.close(maximumMemory: maximumMemory, maximumSeconds: maximumSeconds) {
            _ = requests.send(DecoderReply.notReady(message: missing).message)
            _exit(1)
        }
        // Started after the sandbox is closed, so that its thread has no more rights than this one.
        let watch = ControlListener(MessageSocket(Descriptor(4)))
        _ = requests.send(
            DecoderReply.ready(
                decodes: Array(codecs.decodableFormats), encodes: Array(codecs.encodableFormats),
                protections: sandbox.protections.sorted { $0.rawValue < $1.rawValue }, missing: missing
            ).message)
        DecoderLoop(codecs: codecs, requests: requests, watch: watch).run()
    }

    private static func say(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(2, $0.baseAddress!, $0.count) }
    }
}
