import InflightCore
import Testing

@testable import InflightCurl

@Suite(.timeLimit(.minutes(10)))
struct RulesTests {
    private static let http = Origin(scheme: "http", host: "a.example.org", port: 80)
    private static let https = Origin(scheme: "https", host: "a.example.org", port: 443)

    private func text(_ environment: [String: String], _ origin: Origin) throws -> String? {
        try ProxyRules(environment: environment).proxy(for: origin)?.text
    }

    @Test("Each scheme has its own proxy variable, and all_proxy applies to both") func proxyVariables() throws {
        #expect(try text(["http_proxy": "p:1"], Self.http) == "http://p:1")
        #expect(try text(["http_proxy": "p:1"], Self.https) == nil)
        #expect(try text(["HTTP_PROXY": "p:1"], Self.http) == nil)
        #expect(try text(["HTTPS_PROXY": "https://p"], Self.https) == "https://p:443")
        #expect(try text(["https_proxy": "p", "HTTPS_PROXY": "q"], Self.https) == "http://p:1080")
        #expect(try text(["ALL_PROXY": "socks5h://u:p@P.example:9/x"], Self.http) == "socks5h://u:p@p.example:9")
        #expect(try text(["all_proxy": "p", "http_proxy": ""], Self.http) == nil)
        #expect(try text(["http_proxy": "[::1]:8"], Self.http) == "http://[::1]:8")
        #expect(throws: ProxyRules.Malformed.self) { try text(["http_proxy": "gopher://p"], Self.http) }
        #expect(throws: ProxyRules.Malformed.self) { try text(["http_proxy": "p:99999"], Self.http) }
    }

    @Test(
        "The no_proxy variable exempts a host name and its subdomains",
        arguments: [
            ("*", true), ("example.org", true), (".example.org", true), ("a.example.org", true),
            ("A.Example.Org.", true),
            ("ample.org", false), ("b.example.org", false), ("x,example.org", true), ("x example.org:80", true),
            ("", false),
            ("a.example.org.evil", false),
        ])
    func exemptNames(list: String, isDirect: Bool) throws {
        #expect(ProxyExceptions(list).contains("a.example.org") == isDirect)
    }

