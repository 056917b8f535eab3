import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCurl

@Suite(.timeLimit(.minutes(10)))
struct ProxyTests {
    private func transport(_ environment: [String: String], dns: FakeNameServer? = nil) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        if let dns { configuration.dnsServers = [dns.address] }
        var settings = try Settings(configuration)
        settings.proxies = ProxyRules(environment: environment)
        return try CurlTransport(settings: settings)
    }

    @Test("A proxy receives the whole URL and resolves the name of the origin") func forwarding() throws {
        let names = FakeNameServer(knows: ["proxy.test": [127, 0, 0, 1]])
        let proxy = RawServer { connection in
            while let head = connection.readHead() { connection.reply(Array(head.utf8)) }
        }
        let transport = try transport(
            ["http_proxy": "http://me:secret@proxy.test:\(proxy.port)", "no_proxy": "localhost"], dns: names)
        let heard = try transport.load("http://far.test/a?b")
        #expect(heard.text.hasPrefix("GET http://far.test/a?b HTTP/1.1\r\n"))
        #expect(heard.text.contains("Proxy-Authorization: Basic bWU6c2VjcmV0"))
        #expect(names.questions.allSatisfy { $0 == "proxy.test" })
        // A host in no_proxy is contacted directly.
        let direct = try transport.load("http://localhost:\(proxy.port)/x")
        #expect(direct.text.hasPrefix("GET /x HTTP/1.1\r\n"))
        #expect(!direct.text.contains("Proxy-Authorization"))
    }

    @Test("TLS uses a CONNECT tunnel, and its refusal by the proxy is not delivered as a response")
    func tunnel() throws {
        let proxy = RawServer { connection in
            guard let head = connection.readHead(), head.hasPrefix("CONNECT 127.0.0.2:443 ") else { return }
            connection.send("HTTP/1.1 407 Proxy Authentication Required\r\nX: y\r\nContent-Length: 0\r\n\r\n")
            connection.waitForClose()
        }
        let heard = try transport(["https_proxy": "127.0.0.1:\(proxy.port)"]).load("https://127.0.0.2/")
        #expect(heard.head == nil)
        #expect(heard.error?.code == .cannotConnect)
        #expect(heard.error?.message.contains("407") == true)
    }

    @Test("A connect failure names the proxy without its password", arguments: ["http", "https"])
    func unreachableProxy(scheme: String) throws {
        let port = RawServer { _ in }.port
        let proxied = try transport(["all_proxy": "http://me:secret@127.0.0.1:\(port)"])
        let error = try proxied.load("\(scheme)://127.0.0.2/").error
        #expect(error?.code == .cannotConnect)
        #expect(error?.message.contains("the proxy 127.0.0.1:\(port)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
        let names = FakeNameServer(knows: [:])
        let nameless = try transport(["all_proxy": "http://proxy.test:1"], dns: names)
        #expect(try nameless.load("\(scheme)://127.0.0.2/").error?.message.contains("the proxy proxy.test") == true)
    }

    @Test("A malformed proxy variable fails the request without revealing its password")
    func malformedVariable() throws {
        let error = try transport(["http_proxy": "gopher://me:secret@p"]).load("http://127.0.0.1/").error
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("http_proxy") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("Connections are direct if environment proxies are disabled") func disabledEnvironment() throws {
        var configuration = CurlTransport.Configuration()
        for isUsed in [true, false] {
            configuration.usesEnvironmentProxies = isUsed
            let settings = try Settings(configuration, environment: ["http_proxy": "http://proxy.test:1"])
            let proxy = try settings.proxies.proxy(for: Origin(scheme: "http", host: "a", port: 80))
            #expect(proxy?.host == (isUsed ? "proxy.test" : nil))
        }
    }
}
