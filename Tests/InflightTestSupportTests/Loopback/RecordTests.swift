import InflightCore
import InflightTestSupport
import Testing

@Suite("Loopback server: recorded requests and events", .timeLimit(.minutes(10)))
struct RecordTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.serveOthers { .ok(Bytes($0.target)) }
    }

    @Test("Requests on a reused connection are recorded in order") func reusedConnection() throws {
        let client = try RawClient(server)
        for path in ["/a", "/b?q", "/a"] {
            client.get(path)
            #expect(client.hearAnswer().hasSuffix(path))
        }
        #expect(server.requests.map(\.target) == ["/a", "/b?q", "/a"])
        #expect(server.requests.map(\.ordinal) == [1, 2, 3])
        #expect(server.requests.map(\.connection) == [1, 1, 1])
        #expect(server.requestCount(of: "/a") == 2)
        #expect(server.requests(of: "/b").count == 1)
        #expect(server.requestCount == 3)
        #expect(server.openedConnections == 1)
    }

    @Test("Taking events removes them but keeps the counts") func takingEvents() throws {
        let client = try RawClient(server)
        client.get("/a")
        _ = client.hearAnswer()
        try server.block(until: .answers(1))
        #expect(server.takeEvents().map(\.kind) == [.connectionOpened, .requestReceived, .answered])
        #expect(server.events.isEmpty && server.requests.isEmpty)
        client.get("/b")
        _ = client.hearAnswer()
        try server.block(until: .answers(2))
        #expect(server.takeEvents().map(\.path) == ["/b", "/b"])
        #expect(server.requestCount == 2)
    }

    @Test("Pipelined requests get their responses in order") func pipelining() throws {
        let client = try RawClient(server)
        client.say((1...50).map { "GET /\($0) HTTP/1.1\r\n\r\n" }.joined())
        let expected = (1...50).map { "HTTP/1.1 200 OK\r\nContent-Length: \("/\($0)".utf8.count)\r\n\r\n/\($0)" }
            .joined()
        #expect(client.observe(expected.utf8.count) == expected)
    }

    @Test("Request bodies are read by Content-Length and in chunks") func requestBodies() throws {
        let client = try RawClient(server)
        client.say("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")
        client.say("POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nhel\r\n2\r\nlo\r\n0\r\nT: 1\r\n\r\n")
        #expect(client.observe(2).hasPrefix("HT"))
        try server.block(until: .requests(2))
        #expect(server.requests.map { String(decoding: $0.body.array, as: UTF8.self) } == ["hello", "hello"])
    }

    @Test("A request with Expect: 100-continue gets a 100 response before its body is sent")
    func expectContinue() throws {
        let client = try RawClient(server)
        client.say("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(client.observe(25) == "HTTP/1.1 100 Continue\r\n\r\n")
        client.say("ok")
        #expect(client.hearAnswer().hasSuffix("/a"))
        #expect(server.requests[0].body == Bytes("ok"))
    }

    @Test("Connections are counted: open now, open at most, and in total") func connectionCounts() async throws {
        do {
            let clients = [try RawClient(server), try RawClient(server)]
            try await server.wait(until: .openConnections(2))
            clients[0].get("/a")
            try await server.waitForRequest("/a")
        }
        try await server.wait(until: .openConnections(0))
        let late = try RawClient(server)
        late.get("/b")
        try await server.waitForRequest("/b")
        #expect(server.openedConnections == 3)
        #expect(server.maximumOpenConnections == 2)
        #expect(server.openConnections == 1)
    }

    @Test("Connection: close is honoured in requests and in responses") func connectionClose() throws {
        let client = try RawClient(server)
        client.get("/a", "Connection: close")
        #expect(client.hearAll().ending == .end)
        server.serve("/b", .ok(Bytes("b")).thenClose())
        let other = try RawClient(server)
        other.get("/b")
        let (text, ending) = other.hearAll()
        #expect(text.contains("\r\nConnection: close\r\n"))
        #expect(ending == .end)
    }

    @Test("A wait that times out fails with the requests recorded so far") func timedOutWait() async throws {
        let client = try RawClient(server)
        client.get("/a")
        #expect(client.hearAnswer().hasSuffix("/a"))
        let failure = await #expect(throws: WaitFailure.self) {
            try await server.waitForRequest("/b", within: .milliseconds(1))
        }
        let text = try #require(failure).description
        #expect(text.hasPrefix("Waited for 1 requests of /b, but "))
        #expect(text.contains("/a: 1 requests"))
        #expect(throws: WaitFailure.self) {
            try blockingWait(server)
        }
    }

    private func blockingWait(_ server: LoopbackServer) throws {
        try server.blockForRequest("/b", within: .milliseconds(1))
    }

    @Test("Stopping the server fails a pending wait") func stopping() async throws {
        async let failed = #expect(throws: WaitFailure.self) {
            try await server.waitForRequest("/never", within: .seconds(1000))
        }
        server.stop()
        #expect(await failed?.description.contains("was stopped") == true)
    }

    @Test("A server can listen on IPv6") func ipv6() throws {
        var configuration = LoopbackServer.Configuration()
        configuration.ipv6 = true
        let server = try LoopbackServer(configuration)
        server.serve("/a", .ok(Bytes("six")))
        #expect(server.url("/a") == "http://[::1]:\(server.port)/a")
        let client = try RawClient(server, ipv6: true)
        client.get("/a")
        #expect(client.hearAnswer().hasSuffix("six"))
    }

    @Test("Two servers, and two host names of one server, are different origins") func origins() throws {
        let other = try LoopbackServer()
        #expect(try server.resource("/").origin != other.resource("/").origin)
        #expect(try server.resource("/").origin != server.resource("/", host: "localhost").origin)
    }
}
