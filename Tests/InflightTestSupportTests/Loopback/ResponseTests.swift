import InflightCore
import InflightTestSupport
import Testing

@Suite("Loopback server: responses", .timeLimit(.minutes(10)))
struct ResponseTests {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func exchange(_ path: String, method: String = "GET", _ fields: String...) throws -> String {
        let client = try RawClient(server)
        client.say(
            "\(method) \(path) HTTP/1.1\r\nConnection: close\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        return client.hearAll().text
    }

    @Test("A response has a Content-Length and its header fields in order") func headerFields() throws {
        server.serve("/a", .ok(Bytes("picture"), type: "image/png").field("X", "1").field("X", "2"))
        let answer = try exchange("/a")
        #expect(
            answer == "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nX: 1\r\nX: 2\r\nContent-Length: 7\r\n"
                + "Connection: close\r\n\r\npicture")
    }

    @Test("A path without a script gets a 404 response") func unknownPath() throws {
        #expect(try exchange("/nowhere").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test("A HEAD response has the Content-Length but no body") func headMethod() throws {
        server.serve("/a", .ok(Bytes("picture")))
        #expect(try exchange("/a", method: "HEAD").hasSuffix("Content-Length: 7\r\nConnection: close\r\n\r\n"))
    }

    @Test("A status without a body has no Content-Length", arguments: [204, 304])
    func bodilessStatus(status: Int) throws {
        server.serve("/a", .status(status, text: "never seen"))
        let answer = try exchange("/a")
        #expect(answer.hasSuffix("\r\n\r\n"))
        #expect(!answer.contains("Content-Length"))
    }

    @Test("Chunks have the requested sizes and are followed by the trailers") func chunks() throws {
        server.serve("/a", .ok(Bytes("abcdefgh")).chunked([3, 1]).trailer("Sum", "9"))
        let answer = try exchange("/a")
        #expect(answer.contains("Transfer-Encoding: chunked\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n3\r\nabc\r\n1\r\nd\r\n3\r\nefg\r\n1\r\nh\r\n0\r\nSum: 9\r\n\r\n"))
    }

    @Test("An action inside a chunk does not change the size of the chunk") func actionInsideChunk() throws {
        server.serve("/a", .ok(Bytes("abcdef")).chunked([4]).at(.body(2), .delay(.zero)))
        #expect(try exchange("/a").hasSuffix("\r\n\r\n4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n"))
    }

    @Test("A body can be delimited by the end of the connection") func bodyUntilClose() throws {
        server.serve("/a", .ok(Bytes("picture")).untilClose())
        let client = try RawClient(server)
        client.get("/a")
        let (text, ending) = client.hearAll()
        #expect(text == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npicture")
        #expect(ending == .end)
    }

    @Test("A body shorter than its Content-Length ends with the connection") func excessiveLength() throws {
        server.serve("/a", .ok(Bytes("picture")).claiming(contentLength: 100))
        let client = try RawClient(server)
        client.get("/a")
        let (text, ending) = client.hearAll()
        #expect(text.hasSuffix("Content-Length: 100\r\nConnection: close\r\n\r\npicture"))
        #expect(ending == .end)
    }

    @Test("Malformed header lines and raw bytes are sent unchanged") func malformedBytes() throws {
        server.serve("/lines", .ok(.empty).rawLine("no colon").rawLine(": no name"))
        #expect(try exchange("/lines").hasSuffix("\r\nno colon\r\n: no name\r\n\r\n"))
        server.serve("/raw", .raw("SSH-2.0-nothing"))
        #expect(try exchange("/raw") == "SSH-2.0-nothing")
    }

    @Test("Interim responses precede the final response") func interimResponses() throws {
        server.serve("/a", .ok(.empty).interim(103, HTTPFields([("Link", "</b>")])))
        #expect(try exchange("/a").hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\n"))
    }

    @Test("A redirect has its status and Location") func redirects() throws {
        server.serve("/a", .redirect(to: "/b", status: 308))
        #expect(try exchange("/a").hasPrefix("HTTP/1.1 308 Permanent Redirect\r\nLocation: /b\r\n"))
    }

    @Test("A large body arrives complete") func largeBody() throws {
        let text = String(repeating: "0123456789", count: 300_000)
        server.serve("/a", .ok(Bytes(text)))
        #expect(try exchange("/a").hasSuffix("\r\n\r\n" + text))
    }

    @Test("An endless body continues until the client disconnects") func endlessBody() async throws {
        server.serve("/a", .endless(Bytes("abc")))
        do {
            let client = try RawClient(server)
            client.get("/a")
            #expect(client.observe(100_000).utf8.count == 100_000)
        }
        try await server.waitUntilClosedByPeer("/a")
    }

    @Test("Responses in a sequence are used once each, and the last one repeats") func sequence() throws {
        server.serve("/a", inOrder: [.status(503), .status(429), .ok(Bytes("x"))])
        let statuses = try (0..<4).map { _ in try exchange("/a").dropFirst(9).prefix(3) }
        #expect(statuses == ["503", "429", "200", "200"])
    }

    @Test("A script receives the request, and a script for a path with its query takes precedence")
    func scripts() throws {
        server.serve("/a") { request in
            .ok(Bytes("\(request.method) \(request.target) \(request.fields["Who"] ?? "") \(request.body.count)"))
        }
        server.serve("/a?special", .ok(Bytes("special")))
        server.serveOthers { .status(418, text: $0.path) }
        let answer = try exchange("/a?x", method: "POST", "who:  me ", "Content-Length: 0")
        #expect(answer.hasSuffix("\r\n\r\nPOST /a?x me 0"))
        #expect(try exchange("/a?special").hasSuffix("special"))
        #expect(try exchange("/else").hasSuffix("/else"))
    }

    @Test(
        "A range request gets the range, a 416 response, or the whole body if it is invalid",
        arguments: [
            ("bytes=2-4", "206", "bytes 2-4/10", "cde"), ("bytes=7-", "206", "bytes 7-9/10", "hij"),
            ("bytes=-2", "206", "bytes 8-9/10", "ij"),
            ("bytes=2-9223372036854775807", "206", "bytes 2-9/10", "cdefghij"),
            ("bytes=10-", "416", "bytes */10", ""), ("bytes=4-2", "200", nil, "abcdefghij"),
            ("lines=1-2", "200", nil, "abcdefghij"),
        ])
    func rangeRequests(range: String, status: String, content: String?, body: String) throws {
        server.serve("/a") { .ranged(Bytes("abcdefghij"), for: $0, etag: "\"v\"") }
        let answer = try exchange("/a", "Range: \(range)")
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.contains("Content-Range") == (content != nil))
        if let content { #expect(answer.contains("Content-Range: \(content)\r\n")) }
        #expect(answer.hasSuffix("\r\n\r\n" + body))
    }

    @Test("A range request whose If-Range does not match gets the whole body") func ifRange() throws {
        server.serve("/a") { .ranged(Bytes("abcdefghij"), for: $0, etag: "\"v\"") }
        #expect(try exchange("/a", "Range: bytes=2-", "If-Range: \"v\"").hasPrefix("HTTP/1.1 206 "))
        #expect(try exchange("/a", "Range: bytes=2-", "If-Range: \"w\"").hasPrefix("HTTP/1.1 200 "))
    }
}
