import InflightCore
import InflightCurl
import InflightImages
import InflightTestSupport
import Testing

@Suite("Client certificates and pinned keys", .timeLimit(.minutes(10)))
struct IdentityTests {
    private let scratch = TemporaryDirectory()

    private func load(
        _ url: String, of nginx: Nginx, _ change: (inout CurlTransport.Configuration) -> Void
    ) throws -> Recorder.Recording {
        var configuration = CurlTransport.Configuration()
        configuration.caFile = nginx.caFile
        change(&configuration)
        return try CurlTransport(configuration: configuration).load(url)
    }

    /// A certificate with its key, in files.
    private func certificate() throws -> CurlTransport.ClientCertificate {
        try Nginx.makeCertificate(in: scratch)
        return .init(file: scratch.appending("cert.pem"), keyFile: scratch.appending("key.pem"))
    }

    @Test("A client certificate is shown to its host only, however its name is written")
    func clientCertificate() throws {
        let certificate = try certificate()
        let nginx = try Nginx(clientsTrustedIn: certificate.file)
        let url = nginx.url + "/client"
        for host in ["127.0.0.1", "127.0.0.1:\(nginx.port)"] {
            let shown = try load(url, of: nginx) { $0.clientCertificates[host] = certificate }
            #expect(shown.text == "SUCCESS CN=localhost")
        }
        for host in ["localhost", "127.0.0.1:1"] {
            let hidden = try load(url, of: nginx) { $0.clientCertificates[host] = certificate }
            #expect(hidden.text == "NONE ")
        }
    }

    @Test("A key may be encrypted, and without its password the load fails and names the certificate")
    func password() throws {
        var certificate = try certificate()
        let nginx = try Nginx(clientsTrustedIn: certificate.file)
        let encrypted = scratch.appending("encrypted.pem")
        let made = try Nginx.run(
            "openssl",
            ["pkey", "-in", certificate.keyFile ?? "", "-aes256", "-passout", "pass:open", "-out", encrypted])
        try #require(Nginx.wait(for: made) == 0)
        certificate.keyFile = encrypted
        for (password, text) in [("open", "SUCCESS CN=localhost"), ("shut", nil)] {
            certificate.password = password
            let exchange = try load(nginx.url + "/client", of: nginx) {
                $0.clientCertificates["127.0.0.1"] = certificate
            }
            #expect(exchange.text == text ?? "" && (exchange.error?.code == .cannotRead) == (text == nil))
            #expect(exchange.error.map { $0.message.contains("client certificate") } != false)
        }
    }

    @Test("A server with another key than the pinned ones gets no request")
    func pins() throws {
        let nginx = try Nginx()
        let own = try nginx.publicKey(), other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        for pins in [[own], [other, own]] {
            #expect(try load(nginx.url + "/small", of: nginx) { $0.pinnedPublicKeys["127.0.0.1"] = pins }.error == nil)
        }
        let refused = try load(nginx.url + "/small", of: nginx) { $0.pinnedPublicKeys["127.0.0.1"] = [other] }
        #expect(refused.error?.code == .untrusted && refused.error?.message.contains("pinned") == true)
        let elsewhere = try load(nginx.url + "/small", of: nginx) { $0.pinnedPublicKeys["localhost"] = [other] }
        #expect(elsewhere.error == nil)
    }

    @Test("Files without certificates or keys, hosts and keys that are none are refused at once")
    func badInput() throws {
        let certificate = try certificate()
        func problem(_ change: (inout CurlTransport.Configuration) -> Void) -> LoadError? {
            var configuration = CurlTransport.Configuration()
            change(&configuration)
            do throws(LoadError) {
                _ = try CurlTransport(configuration: configuration)
                return nil
            } catch {
                return error
            }
        }
        #expect(problem { $0.clientCertificates["h"] = .init(file: "/missing") }?.code == .cannotRead)
        let noKey = problem { $0.clientCertificates["h"] = .init(file: certificate.file) }
        #expect(noKey?.code == .cannotRead && noKey?.message.contains("no PEM private key") == true)
        for host in ["", "https://h", "h/", "a@h", "h:70000", "h i"] {
            #expect(problem { $0.clientCertificates[host] = certificate }?.code == .invalidRequest, "\(host)")
        }
        for pins in [[], [""], ["sha256//AAAA"], ["AAAA"]] {
            #expect(problem { $0.pinnedPublicKeys["h"] = pins }?.code == .invalidRequest, "\(pins)")
        }
    }
}
