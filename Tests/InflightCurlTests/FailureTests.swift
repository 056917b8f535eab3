import Glibc
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
    private func answered(
        _ bytes: String, _ change: (inout TransportRequest) -> Void = { _ in }
    ) throws -> Recorder.Recording {
        let server = RawServer { connection in
            _ = connection.readHead()
            connection.send(bytes)
        }
        return try CurlTransport().load(server.url + "/", change)
    }

    @Test(
        "A malformed, truncated or oversized response fails with the matching error code",
        arguments: [
            ("", LoadError.Code.cannotConnect),
            ("SSH-2.0-OpenSSH_9.2\r\n", .badResponse),
            ("HTTP/1.1 200 OK\r\nContent-Le", .truncated),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", .truncated),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .truncated),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\nhello\r\n0\r\n\r\n", .badResponse),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", .badResponse),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello", .tooLarge),
            ("HTTP/1.1 200 OK\r\nContent-Length: 92233720368547758070\r\n\r\nhello", .tooLarge),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: a0b1c2\r\n\r\nhello", .badResponse),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: a0b1c2, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", .badResponse),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", .badResponse),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\nContent-Length: 5\r\n\r\nhello", .badResponse),
        ])
    func brokenResponses(bytes: String, code: LoadError.Code) throws {
        let heard = try answered(bytes)
        #expect(heard.error?.code == code, "\(String(describing: heard.end))")
        #expect(heard.error?.stage == .fetch)
        #expect(heard.error?.url?.hasPrefix("http://127.0.0.1") == true)
    }

    @Test("Connecting to a port without a listener fails") func closedPort() throws {
        let port = RawServer { _ in }.port
        #expect(try CurlTransport().load("http://127.0.0.1:\(port)/").error?.code == .cannotConnect)
    }

    @Test("A reset before the response is a connect failure, one in the body a truncation, and silence a timeout")
    func resets() throws {
        let early = RawServer { connection in
            _ = connection.readHead()
            connection.reset()
        }
        #expect(try CurlTransport().load(early.url + "/").error?.code == .cannotConnect)
        let silent = RawServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
            connection.waitForClose()
        }
        let transport = try CurlTransport()
        let heard = try transport.load(silent.url + "/") { $0.limits.stallTimeout = .milliseconds(100) }
        #expect(heard.error?.code == .timedOut)
        #expect(heard.body.count == 5)
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("0123456789")).reset(after: 4))
        let late = try transport.load(server.url("/"))
        #expect(late.head?.status == 200 && late.error?.code == .truncated)
        #expect("0123".hasPrefix(late.text))
    }

    @Test("A response head is limited to 256 KiB or the configured size") func headLimit() throws {
        func head(_ bytes: Int) -> String {
            let line = "X-Filler: " + String(repeating: "x", count: 1012) + "\r\n"
            let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
            let rest = bytes - start.utf8.count - 2
            let last = "Y: " + String(repeating: "y", count: rest % 1024 + 1024 - 5) + "\r\n"
            return start + String(repeating: line, count: rest / 1024 - 1) + last + "\r\n"
        }
        #expect(head(262_144).utf8.count == 262_144)
        #expect(try answered(head(262_144)).summary != nil)
        #expect(try answered(head(262_145)).error?.code == .badResponse)
        #expect(
            try answered("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 200_000) + "\r\n\r\n").error?.code
                == .badResponse)
        let small = try answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") { $0.limits.maximumHeadBytes = 20 }
        #expect(small.error?.code == .badResponse)
        #expect(small.head == nil)
    }

    @Test("Interim responses are delivered up to a limit, and trailers do not change the head")
    func interimResponses() throws {
        let interim = "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n"
        let final =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 9\r\nX: y\r\n\r\n"
        let heard = try answered(interim + interim + final)
        #expect(heard.interim.map(\.status) == [103, 103])
        #expect(heard.interim.first?.fields["link"] == "a")
        #expect(heard.head?.fields == HTTPFields([("Transfer-Encoding", "chunked")]))
        #expect(heard.expectedBytes == nil)
        #expect(heard.text == "ok")
        #expect(heard.summary?.bodyBytes == 2)
        #expect(try answered(String(repeating: interim, count: 65) + final).error?.code == .badResponse)
    }

    @Test("Folded header fields are joined into one line") func foldedFields() throws {
        let heard = try answered("HTTP/1.1 200 OK\r\nA: one\r\n  two\r\n\tthree\r\nContent-Length: 0\r\n\r\n")
        #expect(heard.head?.fields["a"]?.split(separator: " ").joined(separator: " ").contains("one two") == true)
        #expect(heard.head?.fields.count == 2)
    }

    @Test("The body limit is inclusive, with and without a Content-Length") func bodyLimit() throws {
        let server = try LoopbackServer()
        server.serve("/length", .ok(Bytes([UInt8](repeating: 1, count: 1000))))
        server.serve("/chunks", .ok(Bytes([UInt8](repeating: 1, count: 1000))).chunked([100]))
        server.serve("/endless", .endless())
        let transport = try CurlTransport()
        for path in ["/length", "/chunks"] {
            let whole = try transport.load(server.url(path)) { $0.limits.maximumBodyBytes = 1000 }
            #expect(whole.summary?.bodyBytes == 1000)
            let refused = try transport.load(server.url(path)) { $0.limits.maximumBodyBytes = 999 }
            #expect(refused.error?.code == .tooLarge)
            #expect((refused.head == nil) == (path == "/length"))
            #expect(refused.body.count <= 999)
        }
        let endless = try transport.load(server.url("/endless")) { $0.limits.maximumBodyBytes = 100_000 }
        #expect(endless.error?.code == .tooLarge)
        #expect(
            try transport.load(server.url("/length")) {
                $0.method = "HEAD"
                $0.limits.maximumBodyBytes = 1
            }.summary != nil)
    }

    private static let bomb = Gzip.zeros(runs: 387)

    @Test("The body limit applies to decoded bytes, and to encoded bytes that decode to fewer")
    func decodedBodyLimit() throws {
        let server = RawServer { connection in
            while let head = connection.readHead(), head.contains("/bomb") {
                connection.reply(Self.bomb, headers: "Content-Encoding: gzip\r\n")
            }
            // Blocks that decode to nothing, without end.
            connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n")
            connection.send([0x78, 0x01])
            while connection.send(Gzip.emptyBlocks(1000)) {}
        }
        let transport = try CurlTransport()
        let whole = try transport.load(server.url + "/bomb") { $0.limits.maximumBodyBytes = 99_847 }
        #expect(whole.summary == TransportSummary(wireBytes: Int64(Self.bomb.count), bodyBytes: 99_847))
        #expect(whole.expectedBytes == Int64(Self.bomb.count))
        #expect(
            try transport.load(server.url + "/bomb") { $0.limits.maximumBodyBytes = 99_846 }.error?.code == .tooLarge)
        let raw = try transport.load(server.url + "/bomb") { $0.fields.append("Accept-Encoding", "gzip") }
        #expect(raw.body == Self.bomb)
        #expect(
            try transport.load(server.url + "/empty") { $0.limits.maximumBodyBytes = 50_000 }.error?.code == .tooLarge)
    }

    @Test("An invalid request is rejected before a connection is opened") func invalidRequests() throws {
        let server = RawServer { _ in }
        let transport = try CurlTransport()
        #expect(try transport.load(server.url) { $0.method = "GET /x HTTP/1.1\r\nX: y" }.error?.code == .invalidRequest)
        #expect(try transport.load(server.url) { $0.method = "CONNECT" }.error?.code == .invalidRequest)
        #expect(try transport.load(server.url) { $0.fields.append("X", "a\r\nY: b") }.error?.code == .invalidRequest)
        #expect(try transport.load(server.url) { $0.fields.append("X Y", "a") }.error?.code == .invalidRequest)
        #expect(try transport.load("ftp://127.0.0.1/").error?.code == .unsupportedScheme)
        #expect(server.connections == 0)
    }

    @Test("Creating a transport fails if the CA file or the connection limit is invalid") func invalidConfigurations() {
        var configuration = CurlTransport.Configuration()
        for path in ["/missing", "/tmp", "/dev/null", "/etc/passwd"] {
            configuration.caFile = path
            let error = #expect(throws: LoadError.self) { try CurlTransport(configuration: configuration) }
            #expect(error?.code == .cannotRead, "\(path)")
        }
        configuration.caFile = nil
        configuration.maximumConnectionsPerOrigin = 0
        #expect(throws: LoadError.self) { try CurlTransport(configuration: configuration) }
    }

    @Test("A response head that never ends counts as stalled") func endlessHead() throws {
        let server = RawServer { connection in
            guard connection.readHead() != nil, connection.send("HTTP/1.1 200 OK\r\n") else { return }
            var watched = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
            while unsafe poll(&watched, 1, 20) == 0, connection.send("X-Line: 1\r\n") {}
        }
        let heard = try CurlTransport().load(server.url + "/") { $0.limits.stallTimeout = .milliseconds(200) }
        #expect(heard.error?.code == .timedOut)
        #expect(heard.error?.message.contains("header within 200 ms") == true, "\(heard.error as Any)")
    }

    @Test("Timeouts end a transfer that connects too slowly, stalls or takes too long") func timeouts() throws {
        let server = RawServer { connection in
            guard let head = connection.readHead() else { return }
            if head.contains("/part") {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nxxx")
            }
            connection.waitForClose()
        }
        let transport = try CurlTransport()
        let stalled = try transport.load(server.url + "/silent") { $0.limits.stallTimeout = .milliseconds(80) }
        #expect(stalled.error?.code == .timedOut)
        #expect(stalled.error?.message.contains("stalled") == true)
        let long = try transport.load(server.url + "/part") {
            $0.limits.stallTimeout = nil
            $0.limits.totalTimeout = .milliseconds(150)
        }
        #expect(long.error?.code == .timedOut)
        #expect(long.error?.message.contains("timed out after 150 ms") == true)
        var greeting = LoopbackServer.Configuration()
        greeting.greeting = .silence
        let silent = try LoopbackServer(greeting)
        let handshake = try transport.load("https://127.0.0.1:\(silent.port)/") {
            $0.limits.connectTimeout = .milliseconds(80)
        }
        #expect(handshake.error?.code == .timedOut)
        #expect(handshake.error?.message.contains("Connecting") == true)
    }
}
