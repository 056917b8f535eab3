import Glibc
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TLSTests {
    private func server(_ certificate: LoopbackServer.Certificate = .valid) throws -> (
        LoopbackServer, TemporaryDirectory
    ) {
        let scratch = TemporaryDirectory()
        let authority = try LoopbackServer.CertificateAuthority()
        try authority.write(toFile: scratch.appending("ca.pem"))
        var configuration = LoopbackServer.Configuration()
        configuration.tls = .init(authority: authority, certificate: certificate)
        let server = try LoopbackServer(configuration)
        server.serve("/", .ok(Bytes("secret")))
        return (server, scratch)
    }

    private func transport(_ caFile: String?) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.caFile = caFile
        return try CurlTransport(configuration: configuration)
    }

    @Test("A custom CA is trusted only by a transport with its CA file") func customAuthority() throws {
        let (server, scratch) = try server()
        #expect(try transport(scratch.appending("ca.pem")).load(server.url("/")).text == "secret")
        let error = try transport(nil).load(server.url("/")).error
        #expect(error?.code == .untrusted)
        #expect(server.requestCount == 1)
    }

    @Test("An invalid certificate is not trusted", arguments: [LoopbackServer.Certificate.expired, .wrongHost])
    func invalidCertificates(certificate: LoopbackServer.Certificate) throws {
        let (server, scratch) = try server(certificate)
        let error = try transport(scratch.appending("ca.pem")).load(server.url("/")).error
        #expect(error?.code == .untrusted)
        // A CA file would not help.
        #expect(error?.message.contains("CA file") == false, "\(error?.message ?? "")")
        #expect(server.requestCount == 0)
    }

    @Test("A server without TLS is not trusted, and one that closes the connection cannot be reached")
    func noTLS() throws {
        let plain = RawServer { connection in
            connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.waitForClose()
        }
        #expect(try transport(nil).load("https://127.0.0.1:\(plain.port)/").error?.code == .untrusted)
        let closing = RawServer { $0.waitForBytes() }
        #expect(try transport(nil).load("https://127.0.0.1:\(closing.port)/").error?.code == .cannotConnect)
    }
}
