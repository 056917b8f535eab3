import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A pipeline over a script, with the clock and the callback queue in the test's hand.
struct Stage: Sendable {
    let transport: ScriptedTransport
    let clock = VirtualClock()
    let queue = ManualQueue()
    let codec: FakeCodec
    let pipeline: ImagePipeline

    static let url = "http://a.example/1"

    init(
        _ mode: ScriptedTransport.Mode = .manual, codec: FakeCodec = FakeCodec(),
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws {
        transport = ScriptedTransport(mode)
        self.codec = codec
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([codec]))
        configuration.clock = clock
        configuration.memoryCache = MemoryCacheConfiguration(limit: 1 << 20, reactsToMemoryPressure: false)
        change(&configuration)
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Loads bytes, and writes down what is heard: `name: text or code`.
    @discardableResult
    func load(
        _ url: String = Self.url, priority: LoadPriority = .normal, log: Log = Log(), name: String = "end",
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> ImageTask {
        var request = ImageRequest(url, priority: priority)
        change(&request)
        return pipeline.loadResponse(request, on: queue.callbackQueue) { _, result in
            log.add("\(name): \(result.shown)")
        }
    }
}
