internal import InflightConcurrency
internal import InflightCore

extension TransportConformance {
    static let image = Bytes((0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 31 ^ $0 >> 8) })

    /// Checks of successful exchanges.
    static let exchanges: [(String, Body)] = [
        (
            "A response is delivered as one head, its complete body in order, and one end",
            { bench in
                bench.server.serve("/length", .ok(image, type: "image/x"))
                bench.server.serve("/chunks", .ok(image).chunked([1, 70_000, 3]))
                bench.server.serve("/close", .ok(image).untilClose())
                for path in ["/length", "/chunks", "/close"] {
                    let receiver = try await bench.finish(path)
                    let state = receiver.state.withLock { $0 }
                    bench.expect(state.heads.first?.status == 200, "\(path): the status is not 200")
                    bench.expect(state.body == image.array, "\(path): the body is not what was sent")
                    let announced = path == "/length" ? Int64(image.count) : nil
                    bench.expect(
                        state.expectedBytes == announced, "\(path): \(state.expectedBytes ?? -1) bytes expected")
                    guard case .success(let summary) = state.results.first else {
                        bench.fail("\(path): failed with \(String(describing: receiver.code))")
                        continue
                    }
                    bench.expect(
                        summary.bodyBytes == image.count, "\(path): the summary has \(summary.bodyBytes) body bytes")
                }
            }
        ),
        (
            "Statuses and header fields are delivered unchanged, and redirects are not followed",
            { bench in
                bench.server.serve("/redirect", .redirect(to: "/length").field("X", "1").field("X", "2"))
                bench.server.serve("/missing", .status(404, text: "no"))
                bench.server.serve("/same", .status(304).field("ETag", "\"e\""))
                for (path, status) in [("/redirect", 302), ("/missing", 404), ("/same", 304)] {
                    let receiver = try await bench.finish(path)
                    let head = receiver.state.withLock { $0.heads.first }
                    bench.expect(head?.status == status, "\(path): the status is \(head?.status ?? 0)")
                    if path == "/redirect" {
                        bench.expectDoubled(head?.fields.values("X") ?? [], ["1", "2"])
                    }
                    bench.expect(receiver.code == nil, "\(path): failed with \(String(describing: receiver.code))")
                }
                bench.expect(bench.server.requestCount == 3, "a redirect was followed")
            }
        ),
        (
            "A response to HEAD, a 204 and an empty 200 deliver no body bytes",
            { bench in
                bench.server.serve("/a", .ok(image))
                bench.server.serve("/none", .status(204))
                bench.server.serve("/empty", .ok(.empty))
                for (path, method) in [("/a", "HEAD"), ("/none", "GET"), ("/empty", "GET")] {
                    let receiver = try await bench.finish(path, method: method)
                    bench.expect(receiver.state.withLock { $0.body.isEmpty }, "\(method) \(path): bytes were delivered")
                    bench.expect(receiver.code == nil, "\(method) \(path): \(String(describing: receiver.code))")
                }
            }
        ),
        (
            "An interim head is delivered separately from the final head",
            { bench in
                bench.server.serve("/a", .ok(image).interim(103))
                let receiver = try await bench.finish("/a")
                let (interim, heads) = receiver.state.withLock { ($0.interimStatuses, $0.heads.map(\.status)) }
                bench.expect(interim == [103] && heads == [200], "interim heads \(interim), final heads \(heads)")
            }
        ),
        (
            "A paused exchange delivers no body until it is resumed, and then all of it",
            { bench in
                bench.server.serve("/a", .ok(image))
                let (transfer, receiver) = try bench.start("/a", ConformanceReceiver(head: .pause))
                try await receiver.waitForHead(within: bench.limit)
                receiver.resume(transfer)
                try await receiver.waitForEnd(within: bench.limit)
                bench.expect(receiver.state.withLock { $0.body } == image.array, "the body is not what was sent")
            }
        ),
        (
            "A hundred concurrent exchanges all end, each with its own body",
            { bench in
                bench.server.serveOthers { .ok(Bytes($0.path)) }
                let running = try (0..<100).map { try bench.start("/\($0)") }
                for (index, exchange) in running.enumerated() {
                    try await exchange.receiver.waitForEnd(within: bench.limit)
                    let body = exchange.receiver.state.withLock { $0.body }
                    bench.expect(body == Array("/\(index)".utf8), "exchange \(index) got another body")
                }
            }
        ),
    ]
}
