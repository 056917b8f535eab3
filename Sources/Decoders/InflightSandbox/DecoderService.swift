internal import Glibc
public import InflightCore
internal import InflightWorker

/// The life of a decoder's process: it gives up everything but decoding, then decodes what it is asked to, one picture
/// after the other, and ends with the program that started it.
public struct DecoderService {
    private let codecs: [any ImageCodec]
    private let missing: () -> [String]
    private let prepare: () throws(LoadError) -> Void

    /// - Parameters:
    ///   - codecs: for a format that several read, the first. What they read and write they are asked behind `prepare`.
    ///   - missing: which parts of theirs are not here, by names without blanks, which the program is told: see
    ///     ``/InflightWorker/DecoderCapabilities/missing``. Asked for behind `prepare`.
    ///   - prepare: loads and opens whatever the codecs will need. Afterwards no file can be opened any more.
    public init(
        codecs: [any ImageCodec], missing: @escaping () -> [String] = { [] },
        prepare: @escaping () throws(LoadError) -> Void = {}
    ) {
        self.codecs = codecs
        self.missing = missing
        self.prepare = prepare
    }

    /// Serves the program at the other end of descriptors 3 and 4. To be called by a program's main thread, before there
    /// is another.
    public func run() -> Never {
        Descriptor.closeAll(from: 5)
        // The language's own handlers would start a program that tells of the crash: here that ends with the signal.
        for crash in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] { signal(crash, SIG_DFL) }
        let requests = MessageSocket(Descriptor(3))
        guard case .message(let first, _) = requests.receive(upTo: 4096),
            case .begin(let maximumMemory, let maximumSeconds) = DecoderRequest(first)
        else {
            Self.say("inflight-decoder is started by programs that use Inflight, and does nothing by itself.\n")
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
        // Behind the sandbox, so that its thread has no more rights than this one.
        let watch = ControlWatch(MessageSocket(Descriptor(4)))
        _ = requests.send(
            DecoderReply.ready(
                decodes: Array(codecs.decodableFormats), encodes: Array(codecs.encodableFormats),
                protections: sandbox.protections.sorted { $0.rawValue < $1.rawValue }, missing: missing
            ).message)
        DecoderWork(codecs: codecs, requests: requests, watch: watch).run()
    }

    private static func say(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(2, $0.baseAddress!, $0.count) }
    }
}
