internal import InflightConcurrency
internal import InflightCore

extension TransportConformance {
    /// Checks of messages apart from the body's bytes.
    static let messages: [(String, Body)] = [
        (
            "Method, fields and body are sent as they are, without what frames a message",
            { bench in
                bench.server.serve("/a", .ok(Bytes("ok")))
                var request = TransportRequest(url: try bench.server.resource("/a"), method: "PUT", body: image)
                for (name, value) in [("X-One", "1"), ("X-Two", "a"), ("X-Two", "b"), ("Transfer-Encoding", "no")] {
                    request.fields.append(name, value)
                }
                let (_, receiver) = bench.start(request, ConformanceReceiver())
                try await receiver.waitForEnd(within: bench.limit)
                guard let sent = bench.server.requests.first else { return bench.fail("no request came") }
                bench.expect(sent.method == "PUT", "the method was \(sent.method)")
                bench.expect(sent.body == image, "\(sent.body.count) bytes were sent")
                bench.expect(sent.fields.values("X-One") == ["1"], "a field was lost")
                bench.expect(!sent.fields.values("Transfer-Encoding").contains("no"), "a framing field was sent")
                bench.expectDoubled(sent.fields.values("X-Two"), ["a", "b"])
            }
        ),
        (
            "What cannot be sent is an invalid request, and nothing goes out",
            { bench in
                var lineBreak = TransportRequest(url: try bench.server.resource("/a"))
                lineBreak.fields.append("X", "1\r\nY: 2")
                let noMethod = TransportRequest(url: try bench.server.resource("/a"), method: "GET /x")
                for request in [lineBreak, noMethod] {
                    let (_, receiver) = bench.start(request, ConformanceReceiver())
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(receiver.code == .invalidRequest, "it ended with \(receiver.ending)")
                }
                bench.expect(bench.server.requestCount == 0, "something was sent")
            }
        ),
        (
            "A coded body is handed on decoded; its length on the wire is told; both are limited",
            { bench in
                let coded = Bytes(Gzip.zeros(runs: 1000))
                bench.server.serve("/a", .ok(coded).field("Content-Encoding", "gzip"))
                let receiver = try await bench.finish("/a")
                let state = receiver.state.withLock { $0 }
                bench.expect(state.body == [UInt8](repeating: 0, count: 258_001), "\(state.body.count) bytes came")
                bench.expect(state.expectedBytes == Int64(coded.count), "\(state.expectedBytes ?? -1) bytes expected")
                guard case .success(let summary) = receiver.result else {
                    return bench.fail("it ended with \(receiver.ending)")
                }
                bench.expect(
                    summary == TransportSummary(wireBytes: Int64(coded.count), bodyBytes: 258_001), "\(summary)")
                let bomb = try await bench.finish("/a", limit: 200_000)
                bench.expect(bomb.code == .tooLarge, "beyond the limit it ended with \(bomb.ending)")
                bench.expect(bomb.state.withLock { $0.body.count } <= 200_000, "more was handed on than allowed")
            }
        ),
        (
            "Whoever asks for codings gets the body as it came, or undone and not called coded",
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
                bench.expect(state.body == body, "\(state.body.count) bytes came, coded: \(isCoded)")
                let length = state.heads.first?.fields["Content-Length"].flatMap { Int($0) }
                bench.expect(length ?? body.count == body.count, "the head tells another length than came")
                bench.expect(receiver.code == nil, "it ended with \(receiver.ending)")
            }
        ),
        (
            "Fields behind the body are told between it and the end, and are no part of the head",
            { bench in
                bench.server.serve("/b", .ok(image))
                if !bench.lacks(.breaksOnTrailers) {
                    bench.server.serve(
                        "/a",
                        .ok(image).chunked().field("ETag", "\"a\"").trailer("ETag", "\"b\"").trailer("X-Sum", "1"))
                    let receiver = try await bench.finish("/a")
                    let state = receiver.state.withLock { $0 }
                    bench.expect(state.heads.first?.fields.values("ETag") == ["\"a\""], "the head was changed")
                    bench.expect(state.heads.first?.fields.contains("X-Sum") == false, "the head was added to")
                    bench.expect(state.body == image.array, "\(state.body.count) bytes came")
                    let sent = HTTPFields([("ETag", "\"b\""), ("X-Sum", "1")])
                    bench.expect(state.trailers == sent, "told were \(state.trailers.map(\.description) ?? "none")")
                    bench.expect(receiver.code == nil, "it ended with \(receiver.ending)")
                }
                let without = try await bench.finish("/b")
                bench.expect(without.state.withLock { $0.trailers == nil }, "there were trailers where none were sent")
            }
        ),
        (
            "A head that is longer than allowed is refused",
            { bench in
                bench.server.serve("/a", .ok(Bytes("x")).field("X", String(repeating: "x", count: 5000)))
                var request = TransportRequest(url: try bench.server.resource("/a"))
                request.limits.maximumHeadBytes = 4000
                let (_, receiver) = bench.start(request, ConformanceReceiver())
                try await receiver.waitForEnd(within: bench.limit)
                bench.expect(receiver.code == .badResponse, "it ended with \(receiver.ending)")
                bench.expect(receiver.state.withLock { $0.heads.isEmpty }, "the head was handed on")
            }
        ),
        (
            "A second exchange goes over the same connection, and says so",
            { bench in
                bench.server.serve("/a", .ok(Bytes("x")))
                for isSecond in [false, true] {
                    let receiver = try await bench.finish("/a")
                    guard case .success(let summary) = receiver.result else {
                        return bench.fail("it ended with \(receiver.ending)")
                    }
                    let isTold = bench.lacks(.hidesReusedConnections) ? false : isSecond
                    bench.expect(summary.reusedConnection == isTold, "it said \(summary.reusedConnection)")
                }
                bench.expect(bench.server.openedConnections == 1, "a connection was not used again")
            }
        ),
        (
            "A 401 is an answer like others, whatever it asks for",
            { bench in
                for (path, scheme) in [("/basic", "Basic realm=\"x\""), ("/other", "Unheard-Of")] {
                    bench.server.serve(path, .status(401, text: "who?").field("WWW-Authenticate", scheme))
                    let receiver = try await bench.finish(path)
                    let state = receiver.state.withLock { $0 }
                    bench.expect(state.heads.map(\.status) == [401], "\(path): heads \(state.heads.map(\.status))")
                    bench.expect(state.body == Array("who?".utf8), "\(path): \(state.body.count) bytes came")
                    bench.expect(receiver.code == nil, "\(path): ended with \(receiver.ending)")
                }
                bench.expect(bench.server.requestCount == 2, "it was asked again")
            }
        ),
        (
            "Redirects without a target, and to places that nobody knows, are handed on",
            { bench in
                bench.server.serve("/none", .status(302))
                bench.server.serve("/ftp", .redirect(to: "ftp://example.org/"))
                bench.server.serve("/odd", .redirect(to: "//[bad/%zz?\u{7C}%"))
                for path in ["/none", "/ftp", "/odd"] {
                    let receiver = try await bench.finish(path)
                    let statuses = receiver.state.withLock { $0.heads.map(\.status) }
                    bench.expect(statuses == [302], "\(path): heads \(statuses)")
                    bench.expect(receiver.code == nil, "\(path): ended with \(receiver.ending)")
                }
            }
        ),
        (
            "A pause takes no more off the wire, and is no stall",
            { bench in
                bench.server.serve("/a", .endless())
                var request = TransportRequest(url: try bench.server.resource("/a"))
                request.limits.maximumBodyBytes = 5_000_000
                let (transfer, receiver) = bench.start(request, ConformanceReceiver(head: .pause))
                if bench.lacks(.readsOnInPauses) {
                    // The bytes that the transport has read count towards the body limit.
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(receiver.code == .tooLarge, "it ended with \(receiver.ending)")
                } else {
                    try await receiver.waitForHead(within: bench.limit)
                    // Other exchanges run meanwhile.
                    bench.server.serve("/b", .ok(image))
                    for _ in 0..<20 { _ = try await bench.finish("/b") }
                    bench.expect(receiver.result == nil, "it ended in a pause: \(receiver.ending)")
                    receiver.outside { transfer.cancel() }
                    try await receiver.waitForEnd(within: bench.limit)
                }
            }
        ),
        (
            "The limits of time hold: for silence, and for the whole exchange",
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
                        bench.expect(receiver.code == .timedOut, "\(path): ended with \(receiver.ending)")
                    }
                }
            }
        ),
    ]
}
