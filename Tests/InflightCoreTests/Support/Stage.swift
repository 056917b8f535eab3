import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A pipeline over a scripted transport; the test controls the clock and the callback queue.
final class Stage: Sendable {
    let transport: ScriptedTransport
    let clock = VirtualClock()
    let queue = ManualQueue()
    let codec: FakeCodec
    let pipeline: ImagePipeline
    /// The executor of decodes, if the test runs them by hand.
    private let executor: ManualExecutor?
    private let isManual: Bool

    static let url = "http://a.example/1"

    init(
        _ mode: ScriptedTransport.Mode = .manual, codec: FakeCodec = FakeCodec(), executor: ManualExecutor? = nil,
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws {
        transport = ScriptedTransport(mode)
        isManual = mode == .manual
        self.codec = codec
        self.executor = executor
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([codec]))
        configuration.clock = clock
        configuration.memoryCache = MemoryCacheConfiguration(limit: 1 << 20, reactsToMemoryPressure: false)
        configuration.decodeExecutor = executor
        change(&configuration)
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Finishes what the test left pending. A queued callback retains its task, and the task the queue; a queued decode
    /// retains its engine, and the engine the executor.
    deinit {
        if isManual {
            transport.release("")
            transport.finishAll()
        }
        executor?.runAll()
        while queue.count > 0 { queue.dropAll() }
    }

    /// Runs the decodes queued on the executor, if the test runs them by hand.
    func runTurns() { executor?.runAll() }

    /// Makes one step of the oldest exchange with this URL, after the time in which progress is reported once.
    func step(_ url: String = Stage.url) {
        clock.advance(by: .milliseconds(16))
        transport.step(url)
    }

    /// Loads bytes and logs each callback: progress as a byte count, then the text or the error code.
    @discardableResult
    func loadInSteps(_ request: ImageRequest = ImageRequest(Stage.url), log: Log, prefix: String = "") -> ImageTask {
        pipeline.loadResponse(request, on: queue.callbackQueue) { _, progress in
            log.add("\(prefix)\(progress.receivedBytes)")
        } completion: { _, result in
            log.add(prefix + result.shown)
        }
    }

    /// Loads bytes and logs the result as `name: text or code`.
    @discardableResult
    func load(
        _ url: String = Stage.url, priority: ImageRequest.Priority = .normal, log: Log = Log(), name: String = "end",
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> ImageTask {
        var request = ImageRequest(url, priority: priority)
        change(&request)
        return pipeline.loadResponse(request, on: queue.callbackQueue) { _, result in
            log.add("\(name): \(result.shown)")
        }
    }
}
