import Inflight
import InflightCore
import Testing

@testable import InflightCLI

@Suite("Entries of an HTTP Archive", .timeLimit(.minutes(10)))
struct HARExchangeTests {
    private static let url = "https://a.example/cat.jpg"

    private func exchange(
        _ url: String = url, _ fields: [(name: String, value: String)] = [], head: ResponseHead? = nil
    ) throws -> HARExchange {
        let request = TransportRequest(url: try ResourceURL(url), fields: HTTPFields(fields))
        var exchange = HARExchange(request: request, startedAt: 1_700_000_000.1239)
        exchange.head = head
        exchange.endedAt = .milliseconds(100)
        if head == nil { exchange.error = LoadError(.cannotConnect, stage: .fetch, message: "Refused.") }
        return exchange
    }

    private func entry(_ exchange: HARExchange, hidden: Set<String> = []) throws -> HARFile.Entry {
        let entry = exchange.entry(Redaction(fields: hidden))
        let start = Array(#"{"log":{"version":"1.2","creator":{"name":"","version":""},"entries":["#.utf8)
        let file = try HARFile(start + entry + Array("]}}".utf8))
        #expect(file.problems == [])
        return try #require(file.log.entries.first)
    }

    @Test("An entry has the request, the response and the time at which the exchange began")
    func members() throws {
        let fields = HTTPFields([("Content-Type", "image/jpeg"), ("ETag", "\"1\"")])
        var exchange = try exchange(
            "http://a.example/cat.jpg?w=3&h=&flag", [("Accept", "image/*"), ("Range", "bytes=9-")],
            head: ResponseHead(status: 206, version: .http2, fields: fields))
        exchange.receivedBytes = 7
        exchange.summary = TransportSummary(wireBytes: 7, bodyBytes: 7)
        let entry = try entry(exchange)
        #expect(entry.startedDateTime == "2023-11-14T22:13:20.123Z")
        #expect(entry.request.method == "GET" && entry.request.url == "http://a.example/cat.jpg?w=3&h=&flag")
        let query = ["w", "h", "flag"].map { HARFile.Pair(name: $0, value: $0 == "w" ? "3" : "") }
        #expect(entry.request.queryString == query)
        #expect(entry.request["range"] == "bytes=9-" && entry.request.bodySize == 0)
        #expect(entry.response.status == 206 && entry.response.httpVersion == "HTTP/2")
        #expect(entry.response["etag"] == "\"1\"" && entry.response.content.mimeType == "image/jpeg")
        #expect(entry.response.content.size == 7 && entry.response.bodySize == 7 && entry.response._error == nil)
    }

    @Test("A request without a response has status 0 and its error")
    func failure() throws {
        let entry = try entry(exchange())
        #expect(entry.response.status == 0 && entry.response.httpVersion == "" && entry.response.bodySize == -1)
        #expect(entry.response._error == "cannotConnect: Refused.")
        #expect(entry.timings.blocked == 100 && entry.timings.wait == 0)
    }

    @Test("A body that breaks off keeps its status, and the size of what was received")
    func truncated() throws {
        var exchange = try exchange(head: ResponseHead(status: 200))
        exchange.receivedBytes = 5
        exchange.error = LoadError(.truncated, stage: .fetch, message: "Lost.")
        let entry = try entry(exchange)
        #expect(entry.response.status == 200 && entry.response._error == "truncated: Lost.")
        #expect(entry.response.content.size == 5 && entry.response.bodySize == -1)
    }

    @Test(
        "The size of a content-coded body is unknown, unless the transport decodes it",
        arguments: [
            ("gzip", true, -1, nil), ("gzip", false, 500, 300), ("identity", true, 500, nil), (nil, true, 500, nil),
        ] as [(String?, Bool, Int, Int?)])
    func coding(_ coding: String?, _ isAccepted: Bool, _ size: Int, _ compression: Int?) throws {
        var exchange = try exchange(
            Self.url, isAccepted ? [("accept-encoding", "gzip")] : [],
            head: ResponseHead(status: 200, fields: HTTPFields(coding.map { [("Content-Encoding", $0)] } ?? [])))
        exchange.receivedBytes = 500
        exchange.summary = TransportSummary(wireBytes: 200, bodyBytes: 500)
        let content = try entry(exchange).response.content
        #expect(content.size == size && content.compression == compression)
    }

    /// Blocked, DNS, connect, TLS, wait and receive in milliseconds.
    typealias Phases = [Double]

    @Test(
        "The phases of an exchange add up to its time, and are -1 if it skipped them",
        arguments: [
            // Times until the name was resolved, the connection was open, TLS had finished, and the response began.
            ([10, 30, 60, 80], "https", false, [-1, 10, 50, 30, 20, 20]),
            ([10, 30, nil, 80], "http", false, [-1, 10, 20, -1, 50, 20]),
            ([0, 5, nil, 80], "https", true, [5, -1, -1, -1, 75, 20]),
            ([10, 30, nil, nil], "https", false, [-1, 10, 90, 70, 0, 0]),
            ([10, nil, nil, nil], "http", false, [-1, 10, 90, -1, 0, 0]),
            ([10, 30, nil, nil], "http", false, [-1, 10, 20, -1, 70, 0]),
            ([nil, nil, nil, nil], "http", false, [100, -1, -1, -1, 0, 0]),
        ] as [([Int?], String, Bool, Phases)])
    func timings(_ times: [Int?], _ scheme: String, _ isReused: Bool, _ expected: Phases) throws {
        let times = times.map { $0.map { Duration.milliseconds($0) } }
        var exchange = try exchange(
            "\(scheme)://a.example/", head: times[3] == nil ? nil : ResponseHead(status: 200))
        exchange.timings = TransportTimings(
            nameResolved: times[0], connected: times[1], secured: times[2], firstByte: times[3],
            reusedConnection: isReused)
        let timings = try entry(exchange).timings
        #expect(
            [timings.blocked, timings.dns, timings.connect, timings.ssl, timings.wait, timings.receive] == expected)
    }

