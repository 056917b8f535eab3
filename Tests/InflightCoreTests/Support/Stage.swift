import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A pipeline over a script, with the clock and the callback queue in the test's hand.
final class Stage: Sendable {
    let transport: ScriptedTransport
    let clock = VirtualClock()
    let queue = ManualQueue()
    let codec: FakeCodec
    let pipeline: ImagePipeline
    private let isManual: Bool

    static let url = "http://a.example/1"

    init(
        _ mode: ScriptedTransport.Mode = .manual, codec: FakeCodec = FakeCodec(),
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws {
        transport = ScriptedTransport(mode)
        isManual = mode == .manual
        self.codec = codec
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([codec]))
        configuration.clock = clock
        configuration.memoryCache = MemoryCacheConfiguration(limit: 1 << 20, reactsToMemoryPressure: false)
        change(&configuration)
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Ends what the test left as it was: what waits on the queue holds its task, and that the queue.
    deinit {
        if isManual {
            transport.release("")
            transport.finishAll()
        }
        while queue.count > 0 { queue.dropAll() }
    }

    /// Loads bytes, and writes down what is heard, progress too: numbers of bytes, then text or code.
    @discardableResult
    func loadInSteps(_ request: ImageRequest = ImageRequest(Stage.url), log: Log, prefix: String = "") -> ImageTask {
        pipeline.loadResponse(request, on: queue.callbackQueue) { _, progress in
            log.add("\(prefix)\(progress.receivedBytes)")
        } completion: { _, result in
            log.add(prefix + result.shown)
        }
    }

    /// Loads bytes, and writes down what is heard: `name: text or code`.
    @discardableResult
    func load(
        _ url: String = Stage.url, priority: LoadPriority = .normal, log: Log = Log(), name: String = "end",
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> ImageTask {
        var request = ImageRequest(url, priority: priority)
        change(&request)
        return pipeline.loadResponse(request, on: queue.callbackQueue) { _, result in
            log.add("\(name): \(result.shown)")
        }
    }
}
