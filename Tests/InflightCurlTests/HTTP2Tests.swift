import InflightConcurrency
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct HTTP2Tests {
    private func transport(_ nginx: Nginx) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.caFile = nginx.caFile
        return try CurlTransport(configuration: configuration)
    }

    @Test("Concurrent HTTP/2 transfers share a few connections") func multiplexing() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let recorders = try (0..<200).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of(nginx.url + "/small"), receiver: recorder)
            return recorder
        }
        for recorder in recorders {
            let heard = recorder.waitForEnd()
            #expect(heard.head?.version == .http2)
            #expect(heard.body == nginx.small)
        }
        #expect(recorders.count { $0.heard.summary?.reusedConnection == false } <= 6)
    }

    @Test("Cancelling a stream keeps its connection for other transfers") func cancelledStream() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        #expect(try transport.load(nginx.url + "/small").summary != nil)
        for _ in 0..<10 {
            let recorder = Recorder(onHead: { _ in .pause })
            let transfer = transport.start(try .of(nginx.url + "/large"), receiver: recorder)
            _ = recorder.wait { $0.head != nil }
            transfer.cancel()
            #expect(recorder.waitForEnd().error?.code == .cancelled)
            let heard = try transport.load(nginx.url + "/small")
            #expect(heard.body == nginx.small)
            #expect(heard.summary?.reusedConnection == true)
        }
    }

    @Test("A paused stream blocks no other stream and loses no bytes") func pausedStream() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let recorder = Recorder(onBytes: { $0 == 0 ? .pause : .proceed })
        let transfer = transport.start(try .of(nginx.url + "/large"), receiver: recorder)
        _ = recorder.wait { $0.chunks == 1 }
        for _ in 0..<20 { #expect(try transport.load(nginx.url + "/small").body == nginx.small) }
        #expect(recorder.heard.chunks == 1)
        transfer.resume()
        #expect(recorder.waitForEnd().body == nginx.large)
    }

    /// RFC 9218: The default is omitted, and the caller's own field is kept.
    @Test("The priority of a request is sent as a header field, over TLS only") func priorityField() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        for (priority, sent) in zip(
            ImageRequest.Priority.allCases + [.veryHigh], ["u=5", "u=4", "", "u=2", "u=1", "u=1"])
        {
            #expect(try transport.load(nginx.url + "/priority") { $0.priority = priority }.text == sent)
        }
        let own = try transport.load(nginx.url + "/priority") {
            $0.priority = .high
            $0.fields.append("priority", "i")
        }
        #expect(own.text == "i")
        let plain = RawServer { $0.reply(Array(($0.readHead() ?? "").utf8)) }
        #expect(try !transport.load(plain.url) { $0.priority = .high }.text.contains("riority"))
    }

    /// RFC 7540 section 5.3.2. A starved stream receives nothing for long, and its weight changes nevertheless.
    @Test("A stream's weight is that of its priority, and a change is sent while no response bytes arrive")
    func weights() throws {
        let server = try FrameServer { .part([7]) }
        let transport = try transport(server)
        let recorders = [Recorder(), Recorder()]
        let transfers = try [ImageRequest.Priority.veryHigh, .veryLow].enumerated().map { index, priority in
            let transfer = transport.start(
                try .of(server.url) { $0.priority = priority }, receiver: recorders[index])
            _ = recorders[index].wait { $0.body == [7] }
            return transfer
        }
        #expect(server.weights(count: 2) == [[256], [1]])
        transfers[0].setPriority(.low)
        transfers[1].setPriority(.veryHigh)
        #expect(server.weights(count: 4) == [[256, 8], [1, 256]])
        for (index, priority) in [ImageRequest.Priority.high, .normal].enumerated() {
            transfers[1].setPriority(priority)
            #expect(server.weights(count: 5 + index) == [[256, 8], [1, 256, 64, 16].dropLast(1 - index)])
        }
        #expect(server.connections == 1)
        for (transfer, recorder) in zip(transfers, recorders) {
            transfer.cancel()
            #expect(recorder.waitForEnd().error?.code == .cancelled)
        }
    }

    @Test("The body limit and status 404 work over HTTP/2") func limitsAndStatuses() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let refused = try transport.load(nginx.url + "/large") { $0.limits.maximumBodyBytes = 1000 }
        #expect(refused.error?.code == .tooLarge)
        let missing = try transport.load(nginx.url + "/missing")
        #expect(missing.head?.status == 404)
        #expect(missing.summary != nil)
    }

    private func transport(_ server: FrameServer) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.caFile = server.caFile
        return try CurlTransport(configuration: configuration)
    }

    @Test("A request that the server requires over HTTP/1.1 is sent again over it, and later ones are sent over it")
    func requiredHTTP1() throws {
        let server = try FrameServer { .reset(13) }
        let transport = try transport(server)
        for count in 1...3 {
            let heard = try transport.load(server.url)
            #expect(heard.head?.version == .http1_1, "\(String(describing: heard.end))")
            #expect(heard.text == "HTTP/1.1")
            #expect(server.requests == [1, count])
        }
    }

    @Test("Concurrent requests that the server requires over HTTP/1.1 are all sent again over it")
    func concurrentlyRequiredHTTP1() throws {
        let server = try FrameServer { .reset(13) }
        let transport = try transport(server)
        let recorders = try (0..<6).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of(server.url), receiver: recorder)
            return recorder
        }
        for recorder in recorders {
            let heard = recorder.waitForEnd()
            #expect(heard.text == "HTTP/1.1", "\(String(describing: heard.end))")
        }
        #expect(server.requests[1] == 6)
    }

    @Test("A POST that the server requires over HTTP/1.1 is not repeated, but the next one is sent over it")
    func requiredHTTP1ForPost() throws {
        let server = try FrameServer { .reset(13) }
        let transport = try transport(server)
        let ends = try (0..<2).map { _ in
            try transport.load(server.url) {
                $0.method = "POST"
                $0.body = Bytes("abc")
            }
        }
        #expect(ends[0].error?.code == .connectionLost, "\(String(describing: ends[0].end))")
        #expect(ends[1].text == "HTTP/1.1")
        #expect(server.requests == [1, 1])
    }

    /// RST_STREAM with REFUSED_STREAM, or with ENHANCE_YOUR_CALM (RFC 9113 section 7).
    @Test(
        "Streams that the server refuses are sent again over a bounded number of connections",
        arguments: [(code: UInt32(7), perConnection: 4), (7, 1), (11, 4)])
    func refusedStreams(code: UInt32, perConnection: Int) throws {
        let answered = Guarded(0)
        let server = try FrameServer { position in
            // After ENHANCE_YOUR_CALM the connection is used again, so refuse every other stream.
            let isRefused =
                code == 7
                ? position >= perConnection
                : answered.withLock {
                    $0 += 1; return $0 % 2 == 1
                }
            return isRefused ? .reset(code) : .ok([1], announced: 1)
        }
        var configuration = CurlTransport.Configuration()
        configuration.caFile = server.caFile
        configuration.maximumConnectionsPerOrigin = 6
        let transport = try CurlTransport(configuration: configuration)
        let recorders = try (0..<30).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of(server.url), receiver: recorder)
            return recorder
        }
        for recorder in recorders {
            let heard = recorder.waitForEnd()
            #expect(heard.body == [1], "\(String(describing: heard.end))")
        }
        #expect(server.peakConnections <= 6)
        #expect(server.connections <= 30 / perConnection + 6)
    }

    @Test("A POST whose stream the server refuses is not sent again") func refusedPost() throws {
        let server = try FrameServer { .reset(7) }
        let heard = try transport(server).load(server.url) {
            $0.method = "POST"
            $0.body = Bytes("abc")
        }
        #expect(heard.error?.code == .connectionLost, "\(String(describing: heard.end))")
        #expect(server.requests == [1, 0])
    }

    @Test("A server that refuses every stream fails a request after a few connections") func refusesEveryStream() throws
    {
        let server = try FrameServer { .reset(7) }
        let transport = try transport(server)
        let heard = try transport.load(server.url)
        #expect(heard.error?.code == .connectionLost, "\(String(describing: heard.end))")
        #expect(server.connections == 4)
    }

    @Test(
        "A body that is longer or shorter than its Content-Length is truncated, as over HTTP/1.1",
        arguments: [(100, 50), (100, 150), (16_000, 10_000), (16_000, 16_001), (0, 1), (1, 0)])
    func wrongLength(bytes: Int, announced: Int) throws {
        let server = try FrameServer {
            .ok([UInt8](repeating: 7, count: bytes), announced: announced)
        }
        let transport = try transport(server)
        let heard = try transport.load(server.url)
        #expect(heard.error?.code == .truncated, "\(String(describing: heard.end))")
        #expect(heard.error?.message.contains("Content-Length") == true, "\(String(describing: heard.end))")
        #expect(server.connections == 1)
    }

    @Test("Streams that exceed the budget of bodies in flight block no other stream") func bodyBudget() async throws {
        let nginx = try Nginx()
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(try transport(nginx))], codecs: CodecRegistry([]))
        configuration.maximumBodyBytesInFlight = 100_000
        let pipeline = try ImagePipeline(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                let isLarge = number % 4 != 0
                let request = ImageRequest(nginx.url + (isLarge ? "/large?\(number)" : "/small?\(number)"))
                group.addTask {
                    let response = try await pipeline.response(for: request)
                    #expect(response.head.version == .http2)
                    #expect(response.body.array == (isLarge ? nginx.large : nginx.small))
                }
            }
            try await group.waitForAll()
        }
        #expect(pipeline.statistics.bodyBytesInFlight == 0)
    }
}
