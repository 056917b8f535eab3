import InflightConcurrency
import InflightCore
import InflightTestSupport

@testable import InflightCore

/// A pipeline with a store that is a dictionary, over a script, with the clock in the test's hand.
final class StoreStage: Sendable {
    static let url = "http://a.example/1"
    /// What the clock shows at the beginning, as HTTP writes it.
    static let date = "Tue, 14 Nov 2023 22:13:20 GMT"

    let transport = ScriptedTransport(.automatic)
    let clock = VirtualClock()
    let store = MemoryStore()
    let codec = FakeCodec()
    let pipeline: ImagePipeline
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
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Answers the requests for a URL one after the other; the last answer stays.
    func serve(_ url: String = StoreStage.url, _ scripts: ScriptedTransport.Script...) { serve(url, scripts) }

    func serve(_ url: String, _ scripts: [ScriptedTransport.Script]) {
        let left = Guarded(scripts)
        transport.serve(url) { [sentRequests] request in
            sentRequests.withLock { $0.append(request) }
            return left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    /// Writes down what goes out, for answers that a test makes itself. It does not hold the stage, which holds it.
    var noteSent: @Sendable (TransportRequest) -> Void {
        { [sentRequests] request in sentRequests.withLock { $0.append(request) } }
    }

    /// What went out, in order.
    var sent: [TransportRequest] { sentRequests.withLock { $0 } }

    static func ok(_ text: String, _ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(Bytes(text), fields: Self.fields(fields))
    }

    static func fields(_ fields: [(String, String)]) -> HTTPFields {
        var all = HTTPFields([("Date", date)])
        for (name, value) in fields { all.append(name, value) }
        return all
    }

    /// The answer, when the store has done what it means for it.
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

    /// Loads while time goes on whenever the load waits for it.
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

    /// Returns when the store has done all that it was handed.
    func settled() async { await pipeline.storage.wait() }

    /// Returns when the pipeline has nothing under way, and the store has done all that it was handed.
    func idle() async throws {
        try await eventually("the pipeline to rest") { pipeline.statistics.jobsUnderWay == 0 }
        await settled()
    }

    /// Ends the pipeline, and its jobs with it.
    func end() async {
        await pipeline.shutdown(.finish)
        await store.shutdown()
    }
}

extension LoadedResponse {
    /// Where it came from, its status and its text.
    var shown: String { "\(source) \(head.status) \(String(decoding: body.array, as: UTF8.self))" }
}
