import Foundation
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Pipeline over URLSession", .timeLimit(.minutes(10)))
struct URLSessionTransportTests {
    private let server: LoopbackServer
    private let limit = Duration.seconds(60)

    init() throws {
        server = try LoopbackServer()
    }

    private func makePipeline(_ transport: URLSessionTransport? = nil) throws -> ImagePipeline {
        let source: ImagePipeline.Configuration.TransportSource =
            transport.map { .shared($0) } ?? .owned { _ in URLSessionTransport() }
        return try ImagePipeline(
            configuration: ImagePipeline.Configuration(transports: [source], codecs: CodecRegistry([])))
    }

    @Test("The engine follows redirects itself, one by one, and rejects loops and file URLs")
    func redirects() async throws {
        server.serve("/a", .redirect(to: "/b", status: 301))
        server.serve("/b", .redirect(to: "c?x=1", status: 307))
        server.serve("/c", .ok(Bytes("here")))
        server.serve("/loop", .redirect(to: "/loop"))
        server.serve("/file", .redirect(to: "file:///etc/passwd"))
        let pipeline = try makePipeline()
        #expect(try await pipeline.data(for: .patient(server.url("/a"))) == Data("here".utf8))
        #expect(server.requests.map(\.target) == ["/a", "/b", "/c?x=1"])
        for path in ["/loop", "/file"] {
            let error = await #expect(throws: LoadError.self) {
                try await pipeline.data(for: .patient(server.url(path)))
            }
            #expect(error?.code == .badRedirect)
        }
        await pipeline.shutdown(.finish)
    }

    @Test("Cancelling the last of three tasks closes the connection, and the next request succeeds")
    func lastCancellation() async throws {
        server.serve("/slow", .ok(Bytes([UInt8](repeating: 1, count: 1000))).held("half", after: 500))
        server.serve("/next", .ok(Bytes("x")))
        let pipeline = try makePipeline()
        let queue = DispatchQueue(label: "callbacks")
        let tasks = (0..<3).map { _ in
            pipeline.loadResponse(.patient(server.url("/slow")), on: .queue(queue)) { _, _ in
                Issue.record("a cancelled task was told something")
            }
        }
        try await server.waitUntilHeld("half", within: limit)
        for task in tasks { task.cancel() }
        try await server.waitUntilClosedByPeer("/slow", within: limit)
        #expect(server.requestCount(of: "/slow") == 1)
        _ = try await pipeline.data(for: .patient(server.url("/next")))
        await pipeline.shutdown(.finish)
    }

    @Test("Requests cancelled at any moment leave no job behind, and all others complete once")
    func cancellations() async throws {
        server.serveOthers { _ in .ok(Bytes([UInt8](repeating: 7, count: 200_000))) }
        server.serve("/redirect", .redirect(to: "/there"))
        server.serve("/who", .status(401, text: "who?").field("WWW-Authenticate", "Basic realm=\"x\""))
        let pipeline = try makePipeline()
        let heard = Guarded([Int](repeating: 0, count: 100))
        var tasks: [ImageTask] = []
        let paths = ["/redirect", "/who", "/body", "/missing"]
        for index in 0..<100 {
            let url = server.url("\(paths[index % paths.count])?\(index)")
            tasks.append(
                pipeline.loadResponse(
                    .patient(url), on: .queue(DispatchQueue(label: "callbacks")),
                    progress: { task, _ in if index % 3 == 0 { task.cancel() } },
                    completion: { _, _ in heard.withLock { $0[index] += 1 } }))
            if index % 5 == 4 {
                // How far the previous four have advanced depends on timing.
                _ = try await pipeline.response(for: .patient(server.url("/turn?\(index)")))
                for task in tasks.suffix(4) { task.cancel() }
            }
        }
        #expect(try await pipeline.data(for: .patient(server.url("/last"))).count == 200_000)
        let uncancelled = (0..<100).filter { $0 % 5 == 0 && $0 % 3 != 0 }
        try await eventually("the requests that are not cancelled") {
            heard.withLock { counts in uncancelled.allSatisfy { counts[$0] > 0 } }
        }
        await pipeline.shutdown(.cancel)
        #expect(pipeline.statistics.jobsInFlight == 0 && pipeline.statistics.tasksInFlight == 0)
        #expect(heard.withLock { $0.allSatisfy { $0 <= 1 } })
    }

    @Test("A cancelled exchange ends once with cancelled, a refused connection once with cannotConnect")
    func failures() async throws {
        let transport = URLSessionTransport()
        let recorder = Ending()
        var request = TransportRequest(url: try ResourceURL("http://no-such-host.invalid/"))
        request.limits.totalTimeout = nil
        let transfer = transport.start(request, receiver: recorder)
        transfer.cancel()
        #expect(await recorder.code == .cancelled)
        let (closed, port) = (try LoopbackServer(), server.port)
        closed.stop()
        #expect(closed.port != port)
        let refused = Ending()
        _ = transport.start(TransportRequest(url: try ResourceURL(closed.url("/"))), receiver: refused)
        #expect(await refused.code == .cannotConnect)
        await transport.shutdown()
    }

    @Test("A lent session serves its owner during and after the lifetime of the transport")
    func lentSession() async throws {
        let session = URLSession(
            configuration: .ephemeral, delegate: URLSessionTransport.SessionDelegate(),
            delegateQueue: URLSessionTransport.makeDelegateQueue())
        let transport = try URLSessionTransport(lending: session)
        server.serve("/a", .ok(Bytes("a")))
        server.serve("/own", .redirect(to: "/a"))
        let own = try #require(URL(string: server.url("/own")))
        let pipeline = try makePipeline(transport)
        async let loaded = pipeline.data(for: .patient(server.url("/a")))
        // The owner's own tasks follow redirects as before.
        #expect(try await session.data(from: own).0 == Data("a".utf8))
        #expect(try await loaded == Data("a".utf8))
        await pipeline.shutdown(.finish)
        await transport.shutdown()
        #expect(try await session.data(from: own).0 == Data("a".utf8))
        let late = Ending()
        _ = transport.start(TransportRequest(url: try server.resource("/a")), receiver: late)
        #expect(await late.code == .shutDown)
        session.finishTasksAndInvalidate()
    }

    @Test("A session with another delegate or a concurrent delegate queue is rejected") func unsuitableSessions() {
        let delegate = URLSessionTransport.SessionDelegate()
        let concurrent = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: OperationQueue())
        for (session, remedy) in [(URLSession.shared, "SessionDelegate"), (concurrent, "maxConcurrentOperationCount")] {
            let error = #expect(throws: LoadError.self) { try URLSessionTransport(lending: session) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
        }
        concurrent.finishTasksAndInvalidate()
    }

    @Test("An exchange completes after its transport is released") func releasedTransport() async throws {
        server.serve("/a", .ok(Bytes("a")).held("head"))
        let ending = Ending()
        var transport: URLSessionTransport? = URLSessionTransport()
        var request = TransportRequest(url: try server.resource("/a"))
        request.limits.stallTimeout = nil
        _ = transport?.start(request, receiver: ending)
        try await server.waitUntilHeld("head", within: limit)
        transport = nil
        server.release("head")
        #expect(await ending.code == nil)
    }
}

/// Records how an exchange ends, which must happen once.
private final class Ending: TransportReceiver {
    private let bridge = Bridge()
    private let result = Guarded<Result<TransportSummary, LoadError>?>(nil)

    var code: LoadError.Code? {
        get async {
            await bridge.wait()
            guard case .failure(let error) = result.withLock({ $0 }) else { return nil }
            return error.code
        }
    }

    func didReceive(interim head: ResponseHead) {}
    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition { .proceed }
    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition { .proceed }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        if self.result.withLock({ $0 }) != nil { Issue.record("an exchange ended twice") }
        self.result.withLock { $0 = result }
        bridge.open()
    }
}
