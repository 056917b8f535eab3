import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCurl

@Suite("Address policy", .timeLimit(.minutes(10)))
struct AddressPolicyTests {
    private func transport(
        _ policy: AddressPolicy, dns: FakeNameServer? = nil, environment: [String: String] = [:]
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.addressPolicy = policy
        if let dns { configuration.dnsServers = [dns.address] }
        var settings = try Settings(configuration)
        settings.proxies = ProxyRules(environment: environment)
        return try CurlTransport(settings: settings)
    }

    private func server() -> RawServer { RawServer { while $0.readHead() != nil { $0.reply([1]) } } }

    @Test("The publicOnly policy rejects a private address in every notation")
    func literals() throws {
        let names = FakeNameServer(knows: ["inside.test": [127, 0, 0, 1]])
        let server = server()
        let transport = try transport(.publicOnly, dns: names)
        for host in [
            "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "localhost", "a.localhost", "inside.test", "inside.test.", "\u{FF11}27.0.0.1", "0.0.0.0",
        ] {
            let error = try transport.load("http://\(host):\(server.port)/").error
            #expect(error?.code == .addressNotAllowed, "\(host): \(String(describing: error))")
        }
    }

    @Test("A policy that allows one address of a host connects to that address")
    func oneOfSeveral() throws {
        let server = server()
        let transport = try transport(AddressPolicy { $0.bytes == [127, 0, 0, 1] })
        // localhost resolves to 127.0.0.1 and ::1.
        #expect(try transport.load("http://localhost:\(server.port)/").summary != nil)
        #expect(try transport.load("http://[::1]:\(server.port)/").error?.code == .addressNotAllowed)
        // The address is allowed, but no server listens there: an ordinary failure.
        #expect(try self.transport(.any).load("http://127.0.0.1:1/").error?.code == .cannotConnect)
    }

    @Test("A literal private address is rejected behind a proxy, but the address of the proxy is not")
    func proxies() throws {
        let proxy = server()
        for scheme in ["http", "socks5"] {
            let transport = try transport(
                .publicOnly, environment: ["http_proxy": "\(scheme)://127.0.0.1:\(proxy.port)"])
            for host in ["10.0.0.1", "[::1]", "localhost", "0x7f.1"] {
                #expect(try transport.load("http://\(host)/").error?.code == .addressNotAllowed, "\(scheme) \(host)")
            }
        }
        let transport = try transport(.publicOnly, environment: ["http_proxy": "http://127.0.0.1:\(proxy.port)"])
        #expect(try transport.load("http://far.test/").summary != nil)
        // A SOCKS proxy is given addresses, so the name is resolved here.
        let names = FakeNameServer(knows: ["inside.test": [10, 0, 0, 1]])
        let socks = try self.transport(
            .publicOnly, dns: names, environment: ["http_proxy": "socks5://127.0.0.1:\(proxy.port)"])
        #expect(try socks.load("http://inside.test/").error?.code == .addressNotAllowed)
    }
}