    @Test(
        "The no_proxy variable exempts addresses and networks",
        arguments: [
            ("10.1.2.3", "10.1.2.3", true), ("10.0.0.0/8", "10.200.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/9", "10.200.0.1", false), ("fd00::/8", "fd12::1", true), ("[::1]", "::1", true),
            ("::1", "0:0:0:0:0:0:0:1", true), ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false),
            ("10.0.0.0/33", "10.0.0.0", false),
        ])
    func exemptAddresses(list: String, host: String, isDirect: Bool) {
        #expect(ProxyExceptions(list).contains(host) == isDirect)
    }

    @Test("A host is classified as an address, loopback or a name") func hostKinds() {
        for host in ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "::1", "1.2.3.4."] {
            #expect(HostName(host) == .address, "\(host)")
        }
        for host in ["localhost", "a.b.localhost", "localhost."] { #expect(HostName(host) == .loopback, "\(host)") }
        #expect(HostName("example.org") == .name("example.org"))
        #expect(HostName("localhost.example") == .name("localhost.example"))
        #expect(HostName("straße.de") == .name("xn--strae-oqa.de"))
        #expect(HostName("１２７.0.0.1") == .address)
        #expect(HostName("fe80::1%25eth0") == .address)
    }

    @Test(
        "Host names with symbols are encoded as browsers encode them",
        arguments: [
            ("☃.net", "xn--n3h.net"), ("i❤.ws", "xn--i-7iq.ws"), ("1\u{FE0F}\u{20E3}.ws", "xn--1-2sn.ws"),
            ("bücher.💩.la", "xn--bcher-kva.xn--ls8h.la"),
        ])
    func symbols(host: String, name: String) {
        #expect(HostName(host) == .name(name))
    }

    @Test(
        "A host name is invalid if only the transitional mapping allows it, or if it maps to a delimiter",
        arguments: [
            "faß☃.de", "ς☃.gr", "👨\u{200D}👩.ws", "1א.de", "\u{FFFD}.de", "a／b.example", "user＠a.example", "a：80",
            "a％2fb.example", "a℀b.example", "＃.example", "a＼b.example", "☃／b.example",
        ])
    func invalidNames(host: String) {
        #expect(HostName(host) == .invalid)
    }

    @Test(
        "Sources of host names other than files and DNS are found in nsswitch.conf",
        arguments: [
            ("hosts: files dns", false), ("hosts:files mdns4_minimal [NOTFOUND=return] dns", true),
            ("passwd: nis\nhosts: files [!UNAVAIL=return x] dns # resolve", false), ("#hosts: nis\n", false),
            ("", false),
            ("hosts:\tfiles myhostname", true),
        ])
    func nameSources(text: String, others: Bool) {
        #expect(NameServiceSwitch.hasOtherSources(text) == others)
    }

    @Test("A route has the names to resolve and the ASCII form of its origin") func routes() throws {
        let idn = Origin(scheme: "http", host: "bücher.test", port: 8080)
        let direct = try Route(to: idn, through: .none)
        #expect(direct.replacedStart == "http://xn--bcher-kva.test:8080")
        #expect(direct.names.map(\.host) == ["xn--bcher-kva.test"])
        let proxied = try Route(to: idn, through: ProxyRules(environment: ["http_proxy": "p:1"]))
        #expect(proxied.names.map(\.host) == ["p"])
        let socks = try Route(to: idn, through: ProxyRules(environment: ["all_proxy": "socks5://p:1"]))
        #expect(socks.names.map(\.host) == ["p", "xn--bcher-kva.test"])
        let site = Site(origin: idn, route: direct, endpoints: [])
        #expect(
            site.text(of: try ResourceURL("http://bücher.test:8080/ä?q")) == "http://xn--bcher-kva.test:8080/%C3%A4?q")
    }

    @Test("Control characters in messages are replaced, and long messages are truncated") func messages() {
        #expect(Message.cleaned("a\u{1B}[31m\r\n\u{9B}b\u{202E}") == "a?[31m???b?")
        #expect(Message.cleaned(String(repeating: "x", count: 1000)).count == 300)
    }

    private func parse(_ text: String) -> HeadParser.Outcome {
        unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe HeadParser.parse($0, lines: 9) }
    }

    @Test("A response head is parsed into version, status and fields") func heads() {
        let fields = HTTPFields([("A", "1"), ("b", ""), ("A", "x  y")])
        #expect(
            parse("HTTP/1.1 200 OK\r\nA: 1\r\nnothing\r\n: x\r\nb:\r\nb c: 1\nA:\t x  y \r\n\r\n")
                == .final(ResponseHead(status: 200, version: .http1_1, fields: fields), .init()))
        #expect(parse("HTTP/1.0 304\r\n\r\n") == .final(ResponseHead(status: 304, version: .http1_0), .init()))
        #expect(parse("HTTP/2 103 \r\n\r\n") == .interim(ResponseHead(status: 103, version: .http2)))
        #expect(parse("HTTP/1.1 101 X\r\n\r\n") == .final(ResponseHead(status: 101), .init()))
        for text in [
            "SSH-2.0-x\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\r\n", "HTTP/9 200 OK\r\n\r\n",
        ] {
            guard case .malformed = parse(text) else {
                Issue.record("\(text) was taken for a head")
                continue
            }
        }
    }

    @Test(
        "A response head determines the framing and coding of the body",
        arguments: [
            ("Content-Length: 5", HeadParser.Framing(contentLength: 5)),
            ("content-length: 5, 5\r\nContent-Length:5", HeadParser.Framing(contentLength: 5)),
            ("Content-Length: 99999999999999999999", HeadParser.Framing(contentLength: .max)),
            ("Transfer-Encoding: chunked", HeadParser.Framing(isChunked: true)),
            ("Content-Encoding: gzip", HeadParser.Framing(isCoded: true)),
            ("Content-Encoding: Identity", HeadParser.Framing()),
        ])
    func bodyFraming(lines: String, framing: HeadParser.Framing) {
        guard case .final(_, framing) = parse("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n") else {
            Issue.record("not so: \(parse("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n"))")
            return
        }
    }

    @Test("An invalid Content-Length is malformed", arguments: ["5\r\nContent-Length: 6", "5, 6", "-1", "x", ""])
    func malformedLengths(value: String) {
        guard case .malformed = parse("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n") else {
            Issue.record("taken for a length")
            return
        }
    }
}
