import InflightCore
import Testing

@testable import InflightTestSupport

@Suite("Loopback server: delays and failures", .timeLimit(.minutes(10)))
struct BreakingTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("A hold withholds the rest of the body until it is released") func heldBody() async throws {
        server.serve("/a", .ok(Bytes("abcdef")).held("half", after: 3))
        let client = try RawClient(server)
        client.get("/a")
        try await server.waitUntilHeld("half")
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
        #expect(client.observe(head.utf8.count + 3) == head + "abc")
        #expect(server.events.map(\.kind) == [.connectionOpened, .requestReceived, .held("half")])
        server.release("half")
        #expect(client.observe(3) == "def")
    }

    @Test("A hold that was released in advance delays no response") func earlyRelease() throws {
        server.serve("/a", .ok(Bytes("a")).held("gate"))
        server.release("gate")
        for _ in 0..<3 {
            let client = try RawClient(server)
            client.get("/a")
            #expect(client.hearAnswer().hasSuffix("\r\n\r\na"))
        }
    }

    @Test("Releasing one response of a hold releases the one held longest") func singleRelease() async throws {
        server.serve("/a", .ok(Bytes("a")).held("gate"))
        let first = try RawClient(server)
        first.get("/a")
        try await server.waitUntilHeld("gate", count: 1)
        let second = try RawClient(server)
        second.get("/a")
        try await server.waitUntilHeld("gate", count: 2)
        server.releaseOne("gate")
        #expect(first.hearAnswer().hasSuffix("a"))
        try await server.wait(until: .answers(1, path: "/a"))
        try await server.waitUntilHeld("gate", count: 1)
        server.releaseOne("gate")
        #expect(second.hearAnswer().hasSuffix("a"))
    }

    @Test("A truncated body ends with the connection") func truncatedBody() throws {
        server.serve("/a", .ok(Bytes("abcdef")).truncated(after: 2))
        let client = try RawClient(server)
        client.get("/a")
        let (text, ending) = client.hearAll()
        #expect(text.hasSuffix("Content-Length: 6\r\n\r\nab"))
        #expect(ending == .end)
    }

    @Test("A connection reset follows the bytes sent before it") func resetAfterBytes() throws {
        server.serve("/a", .ok(Bytes("abcdef")).reset(after: 2))
        let client = try RawClient(server)
        client.get("/a")
        let (text, ending) = client.hearAll()
        #expect(text.hasSuffix("Content-Length: 6\r\n\r\nab"))
        #expect(ending == .reset)
    }

    @Test("A connection can be closed or reset without a response") func noResponse() throws {
        server.serve("/close", .closing)
        server.serve("/reset", .resetting)
        for (path, expected) in [("/close", RawClient.Ending.end), ("/reset", .reset)] {
            let client = try RawClient(server)
            client.get(path)
            let (text, ending) = client.hearAll()
            #expect(text.isEmpty)
            #expect(ending == expected)
        }
    }

    @Test("The server notices a disconnect on a path that sends no response") func silentPath() async throws {
        server.serve("/a", .silent)
        do {
            let client = try RawClient(server)
            client.get("/a")
            try await server.waitForRequest("/a")
        }
        try await server.waitUntilClosedByPeer("/a")
        #expect(server.events.last?.kind == .closedByPeer)
        #expect(server.events.last?.path == "/a")
    }

    @Test("A delayed body that is sent in small pieces arrives complete") func delayedBody() throws {
        server.serve("/a", .ok(Bytes("abcdef")).delayed(.milliseconds(5)).dripping(2, every: .milliseconds(1)))
        let client = try RawClient(server)
        client.get("/a")
        #expect(client.hearAnswer().hasSuffix("abcdef"))
    }

    @Test(
        "A server can close or reset each connection right after accepting it",
        arguments: [
            (LoopbackServer.Configuration.Greeting.close, RawClient.Ending.end), (.reset, .reset),
        ])
    func closingOnAccept(greeting: LoopbackServer.Configuration.Greeting, expected: RawClient.Ending) throws {
        var configuration = LoopbackServer.Configuration()
        configuration.greeting = greeting
        let rude = try LoopbackServer(configuration)
        #expect(try RawClient(rude).hearAll().ending == expected)
        rude.stop()
        #expect(rude.openedConnections == 1)
    }

    @Test("A server that never responds notices a disconnect") func silentServer() async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.greeting = .silence
        let mute = try LoopbackServer(configuration)
        do {
            let client = try RawClient(mute)
            client.get("/a")
            try await mute.wait(until: .openConnections(1))
        }
        try await mute.wait(until: .closedByPeer())
        #expect(mute.requestCount == 0)
    }

    @Test("Stopping the server closes held connections and refuses new ones") func stopping() async throws {
        server.serve("/a", .silent)
        let client = try RawClient(server)
        client.get("/a")
        try await server.waitForRequest("/a")
        server.stop()
        #expect(client.hearAll() == ("", .end))
        #expect(server.openConnections == 0)
        #expect(Socket.connect(port: server.port, blocking: true) == nil)
    }

    @Test("Input that is not HTTP gets a 400 response") func notHTTP() throws {
        let client = try RawClient(server)
        client.say("hello\r\n\r\n")
        #expect(client.hearAll().text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }
}
