import CInflightTLS
import Glibc
import InflightCore
import Testing

@testable import InflightTestSupport

@Suite("Loopback server: TLS", .timeLimit(.minutes(10)))
struct TLSTests {
    let authority: LoopbackServer.CertificateAuthority

    init() throws {
        authority = try LoopbackServer.CertificateAuthority()
    }

    private func serve(_ certificate: LoopbackServer.Certificate = .valid) throws -> LoopbackServer {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = .init(authority: authority, certificate: certificate)
        return try LoopbackServer(configuration)
    }

    /// A blocking client that trusts the authority; nil if the handshake fails.
    // Safe: the pointers never escape, and live exactly as long as the client.
    @safe private final class Client {
        private let socket: RawClient
        private let context: OpaquePointer
        private let session: OpaquePointer

        init?(_ server: LoopbackServer, trusting authority: LoopbackServer.CertificateAuthority) throws {
            socket = try RawClient(server)
            unsafe context = try unsafe #require(inflight_tls_client_create(authority.pointer))
            unsafe session = try unsafe #require(inflight_tls_session_create(context, socket.descriptor))
            if unsafe inflight_tls_handshake(session) != 0 { return nil }
        }

        deinit {
            unsafe inflight_tls_session_free(session)
            unsafe inflight_tls_context_free(context)
        }

        func get(_ path: String) {
            let bytes = Array("GET \(path) HTTP/1.1\r\n\r\n".utf8)
            _ = unsafe inflight_tls_write(session, bytes, Int32(bytes.count))
        }

        /// Reads `wanted` bytes, or to an end; the end is 0 if the server closed the session properly.
        func observe(_ wanted: Int) -> (text: String, end: Int32) {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while text.count < wanted {
                let count = unsafe inflight_tls_read(session, &buffer, Int32(min(buffer.count, wanted - text.count)))
                if count <= 0 { return (String(decoding: text, as: UTF8.self), count) }
                text += buffer.prefix(Int(count))
            }
            return (String(decoding: text, as: UTF8.self), 1)
        }
    }

    @Test("A client that trusts the authority gets its responses on one connection") func trustedAuthority() throws {
        let server = try serve()
        let text = String(repeating: "0123456789", count: 30_000)
        server.serve("/a", .ok(Bytes(text)))
        #expect(server.url("/a").hasPrefix("https://127.0.0.1:"))
        let client = try #require(try Client(server, trusting: authority))
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"
        for _ in 0..<2 {
            client.get("/a")
            #expect(client.observe(head.utf8.count + text.utf8.count).text == head + text)
        }
        #expect(server.openedConnections == 1)
    }

    @Test("An invalid certificate fails the handshake", arguments: [LoopbackServer.Certificate.expired, .wrongHost])
    func badCertificates(certificate: LoopbackServer.Certificate) async throws {
        let server = try serve(certificate)
        #expect(try Client(server, trusting: authority) == nil)
        try await server.wait(until: .openConnections(0))
        #expect(server.requestCount == 0)
    }

    @Test("A certificate of another authority is not trusted") func otherAuthority() throws {
        let server = try serve()
        #expect(try Client(server, trusting: LoopbackServer.CertificateAuthority()) == nil)
    }

    @Test("A truncated body ends without a TLS close notification") func truncatedBody() throws {
        let server = try serve()
        server.serve("/a", .ok(Bytes("abcdef")).truncated(after: 3))
        let client = try #require(try Client(server, trusting: authority))
        client.get("/a")
        let (text, end) = client.observe(1000)
        #expect(text.hasSuffix("\r\n\r\nabc"))
        #expect(end == Int32(INFLIGHT_TLS_FAILED))
    }

    @Test("The server notices a disconnect while it holds a TLS response") func disconnect() async throws {
        let server = try serve()
        server.serve("/a", .ok(Bytes("abcdef")).held("half", after: 3))
        var client = try Client(server, trusting: authority)
        client?.get("/a")
        try await server.waitUntilHeld("half")
        client = nil
        try await server.waitUntilClosedByPeer("/a")
    }

    @Test("A TLS handshake can stall until the client disconnects") func stalledHandshake() async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = .init(authority: authority)
        configuration.greeting = .silence
        let server = try LoopbackServer(configuration)
        do {
            let client = try RawClient(server)
            client.say("client hello")
            try await server.wait(until: .openConnections(1))
        }
        try await server.wait(until: .closedByPeer())
    }

    @Test("Input that is not TLS is recorded as a failed handshake") func notTLS() async throws {
        let server = try serve()
        let client = try RawClient(server)
        client.get("/a")
        try await server.wait(until: .openedConnections(1))
        try await server.wait(until: .openConnections(0))
        #expect(server.events.contains { if case .handshakeFailed = $0.kind { true } else { false } })
    }

    @Test("The certificate of the authority can be written to a file") func certificateFile() throws {
        let folder = TemporaryDirectory()
        try authority.write(toFile: folder.appending("ca.pem"))
        #expect(folder.holds("ca.pem", Array(authority.pem.utf8)))
        #expect(authority.pem.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
        #expect(throws: LoopbackServer.Failure.self) { try authority.write(toFile: folder.appending("none/ca.pem")) }
    }
}
