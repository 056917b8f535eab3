internal import InflightConcurrency
internal import InflightCore

extension TransportConformance {
    /// Checks of cancellation by the caller, the receiver, or a shutdown.
    static let cancellations: [(String, Body)] = [
        (
            "Cancelling at once, before the answer, in the body and in a pause ends the exchange as cancelled",
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
                    bench.expect(receiver.code == .cancelled, "it ended with \(String(describing: receiver.code))")
                }
                try await bench.server.waitUntilClosedByPeer("/half", count: 2, within: bench.limit)
            }
        ),
        (
            "Cancelling after the end changes nothing",
            { bench in
                bench.server.serve("/a", .ok(image))
                let (transfer, receiver) = try bench.start("/a")
                try await receiver.waitForEnd(within: bench.limit)
                receiver.outside { transfer.cancel() }
                bench.expect(receiver.code == nil, "it ended with \(String(describing: receiver.code))")
            }
        ),
        (
            "A receiver that refuses the head or the first bytes hears no more",
            { bench in
                bench.server.serve("/a", .ok(image).held("", after: 50_000))
                let atHead = try bench.start("/a", ConformanceReceiver(head: .cancel))
                let atBytes = try bench.start("/a", ConformanceReceiver(bytes: .cancel))
                for (_, receiver) in [atHead, atBytes] {
                    try await receiver.waitForEnd(within: bench.limit)
                    bench.expect(receiver.code == .cancelled, "it ended with \(String(describing: receiver.code))")
                }
                bench.expect(atHead.receiver.state.withLock { $0.body.isEmpty }, "bytes came after a refusal")
                try await bench.server.waitUntilClosedByPeer("/a", count: 2, within: bench.limit)
            }
        ),
        (
            "Shutdown ends what is under way with an error, and later starts fail with shutDown",
            { bench in
                bench.server.serve("/silent", .silent)
                let running = try bench.start("/silent")
                try await bench.server.waitForRequest("/silent", within: bench.limit)
                await bench.transport.shutdown()
                bench.expect(running.receiver.result != nil, "shutdown returned before the end")
                if case .success = running.receiver.result { bench.fail("an exchange ended well without an answer") }
                let late = try await bench.finish("/silent")
                bench.expect(late.code == .shutDown, "a late start ended with \(String(describing: late.code))")
            }
        ),
    ]

    /// Checks of failures and of their codes.
    static let failures: [(String, Body)] = [
        (
            "Failures have the code that names them",
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
            "The limit of bytes holds, with a length and without; what is equal to it is within",
            { bench in
                bench.server.serve("/length", .ok(image))
                bench.server.serve("/chunks", .ok(image).chunked([1000]))
                bench.server.serve("/endless", .endless())
                let count = Int64(image.count)
                for path in ["/length", "/chunks"] {
                    let enough = try await bench.finish(path, limit: count)
                    bench.expect(enough.code == nil, "\(path): \(String(describing: enough.code)) at the limit")
                }
                for path in ["/length", "/chunks", "/endless"] {
                    let receiver = try await bench.finish(path, limit: count - 1)
                    bench.expect(receiver.code == .tooLarge, "\(path): \(String(describing: receiver.code))")
                    let body = receiver.state.withLock { $0.body.count }
                    bench.expect(body < count, "\(path): \(body) bytes were handed on")
                }
            }
        ),
    ]
}
