import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ExchangeTests {
    @Test("A GET delivers head, body and one ending, and its connection is reused") func successfulGET() throws {
        let server = RawServer { connection in
            while connection.readHead() != nil {
                connection.reply(Array("hello".utf8), headers: "X-One: 1\r\nx-one:  2 \r\n")
            }
        }
        let transport = try CurlTransport()
        let heard = try transport.load(server.url + "/a")
        #expect(heard.head?.status == 200)
        #expect(heard.head?.version == .http1_1)
        #expect(heard.head?.fields.values("X-One") == ["1", "2"])
        #expect(heard.expectedBytes == 5)
        #expect(heard.text == "hello")
        #expect(heard.summary == TransportSummary(wireBytes: 5, bodyBytes: 5, reusedConnection: false))
        #expect(try transport.load(server.url + "/b").summary?.reusedConnection == true)
        #expect(server.connections == 1)
        #expect(server.requests == 2)
    }

    @Test("Trailers are delivered before the ending and are not part of the head") func trailers() throws {
        let server = RawServer { connection in
            while connection.readHead() != nil {
                connection.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"a\"\r\n\r\n"
                        + "5\r\nhello\r\n0\r\nX-Sum:  1 \r\nETag: \"b\"\r\nX-Sum: \u{ff}\r\n\r\n")
            }
        }
        let transport = try CurlTransport()
        for isSecond in [false, true] {
            let heard = try transport.load(server.url)
            #expect(heard.text == "hello")
            #expect(heard.head?.fields.values("etag") == ["\"a\""])
            #expect(heard.trailers == HTTPFields([("X-Sum", "1"), ("ETag", "\"b\""), ("X-Sum", "\u{ff}")]))
            #expect(heard.summary?.reusedConnection == isSecond)
        }
    }

    @Test("Trailers that exceed the limit of a head are rejected") func trailerLimit() throws {
        let server = RawServer { connection in
            while connection.readHead() != nil {
                connection.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
                        + String(repeating: "X-Sum: 1\r\n", count: 500) + "\r\n")
            }
        }
        let transport = try CurlTransport()
        let heard = try transport.load(server.url) { $0.limits.maximumHeadBytes = 4000 }
        #expect(heard.error?.code == .badResponse)
        #expect(heard.trailers == nil)
    }

    @Test("Field values are sent and received as raw bytes") func rawFieldValues() throws {
        let tag: [UInt8] = [0x22, 0xFC, 0x80, 0x22]
        let server = try LoopbackServer()
        var response = LoopbackServer.Response.ok(Bytes("x"))
        response.fields.append(name: "ETag".utf8, value: tag)
        server.serve("/", response)
        let transport = try CurlTransport()
        let heard = try transport.load(server.url("/")) { $0.fields.append(name: "If-None-Match".utf8, value: tag) }
        #expect(heard.head?.fields.rawValues("etag").map { Array($0) } == [tag])
        #expect(server.requests.last?.fields.rawValues("if-none-match").map { Array($0) } == [tag])
    }

    @Test("Connections per origin are limited, and a queued transfer does not time out") func connectionLimit() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("x")).held("head"))
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnectionsPerOrigin = 3
        let transport = try CurlTransport(configuration: configuration)
        let recorders = try (0..<12).map { _ in
            let recorder = Recorder()
            _ = transport.start(
                try .of(server.url("/")) { $0.limits.connectTimeout = .seconds(1) }, receiver: recorder)
            return recorder
        }
        try server.blockUntilHeld("head", count: 3)
        // Queued transfers are not connecting, however long they wait.
        let elsewhere = try LoopbackServer()
        elsewhere.serve("/", .ok(Bytes("z")).delayed(.milliseconds(1500)))
        #expect(try transport.load(elsewhere.url("/")).text == "z")
        server.release("head")
        for recorder in recorders { #expect(recorder.waitForEnd().text == "x") }
        #expect(server.maximumOpenConnections == 3)
    }

    @Test("Fields of a request replace the defaults, and framing or connection fields are not sent")
    func requestFields() throws {
        let server = try LoopbackServer()
        server.serveOthers { _ in .ok(Bytes("x")) }
        let transport = try CurlTransport()
        _ = try transport.load(server.url("/a%20b?c=d"))
        _ = try transport.load(server.url("/own")) {
            $0.fields = HTTPFields([
                ("accept", "image/*"), ("User-Agent", "me"), ("Accept-Encoding", "identity"), ("X-Empty", ""),
                ("Content-Length", "7"), ("Transfer-Encoding", "chunked"), ("Connection", "close"),
            ])
        }
        _ = try transport.load(server.url("/plain"))
        let seen = server.requests.map(\.fields)
        #expect(seen.count == 3)
        for fields in [seen[0], seen[2]] {
            #expect(fields["User-Agent"] == "inflight/\(CurlTransport.version)")
            #expect(fields["Accept"] == "*/*")
            #expect(fields["Accept-Encoding"]?.contains("gzip") == true)
            #expect(fields.count == 4)
        }
        #expect(seen[1].values("Accept") == ["image/*"])
        #expect(seen[1].values("User-Agent") == ["me"])
        #expect(seen[1].values("Accept-Encoding") == ["identity"])
        #expect(seen[1]["X-Empty"] == "")
        for name in ["Content-Length", "Transfer-Encoding", "Connection"] { #expect(!seen[1].contains(name)) }
    }

    @Test("A request body is sent whole and with its method", arguments: ["POST", "PUT", "PATCH", "GET"])
    func requestBody(method: String) throws {
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 17) }
        let server = RawServer { connection in
            while let head = connection.readHead() {
                let sent = connection.readBody(body.count)
                let isRight =
                    head.hasPrefix("\(method) ") && sent == body && !head.contains("Expect")
                    && !head.contains("Content-Type") && head.contains("Content-Length: 300000\r\n")
                connection.reply(Array((isRight ? "right" : head).utf8))
            }
        }
        let transport = try CurlTransport()
        for _ in 0..<2 {
            let heard = try transport.load(server.url + "/") {
                $0.method = method
                $0.body = Bytes(body)
            }
            #expect(heard.text == "right")
        }
    }

    @Test("The method of one transfer does not affect the next one") func methods() throws {
        let server = try LoopbackServer()
        server.serveOthers { _ in .ok(Bytes("x")) }
        let transport = try CurlTransport()
        for method in ["GET", "HEAD", "POST", "GET", "DELETE", "HEAD", "OPTIONS", "GET"] {
            let heard = try transport.load(server.url("/\(method)")) {
                $0.method = method
                if method == "POST" { $0.body = Bytes("abc") }
            }
            #expect(heard.text == (method == "HEAD" ? "" : "x"))
            #expect(server.requests.last?.method == method)
            #expect(server.requests.last.map { $0.fields.contains("Content-Length") } == (method == "POST"))
        }
        #expect(
            try transport.load(server.url("/")) {
                $0.method = "HEAD"; $0.body = Bytes("x")
            }.error?.code == .invalidRequest)
    }

    @Test("A 204 or 304 response has no body, and redirects are not followed") func bodylessStatuses() throws {
        let server = try LoopbackServer()
        server.serve("/204", .status(204))
        server.serve("/304", .status(304).field("Content-Length", "5"))
        server.serve("/302", .redirect(to: "/204"))
        let transport = try CurlTransport()
        #expect(try transport.load(server.url("/204")).summary?.bodyBytes == 0)
        let unchanged = try transport.load(server.url("/304"))
        #expect(unchanged.head?.status == 304)
        #expect(unchanged.summary?.bodyBytes == 0)
        #expect(try transport.load(server.url("/302")).head?.status == 302)
        #expect(server.requestCount(of: "/204") == 1)
    }

    @Test("A thousand concurrent transfers all end, cancelled or not") func manyTransfers() throws {
        let server = RawServer { while $0.readHead() != nil { $0.reply([0x78]) } }
        let transport = try CurlTransport()
        let recorders = try (0..<1000).map { number in
            let recorder = Recorder()
            let transfer = transport.start(try .of(server.url + "/"), receiver: recorder)
            if number % 7 == 0 { transfer.cancel() }
            return recorder
        }
        for (number, recorder) in recorders.enumerated() {
            let heard = recorder.waitForEnd()
            #expect(heard.text == "x" || (number % 7 == 0 && heard.error?.code == .cancelled))
        }
    }
}