    @Test("A transport without timings leaves the time until the head, and the rest")
    func noTimings() throws {
        var exchange = try exchange(head: ResponseHead(status: 200))
        exchange.headAt = .milliseconds(60)
        let timings = try entry(exchange).timings
        #expect(timings.blocked == -1 && timings.wait == 60 && timings.receive == 40)
    }

    @Test("Credentials and cookies are redacted, in header fields by their name or as the caller says")
    func secretFields() throws {
        let secrets = [
            "Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Own", "Key",
        ]
        let fields = HTTPFields([
            ("Set-Cookie", "id=hidden; Path=/"), ("Location", "https://u:hidden@b.example/?sig=hidden"),
        ])
        var exchange = try exchange(
            "https://u:hidden@a.example/a?token=hidden", secrets.map { ($0, "hidden") } + [("Accept", "image/*")],
            head: ResponseHead(status: 302, fields: fields))
        exchange.error = LoadError(.cancelled, stage: .fetch, message: "GET https://a.example/?sig=hidden failed.")
        let bytes = exchange.entry(Redaction(fields: ["x-own"]))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("hidden"))
        let entry = try entry(exchange, hidden: ["x-own"])
        #expect(entry.request.headers.map(\.name) == secrets + ["Accept"])
        #expect(entry.request["cookie"] == "redacted" && entry.request["accept"] == "image/*")
        #expect(entry.request.queryString == [HARFile.Pair(name: "token", value: "redacted")])
        #expect(entry.response.redirectURL == "https://b.example/?sig=redacted")
        #expect(entry.request.cookies == [] && entry.response.cookies == [])
    }

    @Test(
        "Text from servers stays text",
        arguments: ["\"},{\"x\":\"", "\\\u{0}\u{1B}[31m\u{7F}\u{202E}", "\n\r\t", "ä 日本 🐈", "</script>"])
    func hostile(_ text: String) throws {
        let exchange = try exchange(
            head: ResponseHead(status: 200, fields: HTTPFields([("X-\(text)", text), ("Content-Type", text)])))
        let entry = try entry(exchange)
        #expect(entry.response.headers.first == HARFile.Pair(name: "X-\(text)", value: text))
        #expect(entry.response.content.mimeType == text)
    }
}

@Suite("Redaction", .timeLimit(.minutes(10)))
struct RedactionTests {
    @Test(
        "The values of secret parameters are replaced, and nothing else",
        arguments: [
            ("https://a/b?token=x&w=3", "https://a/b?token=redacted&w=3"),
            ("/b?w=3&access_token=a/b,c~d;e#f", "/b?w=3&access_token=redacted#f"),
            (
                "?X-Amz-Credential=a%2Fb&X-Amz-Signature=c==&X-Amz-Date=4",
                "?X-Amz-Credential=redacted&X-Amz-Signature=redacted&X-Amz-Date=4"
            ),
            ("/b?sv=2&sig=x%3D", "/b?sv=2&sig=redacted"),
            ("/b?Key=x&key2=y&monkey=z", "/b?Key=redacted&key2=y&monkey=z"),
            ("/b?hdnts=exp=1~acl=/*~hmac=abc", "/b?hdnts=exp=1~acl=/*~hmac=redacted"),
            ("/a/token=x/c?d", "/a/token=redacted"),
            ("https://h/#access_token=x", "https://h/#access_token=redacted"),
            ("<https://a/?sig=x>; rel=\"next\"", "<https://a/?sig=redacted>; rel=\"next\""),
            ("/p?url=https%3A%2F%2Fb%2F%3Ftoken%3Dx&w=3", "/p?url=redacted&w=3"),
            ("/p?url=https%3a%2f%2fb%2f%3fq%3d1%26Sig%3dx", "/p?url=redacted"),
            ("/p?url=https%3A%2F%2Fb%2F%3Fw%3D3", "/p?url=https%3A%2F%2Fb%2F%3Fw%3D3"),
            ("https://user:pass@a/b?c", "https://a/b?c"), ("max-age=60, public", "max-age=60, public"), ("", ""),
            ("a=", "a="), ("token=", "token=redacted"), ("=x", "=x"), ("?token", "?token"),
            ("?\u{301}token=\u{301}x&\u{301}w=3", "?\u{301}token=redacted&\u{301}w=3"),
        ])
    func text(_ text: String, _ expected: String) {
        #expect(Redaction.text(text) == expected)
    }
}
