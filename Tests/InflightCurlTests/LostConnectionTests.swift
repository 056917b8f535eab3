import Dispatch
import InflightConcurrency
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LostConnectionTests {
    /// Responds to the first request of each connection, reads one more, and closes instead of responding.
    private func server(bodyBytes: Int = 0) -> RawServer {
        RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.reply([])
            _ = connection.readHead()
            _ = connection.readBody(bodyBytes)
        }
    }

    @Test(
        "A request is sent once when a reused connection closes before the response",
        arguments: ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"])
    func singleSend(method: String) throws {
        let body = ["GET", "HEAD"].contains(method) ? nil : Bytes("abc")
        let server = server(bodyBytes: body?.count ?? 0)
        let transport = try CurlTransport()
        #expect(try transport.load(server.url).summary != nil)
        let lost = try transport.load(server.url) {
            $0.method = method
            $0.body = body
        }
        #expect(lost.error?.code == .connectionLost, "\(String(describing: lost.end))")
        #expect(server.requests == 2)
        #expect(try transport.load(server.url).summary != nil)
    }

    @Test("A server that closes each reused connection loses few requests") func fewLosses() throws {
        let server = server()
        let transport = try CurlTransport()
        let ends = try (0..<45).map { _ in try transport.load(server.url) }
        #expect(server.requests == 45)
        for end in ends where end.summary == nil { #expect(end.error?.code == .connectionLost) }
        #expect(ends.count { $0.summary == nil } == 5)
    }

    private final class Retries: ImagePipeline.Observer {
        private let seen = Guarded(0)
        var count: Int { seen.withLock { $0 } }

        func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
            let retries = events.count { if case .retryScheduled = $0.kind { true } else { false } }
            seen.withLock { $0 += retries }
        }
    }

    private func pipeline(
        _ transport: CurlTransport, retry: RetryPolicy? = RetryPolicy(), listener: Retries? = nil
    ) throws -> ImagePipeline {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([]))
        configuration.retry = retry
        if let listener { configuration.observer = ImagePipeline.Observation(listener, on: .queue(Self.queue)) }
        return try ImagePipeline(configuration: configuration)
    }

    private static let queue = DispatchQueue(label: "listener")

    @Test("Retries of lost requests are observable and stay within the retry budget") func lostRequests() async throws {
        let server = server()
        let listener = Retries()
        let pipeline = try pipeline(CurlTransport(), listener: listener)
        for _ in 0..<100 { _ = try await pipeline.response(for: ImageRequest(server.url)) }
        await pipeline.shutdown(.finish)
        Self.queue.sync {}
        #expect(listener.count == server.requests - 100)
        #expect((2...12).contains(listener.count))
    }

    @Test("A retry opens a new connection, however many are idle") func newConnection() async throws {
        let missing = Guarded(4)
        let opened = DispatchSemaphore(value: 0)
        let server = RawServer { connection in
            guard connection.readHead() != nil else { return }
            let left = missing.withLock {
                $0 -= 1; return $0
            }
            if left == 0 { for _ in 0..<4 { opened.signal() } }
            if left >= 0 { opened.wait() }
            connection.reply([])
            _ = connection.readHead()
        }
        let pipeline = try pipeline(CurlTransport())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask { _ = try? await pipeline.response(for: ImageRequest("\(server.url)/\(number)")) }
            }
        }
        _ = try await pipeline.response(for: ImageRequest(server.url))
        #expect(server.requests == 6)
    }

    @Test("A POST is never retried, and a GET is not if retries are disabled") func noRetries() async throws {
        for (method, retry) in [("POST", RetryPolicy()), ("GET", nil)] {
            let server = server(bodyBytes: method == "POST" ? 3 : 0)
            let pipeline = try pipeline(CurlTransport(), retry: retry)
            var request = ImageRequest(server.url)
            request.method = method
            if method == "POST" { request.body = Bytes("abc") }
            // The second load begins in the callback of the first. If this test had to run again before it, which may
            // take minutes on a busy machine, the connection would be too old to be reused.
            let second = request
            let results = await ValueBridge.value { done in
                pipeline.loadResponse(ImageRequest(server.url), on: .queue(Self.queue)) { _, first in
                    pipeline.loadResponse(second, on: .queue(Self.queue)) { _, second in
                        done.open(with: [first, second])
                    }
                }
            }
            #expect(throws: Never.self) { try results[0].get() }
            let error = #expect(throws: LoadError.self) { try results[1].get() }
            #expect(error?.code == .connectionLost)
            #expect(server.requests == 2)
        }
    }

    @Test("Streams refused by a closing HTTP/2 connection are sent over the next one")
    func refusedStreams() async throws {
        let nginx = try Nginx(requestsPerConnection: 20)
        var configuration = CurlTransport.Configuration()
        configuration.caFile = nginx.caFile
        let pipeline = try pipeline(try CurlTransport(configuration: configuration))
        let failures = await withTaskGroup(of: LoadError?.self) { group in
            for number in 0..<400 {
                let request = ImageRequest("\(nginx.url)/small?\(number)")
                group.addTask {
                    do throws(LoadError) {
                        _ = try await pipeline.response(for: request)
                        return nil
                    } catch { return error }
                }
            }
            return await group.reduce(into: [LoadError]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(failures.isEmpty, "\(failures.count): \(failures.first.map { "\($0)" } ?? "")")
    }
}
