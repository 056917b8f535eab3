import Dispatch
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Body memory limit over real sockets", .timeLimit(.minutes(5)))
struct BodyBudgetSocketTests {
    private static let plain = [UInt8]((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) })
    private static let zeros = [UInt8](repeating: 0, count: 1 + 258 * 3000)

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let limit: Int64
        let response: LoopbackServer.Response
        let body: [UInt8]
    }

    @Test(
        "Bodies in flight stay within their limit, and all arrive complete",
        arguments: [
            Case(testDescription: "with a length", limit: 1 << 20, response: .ok(Bytes(plain)), body: plain),
            Case(testDescription: "chunked", limit: 1 << 20, response: .ok(Bytes(plain)).chunked(), body: plain),
            Case(
                testDescription: "gzip", limit: 1 << 20,
                response: .ok(Bytes(Gzip.zeros(runs: 3000))).field("Content-Encoding", "gzip"), body: zeros),
            Case(testDescription: "one at a time", limit: 0, response: .ok(Bytes(plain)), body: plain),
        ])
    func limit(example: Case) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serveOthers { _ in example.response }
        let count = 8
        var configuration = ImagePipeline.Configuration()
        configuration.maximumBodyBytesInFlight = example.limit
        (configuration.maximumConcurrentFetches, configuration.maximumConcurrentFetchesPerOrigin) = (count, count)
        let pipeline = try ImagePipeline(configuration: configuration)
        let most = Guarded<Int64>(0)
        let bodies = (0..<count).map { _ in ValueBridge<Bytes?>() }
        for (number, body) in bodies.enumerated() {
            pipeline.loadResponse(
                ImageRequest(server.url("/\(number)")), on: .queue(DispatchQueue(label: "callbacks")),
                progress: { _, _ in
                    let bytes = pipeline.statistics.bodyBytesInFlight
                    most.withLock { $0 = max($0, bytes) }
                },
                completion: { _, result in body.open(with: (try? result.get())?.body) })
        }
        for body in bodies { #expect(await body.value()?.array == example.body) }
        // Each transfer holds one chunk of at most 64 KiB, however small the limit is.
        #expect(most.withLock { $0 } <= max(example.limit, Int64(count) * 65_536))
        #expect(pipeline.statistics.bodyBytesInFlight == 0)
        #expect(pipeline.statistics.pausedTransfers == 0)
        await pipeline.shutdown(.finish)
    }
}
