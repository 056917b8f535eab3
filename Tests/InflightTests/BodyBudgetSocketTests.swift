import Dispatch
import Glibc
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

    @Test("A load whose temporary file cannot be read fails, and does not end the program")
    func unreadable() async throws {
        let (server, folder) = (try LoopbackServer(), TemporaryDirectory())
        defer { server.stop() }
        let body = Bytes(Self.plain)
        server.serveOthers { _ in .ok(body).chunked().held("end", after: body.count) }
        var configuration = ImagePipeline.Configuration()
        configuration.maximumBodyBytesInFlight = 0
        configuration.temporaryFolder = folder.path
        let pipeline = try ImagePipeline(configuration: configuration)
        let url = server.url("/")
        let load = Task { try await pipeline.data(for: ImageRequest.patient(url)) }
        // As a disk that fails would leave it: the file is shorter than what was written.
        let file = Guarded<String?>(nil)
        try await eventually("the whole body to be in the temporary file") {
            let path = Self.openFile(in: folder.path)
            file.withLock { $0 = path }
            var status = stat()
            return path.map { unsafe stat($0, &status) == 0 && Int(status.st_size) == body.count } ?? false
        }
        #expect(unsafe truncate(try #require(file.withLock { $0 }), 100) == 0)
        server.release("end")
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(error?.code == .tooLarge && error?.message.contains("temporary file") == true)
        await pipeline.shutdown(.finish)
    }

    /// Returns a path to the unnamed file that this process has open in a folder.
    private static func openFile(in folder: String) -> String? {
        TemporaryDirectory.names("/proc/self/fd").map { "/proc/self/fd/" + $0 }.first { path in
            var target = [CChar](repeating: 0, count: 4096)
            let count = unsafe readlink(path, &target, target.count - 1)
            return count > 0
                && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                    .hasPrefix(folder + "/")
        }
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
