import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A pipeline with an in-memory store, a scripted transport, and a clock that the test controls.
final class StoreStage: Sendable {
    static let url = "http://a.example/1"
    /// The initial time of the clock as an HTTP date.
    static let date = "Tue, 14 Nov 2023 22:13:20 GMT"

    let transport = ScriptedTransport(.automatic)
    let clock = VirtualClock()
    let store = MemoryStore()
    let codec = FakeCodec()
    let pipeline: ImagePipeline
    /// The pending calls of the store, and the work that precedes them.
    private let calls = PendingCalls()
    private let sentRequests = Guarded([TransportRequest]())

    init(
        retry: RetryPolicy? = nil, change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([codec]))
        configuration.clock = clock
        configuration.memoryCache = MemoryCacheConfiguration(limit: 1 << 20, reactsToMemoryPressure: false)
        configuration.store = .shared(store)
        configuration.retry = retry
        change(&configuration)
        if case .shared(let store) = configuration.store {
            configuration.store = .shared(AwaitableStore(store, calls: calls))
        }
        let executor = configuration.decodeExecutor ?? WorkerThreads(count: MachineSize.processors, name: "decode")
        configuration.decodeExecutor = AwaitableExecutor(base: executor, calls: calls)
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Serves the requests for a URL with the scripts in order; the last script repeats.
    func serve(_ url: String = StoreStage.url, _ scripts: ScriptedTransport.Script...) { serve(url, scripts) }

    func serve(_ url: String, _ scripts: [ScriptedTransport.Script]) {
        let left = Guarded(scripts)
        transport.serve(url) { [sentRequests] request in
            sentRequests.withLock { $0.append(request) }
            return left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    /// Records a request, for responses that a test makes itself. It does not retain the stage, which retains it.
    var noteSent: @Sendable (TransportRequest) -> Void {
        { [sentRequests] request in sentRequests.withLock { $0.append(request) } }
    }

    /// The requests sent, in order.
    var sent: [TransportRequest] { sentRequests.withLock { $0 } }

    static func ok(_ text: String, _ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(Bytes(text), fields: Self.fields(fields))
    }

    static func fields(_ fields: [(String, String)]) -> HTTPFields {
        var all = HTTPFields([("Date", date)])
        for (name, value) in fields { all.append(name, value) }
        return all
    }

    /// Returns the response after the store has applied its changes.
    func get(
        _ url: String = StoreStage.url, _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> LoadedResponse {
        var request = ImageRequest(url)
        change(&request)
        let response = try await pipeline.response(for: request)
        await settled()
        return response
    }

    func data(_ url: String = StoreStage.url, _ change: (inout ImageRequest) -> Void = { _ in }) async throws -> String
    {
        var request = ImageRequest(url)
        change(&request)
        let data = try await pipeline.data(for: request)
        await settled()
        return String(decoding: data, as: UTF8.self)
    }

    func image(
        _ url: String = StoreStage.url, _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> LoadedImage {
        var request = ImageRequest(url)
        change(&request)
        let image = try await pipeline.image(for: request)
        await settled()
        return image
    }

    /// Runs `load` and advances the clock to the next timer until it ends.
    func waited<Output: Sendable>(_ load: @escaping @Sendable () async throws -> Output) async throws -> Output {
        let task = Task { try await load() }
        let isOver = Guarded(false)
        let watch = Task {
            _ = try? await task.value
            isOver.withLock { $0 = true }
        }
        try await eventually("the load") {
            clock.advanceToNextTimer()
            return isOver.withLock { $0 }
        }
        await watch.value
        return try await task.value
    }

    /// Waits until the store has applied all pending changes.
    func settled() async { await calls.settle() }

    /// Waits until no job is in flight and the store has applied all pending changes.
    func idle() async throws {
        try await eventually("the pipeline to rest") { pipeline.statistics.jobsInFlight == 0 }
        await settled()
    }

    /// Shuts down the pipeline after its jobs have finished, then the store.
    func end() async {
        await pipeline.shutdown(.finish)
        await store.shutdown()
    }
}

extension LoadedResponse {
    /// The source, the status and the body as text.
    var shown: String { "\(source) \(head.status) \(String(decoding: body.array, as: UTF8.self))" }
}
