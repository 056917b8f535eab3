internal import InflightConcurrency
internal import InflightCore

extension TransportConformance {
    /// Checks of requests, header fields, codings, trailers, connections and timeouts.
    static let messages: [(String, Body)] = [
        (
            "Method, header fields and body are sent unchanged, except for framing fields",
            { bench in
                bench.server.serve("/a", .ok(Bytes("ok")))
                var request = TransportRequest(url: try bench.server.resource("/a"), method: "PUT", body: image)
                for (name, value) in [("X-One", "1"), ("X-Two", "a"), ("X-Two", "b"), ("Transfer-Encoding", "no")] {
                    request.fields.append(name, value)
                }
                let (_, receiver) = bench.start(request, ConformanceReceiver())
                try await receiver.waitForEnd(within: bench.limit)
                guard let sent = bench.server.requests.first else { return bench.fail("no request arrived") }
                bench.expect(sent.method == "PUT", "the method was \(sent.method)")
                bench.expect(sent.body == image, "a body of \(sent.body.count) bytes was sent")
                bench.expect(sent.fields.values("X-One") == ["1"], "a field was not sent")
                bench.expect(!sent.fields.values("Transfer-Encoding").contains("no"), "a framing field was sent")
                bench.expectDoubled(sent.fields.values("X-Two"), ["a", "b"])
            }
        ),
        (
            "A request that cannot be sent fails with invalidRequest, and nothing is sent",
            { bench in
                var lineBreak = TransportRequest(url: try bench.server.resource("/a"))
                lineBreak.fields.append("X", "1\r\nY: 2")
                let noMethod = TransportRequest(url: try bench.server.resource("/a"), method: "GET /x")
                for request in [lineBreak, noMethod] {
                    let (_, receiver) = bench.start(request, ConformanceReceiver())
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(receiver.code == .invalidRequest, "the exchange ended with \(receiver.ending)")
                }
                bench.expect(bench.server.requestCount == 0, "a request was sent")
            }
        ),
        (
            "A content-coded body is delivered decoded, with its coded length, and its decoded length is limited",
            { bench in
                let coded = Bytes(Gzip.zeros(runs: 1000))
                bench.server.serve("/a", .ok(coded).field("Content-Encoding", "gzip"))
                let receiver = try await bench.finish("/a")
                let state = receiver.state.withLock { $0 }
                bench.expect(
                    state.body == [UInt8](repeating: 0, count: 258_001), "\(state.body.count) bytes were delivered")
                bench.expect(state.expectedBytes == Int64(coded.count), "\(state.expectedBytes ?? -1) bytes expected")
                guard case .success(let summary) = receiver.result else {
                    return bench.fail("the exchange ended with \(receiver.ending)")
                }
                bench.expect(
                    summary == TransportSummary(wireBytes: Int64(coded.count), bodyBytes: 258_001), "\(summary)")
                let bomb = try await bench.finish("/a", limit: 200_000)
                bench.expect(bomb.code == .tooLarge, "above the limit the exchange ended with \(bomb.ending)")
                bench.expect(bomb.state.withLock { $0.body.count } <= 200_000, "more bytes were delivered than allowed")
            }
        ),
        (
            "A request with Accept-Encoding gets the coded body, or the decoded body without Content-Encoding",
            { bench in
                let coded = Gzip.zeros(runs: 10)
                bench.server.serve("/a", .ok(Bytes(coded)).field("Content-Encoding", "gzip"))
                var request = TransportRequest(url: try bench.server.resource("/a"))
                request.fields.append("Accept-Encoding", "gzip")
                let (_, receiver) = bench.start(request, ConformanceReceiver())
                try await receiver.waitForEnd(within: bench.limit)
                let state = receiver.state.withLock { $0 }
                let isCoded = state.heads.first?.fields["Content-Encoding"] == "gzip"
                let body = isCoded ? coded : [UInt8](repeating: 0, count: 2581)
                bench.expect(state.body == body, "\(state.body.count) bytes were delivered, coded: \(isCoded)")
                let length = state.heads.first?.fields["Content-Length"].flatMap { Int($0) }
                bench.expect(length ?? body.count == body.count, "Content-Length is not the number of bytes delivered")
                bench.expect(receiver.code == nil, "the exchange ended with \(receiver.ending)")
            }
        ),
        (
            "Trailers are delivered between the body and the end, and do not change the head",
            { bench in
                bench.server.serve("/b", .ok(image))
                bench.server.serve(
                    "/a",
                    .ok(image).chunked().field("ETag", "\"a\"").trailer("ETag", "\"b\"").trailer("X-Sum", "1"))
                let receiver = try await bench.finish("/a")
                let state = receiver.state.withLock { $0 }
                bench.expect(state.heads.first?.fields.values("ETag") == ["\"a\""], "the head was changed")
                bench.expect(
                    state.heads.first?.fields.contains("X-Sum") == false, "a trailer was added to the head")
                bench.expect(state.body == image.array, "\(state.body.count) bytes were delivered")
                let sent = HTTPFields([("ETag", "\"b\""), ("X-Sum", "1")])
                bench.expect(
                    state.trailers == sent, "the trailers are \(state.trailers.map(\.description) ?? "missing")")
                bench.expect(receiver.code == nil, "the exchange ended with \(receiver.ending)")
                let without = try await bench.finish("/b")
                bench.expect(
                    without.state.withLock { $0.trailers == nil }, "trailers were delivered that were not sent")
            }
        ),
        (
            "A head above the limit fails with badResponse and is not delivered",
            { bench in
                bench.server.serve("/a", .ok(Bytes("x")).field("X", String(repeating: "x", count: 5000)))
                var request = TransportRequest(url: try bench.server.resource("/a"))
                request.limits.maximumHeadBytes = 4000
                let (_, receiver) = bench.start(request, ConformanceReceiver())
                try await receiver.waitForEnd(within: bench.limit)
                bench.expect(receiver.code == .badResponse, "the exchange ended with \(receiver.ending)")
                bench.expect(receiver.state.withLock { $0.heads.isEmpty }, "the head was delivered")
            }
        ),
        (
            "A second exchange reuses the connection and reports that in its summary",
            { bench in
                bench.server.serve("/a", .ok(Bytes("x")))
                for isSecond in [false, true] {
                    let receiver = try await bench.finish("/a")
                    guard case .success(let summary) = receiver.result else {
                        return bench.fail("the exchange ended with \(receiver.ending)")
                    }
                    bench.expect(
                        summary.reusedConnection == isSecond, "reusedConnection is \(summary.reusedConnection)")
                }
                bench.expect(bench.server.openedConnections == 1, "the connection was not reused")
            }
        ),
        (
            "A 401 is delivered like any other response, whatever its authentication scheme",
            { bench in
                for (path, scheme) in [("/basic", "Basic realm=\"x\""), ("/other", "Unheard-Of")] {
                    bench.server.serve(path, .status(401, text: "who?").field("WWW-Authenticate", scheme))
                    let receiver = try await bench.finish(path)
                    let state = receiver.state.withLock { $0 }
                    bench.expect(state.heads.map(\.status) == [401], "\(path): heads \(state.heads.map(\.status))")
                    bench.expect(state.body == Array("who?".utf8), "\(path): \(state.body.count) bytes were delivered")
                    bench.expect(receiver.code == nil, "\(path): the exchange ended with \(receiver.ending)")
                }
                bench.expect(bench.server.requestCount == 2, "a request was repeated")
            }
        ),
        (
            "Redirects without Location, or with an unsupported or malformed one, are delivered",
            { bench in
                bench.server.serve("/none", .status(302))
                bench.server.serve("/ftp", .redirect(to: "ftp://example.org/"))
                bench.server.serve("/odd", .redirect(to: "//[bad/%zz?\u{7C}%"))
                for path in ["/none", "/ftp", "/odd"] {
                    let receiver = try await bench.finish(path)
                    let statuses = receiver.state.withLock { $0.heads.map(\.status) }
                    bench.expect(statuses == [302], "\(path): heads \(statuses)")
                    bench.expect(receiver.code == nil, "\(path): the exchange ended with \(receiver.ending)")
                }
            }
        ),
        (
            "A paused exchange stops reading from the connection and does not end",
            { bench in
                bench.server.serve("/a", .endless())
                var request = TransportRequest(url: try bench.server.resource("/a"))
                request.limits.maximumBodyBytes = 5_000_000
                let (transfer, receiver) = bench.start(request, ConformanceReceiver(head: .pause))
                try await receiver.waitForHead(within: bench.limit)
                // Other exchanges run meanwhile.
                bench.server.serve("/b", .ok(image))
                for _ in 0..<20 { _ = try await bench.finish("/b") }
                bench.expect(receiver.result == nil, "the exchange ended while it was paused: \(receiver.ending)")
                receiver.outside { transfer.cancel() }
                try await receiver.waitForEnd(within: bench.limit)
            }
        ),
        (
            "The stall and total timeouts fail an exchange with timedOut, before and during the body",
            { bench in
                bench.server.serve("/silent", .silent)
                bench.server.serve("/half", .ok(image).held("", after: 50_000))
                for path in ["/silent", "/half"] {
                    for isTotal in [true, false] {
                        var request = TransportRequest(url: try bench.server.resource(path))
                        request.limits = bench.limits
                        if isTotal {
                            request.limits.totalTimeout = .milliseconds(50)
                        } else {
                            request.limits.connectTimeout = .milliseconds(50)
                            request.limits.stallTimeout = .milliseconds(50)
                        }
                        let (_, receiver) = bench.start(request, ConformanceReceiver())
                        try await receiver.waitForEnd(within: bench.limit)
                        bench.expect(receiver.code == .timedOut, "\(path): the exchange ended with \(receiver.ending)")
                    }
                }
            }
        ),
    ]
}
