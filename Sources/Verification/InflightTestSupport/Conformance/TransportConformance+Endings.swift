internal import InflightConcurrency
internal import InflightCore

extension TransportConformance {
    /// Checks of cancellation by the caller, the receiver, or a shutdown.
    static let cancellations: [(String, Body)] = [
        (
            "Cancelling at the start, before the response, in the body or while paused ends the exchange with cancelled",
            { bench in
                bench.server.serve("/silent", .silent)
                bench.server.serve("/half", .ok(image).held("", after: 50_000))
                let atOnce = try bench.start("/silent")
                let before = try bench.start("/silent")
                let inBody = try bench.start("/half")
                let paused = try bench.start("/half", ConformanceReceiver(head: .pause))
                try await bench.server.waitForRequest("/silent", within: bench.limit)
                try await inBody.receiver.waitForBytes(50_000, within: bench.limit)
                try await paused.receiver.waitForHead(within: bench.limit)
                for (transfer, receiver) in [atOnce, before, inBody, paused] {
                    receiver.outside { transfer.cancel() }
                    receiver.outside { transfer.cancel() }
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(
                        receiver.code == .cancelled, "the exchange ended with \(String(describing: receiver.code))")
                }
                try await bench.server.waitUntilClosedByPeer("/half", count: 2, within: bench.limit)
            }
        ),
        (
            "Cancelling after the end has no effect",
            { bench in
                bench.server.serve("/a", .ok(image))
                let (transfer, receiver) = try bench.start("/a")
                try await receiver.waitForEnd(within: bench.limit)
                receiver.outside { transfer.cancel() }
                bench.expect(receiver.code == nil, "the exchange ended with \(String(describing: receiver.code))")
            }
        ),
        (
            "A receiver that cancels at the head or at the first bytes ends the exchange with cancelled",
            { bench in
                bench.server.serve("/a", .ok(image).held("", after: 50_000))
                let atHead = try bench.start("/a", ConformanceReceiver(head: .cancel))
                let atBytes = try bench.start("/a", ConformanceReceiver(bytes: .cancel))
                for (_, receiver) in [atHead, atBytes] {
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(
                        receiver.code == .cancelled, "the exchange ended with \(String(describing: receiver.code))")
                }
                bench.expect(
                    atHead.receiver.state.withLock { $0.body.isEmpty },
                    "bytes were delivered after the receiver had cancelled")
                try await bench.server.waitUntilClosedByPeer("/a", count: 2, within: bench.limit)
            }
        ),
        (
            "Shutdown fails running exchanges, and later starts fail with shutDown",
            { bench in
                bench.server.serve("/silent", .silent)
                let running = try bench.start("/silent")
                try await bench.server.waitForRequest("/silent", within: bench.limit)
                await bench.transport.shutdown()
                bench.expect(running.receiver.result != nil, "shutdown returned before the exchange had ended")
                if case .success = running.receiver.result { bench.fail("an exchange succeeded without a response") }
                let late = try await bench.finish("/silent")
                bench.expect(
                    late.code == .shutDown, "a start after shutdown ended with \(String(describing: late.code))")
            }
        ),
    ]

    /// Checks of failures and of their codes.
    static let failures: [(String, Body)] = [
        (
            "A truncated, malformed or missing response and a refused connection fail with their error codes",
            { bench in
                let server = bench.server
                server.serve("/truncated", .ok(image).truncated(after: 1000))
                server.serve("/chunk", .ok(image).chunked([5000]).truncated(after: 7000))
                server.serve("/reset", .ok(image).reset(after: 1000))
                server.serve("/closing", .closing)
                server.serve("/raw", .raw("SSH-2.0-nothing\r\n"))
                let cases: [(String, LoadError.Code)] = [
                    ("/truncated", .truncated), ("/chunk", .truncated), ("/reset", .truncated),
                    ("/closing", .cannotConnect), ("/raw", .badResponse),
                ]
                for (path, code) in cases {
                    let receiver = try await bench.finish(path)
                    bench.expect(receiver.code == code, "\(path): \(String(describing: receiver.code)), not \(code)")
                }
                let other = try LoopbackServer()
                other.stop()
                let (_, refused) = try bench.start(url: other.url("/"), ConformanceReceiver())
                try await refused.waitForEnd(within: bench.limit)
                bench.expect(
                    refused.code == .cannotConnect, "a refused connection: \(String(describing: refused.code))")
            }
        ),
        (
            "The body limit applies with and without Content-Length; a body of exactly the limit is accepted",
            { bench in
                bench.server.serve("/length", .ok(image))
                bench.server.serve("/chunks", .ok(image).chunked([1000]))
                let count = Int64(image.count)
                // Silent after the limit: a transport may go on reading while it ends an exchange.
                bench.server.serve("/endless", .endless().held("", after: image.count))
                for path in ["/length", "/chunks"] {
                    let enough = try await bench.finish(path, limit: count)
                    bench.expect(
                        enough.code == nil,
                        "\(path): \(String(describing: enough.code)) for a body of exactly the limit")
                }
                for path in ["/length", "/chunks", "/endless"] {
                    let receiver = try await bench.finish(path, limit: count - 1)
                    bench.expect(
                        receiver.code == .tooLarge, "\(path): \(String(describing: receiver.code)) above the limit")
                    let body = receiver.state.withLock { $0.body.count }
                    bench.expect(body < count, "\(path): \(body) bytes were delivered")
                }
            }
        ),
    ]
}
