import Foundation
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Hooks over real sockets", .timeLimit(.minutes(10)))
struct HookSocketTests {
    @Test("A token is fetched once for many requests, and again when the server rejects it")
    func token() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let valid = Guarded("token 1")
        server.serveOthers { request in
            request.fields["authorization"] == valid.withLock { $0 } ? .ok(Bytes(request.path)) : .status(401)
        }
        let fetched = Guarded(0)
        let token = SharedValue { () async throws -> String in
            "token "
                + String(
                    fetched.withLock { count in
                        count += 1
                        return count
                    })
        }
        var configuration = ImagePipeline.Configuration()
        configuration.willSend = { request in
            if case .unauthorized(_, let sent) = request.reason { token.forget(sent["Authorization"] ?? "") }
            request.fields.set("Authorization", try await token.value())
        }
        let pipeline = try ImagePipeline(configuration: configuration)
        func loadAll() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let request = ImageRequest(server.url("/\(number)"))
                    group.addTask {
                        let response = try await pipeline.response(for: request)
                        #expect(String(decoding: response.body.array, as: UTF8.self) == "/\(number)")
                    }
                }
                try await group.waitForAll()
            }
        }
        try await loadAll()
        #expect(fetched.withLock { $0 } == 1)
        valid.withLock { $0 = "token 2" }
        try await loadAll()
        #expect(fetched.withLock { $0 } == 2)
        await pipeline.shutdown(.finish)
    }

    @Test("A response waits for the didReceive hook, and is then delivered complete or refused")
    func judged() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let body = Bytes([UInt8](repeating: 7, count: 3_000_000))
        server.serve("/large", .ok(body))
        server.serve("/coded", .ok(body).chunked())
        server.serve("/unwanted", .ok(body))
        var missing = LoopbackServer.Response.ok(Bytes("placeholder"))
        missing.status = 404
        server.serve("/missing", missing)
        var configuration = ImagePipeline.Configuration()
        configuration.didReceive = { received in
            for _ in 0..<10 { await Task.yield() }
            switch received.url.path {
            case "/unwanted": return .refuse("It is not wanted.")
            case "/missing": return .accept
            default: return .byStatus
            }
        }
        let pipeline = try ImagePipeline(configuration: configuration)
        for path in ["/large", "/coded", "/large"] {
            let response = try await pipeline.response(for: ImageRequest(server.url(path)))
            #expect(response.body == body)
        }
        #expect(try await pipeline.data(for: ImageRequest(server.url("/missing"))).count == 11)
        do throws(LoadError) {
            _ = try await pipeline.data(for: ImageRequest(server.url("/unwanted")))
            Issue.record("it was taken all the same")
        } catch {
            #expect(error.code == .refused)
        }
        await pipeline.shutdown(.finish)
    }
}
