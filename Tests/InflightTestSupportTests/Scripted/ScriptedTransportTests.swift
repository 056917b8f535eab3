import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Scripted transport", .timeLimit(.minutes(10)))
struct ScriptedTransportTests {
    private let a = "http://h/a"
    private let b = "http://h/b"

    private func request(_ url: String, _ priority: ImageRequest.Priority = .normal) throws -> TransportRequest {
        try TransportRequest(url: ResourceURL(url), priority: priority)
    }

    // MARK: Manual

    @Test("In manual mode, an exchange advances only by steps") func manualSteps() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(a, .ok(Bytes("abcdefg"), chunks: [3, 1]))
        let recorder = Recorder()
        _ = transport.start(try request(a, .high), receiver: recorder)
        #expect(recorder.heard.isEmpty)
        #expect(transport.step(a))
        #expect(recorder.heard == ["head 200 7"])
        #expect(transport.step(a))
        #expect(transport.finish(a))
        #expect(recorder.heard == ["head 200 7", "0: abc", "3: d", "4: efg", "end 7"])
        #expect(!transport.step(a))
        #expect(transport.events == [.started(a, .high), .ended(a, nil)])
    }

    @Test("A receiver is released when its exchange ends, even if the transfer is retained")
    func receiverLifetime() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(a, .ok(Bytes("abc")))
        weak var receiver: Recorder?
        let transfer: any Transfer
        do {
            let recorder = Recorder()
            receiver = recorder
            transfer = transport.start(try request(a), receiver: recorder)
        }
        #expect(receiver != nil)
        transport.finish(a)
        #expect(receiver == nil)
        transfer.cancel()
    }

    @Test("A cancelled exchange ends with its next step") func cancelledExchange() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(a, .ok(Bytes("abc")))
        let recorder = Recorder()
        let transfer = transport.start(try request(a), receiver: recorder)
        transport.step(a)
        transfer.cancel()
        transfer.cancel()
        #expect(recorder.heard == ["head 200 3"])
        #expect(transport.liveCount == 1)
        #expect(transport.finish(a))
        #expect(recorder.heard == ["head 200 3", "error cancelled"])
        #expect(transport.cancelledURLs == [a])
        #expect(transport.liveCount == 0)
    }

    @Test("Exchanges of one URL advance oldest first, and all exchanges can be finished at once")
    func oldestFirst() throws {
        let transport = ScriptedTransport(.manual)
        transport.serveOthers { .ok(Bytes(String($0.url.path))) }
        let recorders = [Recorder(), Recorder(), Recorder()]
        for (recorder, url) in zip(recorders, [a, a, b]) {
            _ = transport.start(try request(url), receiver: recorder)
        }
        transport.step(a)
        #expect(recorders.map(\.heard.count) == [1, 0, 0])
        #expect(transport.finishAll() == 8)
        #expect(recorders.allSatisfy { $0.heard.last == "end 2" })
        #expect(transport.maximumLiveCount == 3)
        #expect(transport.startedURLs == [a, a, b])
    }

    @Test("A stall lasts until it is released, and a pause until it is resumed") func stallAndPause() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(a, .ok(Bytes("abcdef")).stalled("half", after: 4))
        let recorder = Recorder(.pause)
        let transfer = transport.start(try request(a), receiver: recorder)
        transport.finish(a)
        #expect(recorder.heard == ["head 200 6"])
        #expect(!transport.step(a))
        transfer.resume()
        transport.finish(a)
        #expect(recorder.heard == ["head 200 6", "0: abcd"])
        #expect(!transport.step(a))
        transport.release("half")
        transport.finish(a)
        #expect(recorder.heard == ["head 200 6", "0: abcd", "4: ef", "end 6"])
        #expect(transport.events == [.started(a, .normal), .paused(a), .resumed(a), .ended(a, nil)])
    }

    @Test("A receiver can cancel its exchange by its disposition") func cancellingReceiver() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(a, .ok(Bytes("abc")))
        let recorder = Recorder(.cancel)
        _ = transport.start(try request(a), receiver: recorder)
        transport.finish(a)
        #expect(recorder.heard == ["head 200 3", "error cancelled"])
        #expect(transport.events == [.started(a, .normal), .cancelled(a), .ended(a, .cancelled)])
    }

    @Test("Scripts in a sequence can fail midway, be partial, redirect or send interim heads") func sequence() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(
            a,
            inOrder: [
                .ok(Bytes("abcdef"), chunks: [4]).failing(.truncated, after: 5),
                .partial(Bytes("f"), from: 5, of: 6), .status(304), .redirect(to: b), .failure(.timedOut),
                Script([.interim(ResponseHead(status: 103)), .head(ResponseHead(status: 200), expectedBytes: nil)]),
            ])
        var heard: [[String]] = []
        for _ in 0..<6 {
            let recorder = Recorder()
            _ = transport.start(try request(a), receiver: recorder)
            transport.finish(a)
            heard.append(recorder.heard)
        }
        #expect(
            heard == [
                ["head 200 6", "0: abcd", "4: e", "error truncated"], ["head 206 1", "0: f", "end 1"],
                ["head 304 0", "end 0"], ["head 302 0", "end 0"], ["error timedOut"],
                ["interim 103", "head 200 ?", "end 0"],
            ])
    }

    private typealias Script = ScriptedTransport.Script

    @Test("Calls that violate the contract are recorded") func contractViolations() throws {
        let transport = ScriptedTransport(.manual, trapsOnViolation: false)
        let recorder = Recorder()
        let transfer = transport.start(try request("ftp://h/a"), receiver: recorder)
        transfer.resume()
        #expect(transport.violations.count == 2)
        transport.finishAll()
        transfer.resume()
        #expect(transport.violations.count == 2)
        #expect(recorder.heard == ["error unscripted"])
    }

    @Test("A URL without a script fails with a code of its own, which is not retried")
    func unscripted() async throws {
        let transport = ScriptedTransport()
        var configuration = ImagePipeline.Configuration(transports: [.shared(transport)], codecs: CodecRegistry([]))
        configuration.retry = RetryPolicy()
        configuration.circuitBreaker = ImagePipeline.CircuitBreaker()
        let pipeline = try ImagePipeline(configuration: configuration)
        for _ in 0..<10 {
            let error = await #expect(throws: LoadError.self) { try await pipeline.data(for: "http://h/a") }
            #expect(error?.code == .unscripted && error?.message.contains("serve") == true)
        }
        #expect(transport.startCount == 10)
        await pipeline.shutdown(.finish)
    }

    @Test("A body longer than the request's limit fails, announced or not, and one of that length does not")
    func bodyLimit() throws {
        for tellsLength in [true, false] {
            for limit: Int64 in [9, 10] {
                let transport = ScriptedTransport(.manual)
                transport.serve("http://h/a", .ok(Bytes("0123456789"), chunks: [5], tellsLength: tellsLength))
                let recorder = Recorder()
                var request = try request("http://h/a")
                request.limits.maximumBodyBytes = limit
                _ = transport.start(request, receiver: recorder)
                transport.finishAll()
                let isTooLong = recorder.heard.last == "error tooLarge"
                #expect(isTooLong == (limit == 9), "\(recorder.heard)")
                // An announced length is refused before the head, as by libcurl.
                if limit == 9 { #expect(recorder.heard.count == (tellsLength ? 1 : 3), "\(recorder.heard)") }
            }
        }
    }

    // MARK: Automatic

    @Test("In automatic mode, every exchange runs to its end") func automaticExchanges() async throws {
        let transport = ScriptedTransport()
        transport.serveOthers { .ok(Bytes("abcdef"), chunks: [2], tellsLength: $0.method == "GET") }
        let recorders = (0..<100).map { _ in Recorder() }
        for (index, recorder) in recorders.enumerated() {
            _ = transport.start(try request("http://h/\(index)"), receiver: recorder)
        }
        try await transport.wait(for: .ended("http://h/99", nil))
        await transport.shutdown()
        for recorder in recorders {
            #expect(recorder.heard == ["head 200 6", "0: ab", "2: cd", "4: ef", "end 6"])
        }
    }

    @Test("A stalled exchange continues when it is released and ends when it is cancelled")
    func stalledExchange() async throws {
        let transport = ScriptedTransport()
        transport.serveOthers { _ in .ok(Bytes("ab")).stalled("gate", after: 1) }
        let recorders = [Recorder(), Recorder()]
        let first = transport.start(try request(a), receiver: recorders[0])
        _ = transport.start(try request(b), receiver: recorders[1])
        try await transport.waitForStarts(2)
        first.cancel()
        try await transport.wait(for: .ended(a, .cancelled))
        transport.release("gate")
        try await transport.wait(for: .ended(b, nil))
        await transport.shutdown()
        #expect(recorders[0].heard.last == "error cancelled")
        #expect(recorders[1].heard == ["head 200 2", "0: a", "1: b", "end 2"])
    }

    @Test("Pausing and resuming from another thread loses no bytes") func pauseAndResume() async throws {
        let transport = ScriptedTransport()
        transport.serve(a, .ok(Bytes(String(repeating: "x", count: 50)), chunks: [1]))
        let recorder = Recorder(.pause, .pause, .pause)
        let transfer = transport.start(try request(a), receiver: recorder)
        for count in 1...3 {
            try await transport.wait(for: .paused(a), count: count)
            transfer.resume()
        }
        try await transport.wait(for: .ended(a, nil))
        await transport.shutdown()
        #expect(recorder.state.withLock { $0.body.count } == 50)
    }

    @Test("Shutdown ends running exchanges, and later starts fail") func shutdownEndsExchanges() async throws {
        let transport = ScriptedTransport()
        transport.serveOthers { _ in .silent }
        let recorders = [Recorder(), Recorder()]
        for recorder in recorders { _ = transport.start(try request(a), receiver: recorder) }
        await transport.shutdown()
        #expect(recorders.allSatisfy { $0.heard == ["error shutDown"] })
        let late = Recorder()
        _ = transport.start(try request(b), receiver: late)
        try await transport.wait(for: .ended(b, .shutDown))
        await transport.shutdown()
    }
}
