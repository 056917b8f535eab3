import InflightConcurrency
import InflightCore
import InflightTestSupport
import Synchronization
import Testing

/// Returns a pipeline whose circuits open after two failures, first for 1 s and then for 2 s, without jitter.
private func breaking(
    _ whileOpen: ImagePipeline.CircuitBreaker.OpenPolicy = .fail, retries: Int = 0, perOrigin: Int = 2,
    _ change: (inout ImagePipeline.Configuration) -> Void = { _ in }
) throws -> Stage {
    try Stage { configuration in
        var breaker = ImagePipeline.CircuitBreaker()
        breaker.failuresToOpen = 2
        breaker.whileOpen = whileOpen
        configuration.circuitBreaker = breaker
        configuration.random = { 1 }
        configuration.maximumConcurrentFetchesPerOrigin = perOrigin
        if retries > 0 {
            configuration.retry = RetryPolicy()
            configuration.retry?.maximumRetries = retries
        }
        change(&configuration)
    }
}

private func url(_ number: Int, host: String = "a.example") -> String { "http://\(host)/\(number)" }

extension Stage {
    fileprivate func refuseConnections() { transport.serveOthers(.failure(.cannotConnect)) }
    fileprivate func answer() { transport.serveOthers(.ok(Bytes("body"))) }
    fileprivate func lines(_ log: Log) -> [String] {
        queue.runAll()
        return log.lines
    }
}

@Suite("Circuit breaker", .timeLimit(.minutes(10)))
struct CircuitBreakerTests {
    @Test("After two connection failures, queued and new loads fail without being sent")
    func opens() throws {
        let stage = try breaking()
        stage.refuseConnections()
        let log = Log()
        for number in 0..<2000 { stage.load(url(number), log: log, name: "\(number)") }
        stage.load(url(0, host: "b.example"), log: log, name: "other")
        #expect(stage.transport.startCount == 3)
        stage.transport.finish(url(0))
        #expect(stage.transport.startCount == 4)
        stage.transport.finish(url(1))
        // Neither the freed slot nor the queued loads lead to another exchange.
        #expect(stage.transport.startCount == 4)
        stage.transport.finish(url(2))
        let lines = stage.lines(log)
        #expect(lines.count == 2000)
        #expect(lines.count { $0.hasSuffix("originUnavailable") } == 1997)
        #expect(lines.count { $0.hasSuffix("cannotConnect") } == 3)
        stage.load(url(0), log: log, name: "later")
        #expect(stage.transport.startCount == 4)
        #expect(stage.lines(log).last == "later: originUnavailable")
    }

    @Test("The error names the origin and the time until its next attempt")
    func message() async throws {
        let stage = try breaking()
        stage.refuseConnections()
        for number in 0..<2 {
            stage.load(url(number))
            stage.transport.finishAll()
        }
        stage.clock.advance(by: .milliseconds(300))
        let error = await #expect(throws: LoadError.self) {
            try await stage.pipeline.data(for: ImageRequest(url(2)))
        }
        #expect(error?.code == .originUnavailable)
        #expect(error?.url == url(2))
        #expect(
            error?.message
                == "http://a.example:80 is unavailable: recent connections failed. Next attempt in 0.7 s. "
                + "Try again later.")
    }

    @Test(
        "One probe is sent after the backoff: its failure doubles the backoff, its success closes the circuit")
    func probes() throws {
        let stage = try breaking()
        stage.refuseConnections()
        let log = Log()
        for number in 0..<2 { stage.load(url(number)) }
        stage.transport.finishAll()
        stage.clock.advance(by: .seconds(1))
        for number in 10..<13 { stage.load(url(number), log: log, name: "\(number)") }
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(10)])
        stage.transport.finishAll()
        stage.clock.advance(by: .milliseconds(1999))
        stage.load(url(13), log: log, name: "13")
        #expect(stage.transport.exchanges.isEmpty)
        stage.clock.advance(by: .milliseconds(1))
        stage.answer()
        for number in 14..<16 { stage.load(url(number), log: log, name: "\(number)") }
        stage.transport.step(url(14))
        // The head has closed the circuit: other loads need not wait for the body.
        for number in 16..<18 { stage.load(url(number), log: log, name: "\(number)") }
        stage.transport.finishAll()
        #expect(
            stage.lines(log).sorted() == [
                "10: cannotConnect", "11: originUnavailable", "12: originUnavailable", "13: originUnavailable",
                "14: body", "15: originUnavailable", "16: body", "17: body",
            ])
    }

    @Test("A probe, queued or sent, refuses other loads until it is cancelled", arguments: [false, true])
    func abandoned(isQueued: Bool) throws {
        let stage = try breaking { if isQueued { $0.maximumConcurrentFetches = 1 } }
        stage.refuseConnections()
        for number in 0..<2 {
            stage.load(url(number))
            stage.transport.finishAll()
        }
        stage.answer()
        stage.clock.advance(by: .seconds(1))
        if isQueued { stage.load(url(0, host: "b.example")) }
        let probe = stage.load(url(10))
        let log = Log()
        stage.load(url(12), log: log, name: "meanwhile")
        probe.cancel()
        stage.transport.finishAll()
        stage.load(url(11), log: log)
        stage.transport.finishAll()
        #expect(stage.lines(log) == ["meanwhile: originUnavailable", "end: body"])
    }

    @Test("With .wait, queued loads are sent as probes one at a time, and all of them after a success")
    func waits() throws {
        let stage = try breaking(.wait)
        stage.refuseConnections()
        let log = Log()
        for number in 0..<6 { stage.load(url(number), log: log, name: "\(number)") }
        stage.transport.finish(url(0))
        stage.transport.finish(url(1))
        stage.transport.finishAll()
        #expect(stage.transport.liveCount == 0)
        stage.clock.advance(by: .milliseconds(999))
        #expect(stage.transport.liveCount == 0)
        stage.clock.advance(by: .milliseconds(1))
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(3)])
        stage.transport.finishAll()
        #expect(stage.transport.liveCount == 0)
        stage.answer()
        stage.load(url(6), priority: .high, log: log, name: "6")
        stage.clock.advance(by: .seconds(2))
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(6)])
        stage.transport.step(url(6))
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(6), url(4)])
        while stage.transport.finishAll() > 0 {}
        #expect(
            stage.lines(log) == [
                "0: cannotConnect", "1: cannotConnect", "2: cannotConnect", "3: cannotConnect", "6: body", "4: body",
                "5: body",
            ])
    }

    @Test("With .wait, cancelling the probe sends the next load at once")
    func waitingAbandoned() throws {
        let stage = try breaking(.wait)
        stage.refuseConnections()
        for number in 0..<2 { stage.load(url(number)) }
        stage.transport.finishAll()
        let probe = stage.load(url(2))
        stage.load(url(3))
        stage.clock.advance(by: .seconds(1))
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(2)])
        probe.cancel()
        stage.transport.finish(url(2))
        #expect(stage.transport.exchanges.map(\.request.url.string) == [url(3)])
    }

    @Test("Only connection failures and long timeouts without a response count as failures")
    func counted() throws {
        let stage = try breaking(perOrigin: 1)
        let log = Log()
        let scripts: [ScriptedTransport.Script] = [
            .failure(.cannotConnect), .status(503), .failure(.cannotConnect), .failure(.untrusted),
            .failure(.badResponse), .ok(Bytes("body")).failing(.truncated, after: 2), .failure(.timedOut),
            .failure(.cannotConnect), .failure(.timedOut), .ok(Bytes("body")),
        ]
        for (number, script) in scripts.enumerated() {
            stage.transport.serve(url(number), script)
            stage.load(url(number), log: log, name: "\(number)")
            if number == 8 { stage.clock.advance(by: .seconds(1)) }
            stage.transport.finishAll()
        }
        #expect(
            stage.lines(log).suffix(3) == ["7: cannotConnect", "8: timedOut", "9: originUnavailable"])
        #expect(stage.transport.startCount == 9)
    }

    @Test("Retries of admitted loads are sent even while the circuit is open")
    func retries() throws {
        let stage = try breaking(retries: 2)
        stage.refuseConnections()
        let log = Log()
        for number in 0..<4 { stage.load(url(number), log: log, name: "\(number)") }
        stage.transport.finishAll()
        #expect(stage.lines(log) == ["3: originUnavailable"])
        stage.clock.advance(by: .milliseconds(500))
        #expect(stage.transport.liveCount == 2)
        stage.transport.finishAll()
        stage.answer()
        stage.clock.advance(by: .seconds(1))
        stage.transport.finishAll()
        #expect(stage.lines(log).sorted() == ["0: body", "1: body", "2: body", "3: originUnavailable"])
    }

    @Test("RFC 5861 4: A stored response with stale-if-error is served while the circuit is open")
    func standsIn() async throws {
        let stage = try StoreStage { configuration in
            configuration.circuitBreaker = ImagePipeline.CircuitBreaker()
            configuration.circuitBreaker?.failuresToOpen = 1
        }
        stage.serve(
            StoreStage.url,
            StoreStage.ok("stored", ("Cache-Control", "max-age=10, stale-if-error=1000"), ("ETag", "\"1\"")))
        stage.transport.serveOthers(.failure(.cannotConnect))
        #expect(try await stage.data() == "stored")
        stage.clock.advance(by: .seconds(20))
        _ = try? await stage.data("http://a.example/2")
        let response = try await stage.get()
        #expect(response.isStale && response.body.count == 6)
        #expect(stage.sent.count == 1)
        await #expect(throws: LoadError.self) { try await stage.data("http://a.example/3") }
        #expect(stage.transport.startCount == 2)
    }

    @Test("File and data URLs have no circuit")
    func local() async throws {
        let stage = try breaking {
            $0.circuitBreaker?.failuresToOpen = 1
            $0.transports += [.shared(FileTransport()), .shared(DataURLTransport())]
        }
        for _ in 0..<3 {
            await #expect(throws: LoadError.self) {
                try await stage.pipeline.data(for: ImageRequest("file:///nowhere/at/all"))
            }
        }
        #expect(try await stage.pipeline.data(for: ImageRequest("data:,text")).count == 4)
        #expect(stage.pipeline.statistics.failures == [.cannotRead: 3])
    }

    @Test("A redirect to an origin whose circuit is open fails with originUnavailable and names that origin")
    func redirected() throws {
        let stage = try breaking()
        stage.refuseConnections()
        for number in 0..<2 { stage.load(url(number)) }
        stage.transport.finishAll()
        stage.transport.serve("http://b.example/0", .redirect(to: url(7)))
        let log = Log()
        stage.pipeline.loadResponse(
            ImageRequest(url(0, host: "b.example")), on: stage.queue.callbackQueue
        ) { _, result in
            if case .failure(let error) = result { log.add("\(error.code.rawValue): \(error.message)") }
        }
        stage.transport.finishAll()
        #expect(stage.lines(log).map { $0.hasPrefix("originUnavailable: http://a.example:80 ") } == [true])
    }

    @Test("Events report every state change of a circuit and the refused load")
    func events() throws {
        let book = RecordingObservers()
        let observer = book.observer()
        let stage = try breaking(perOrigin: 1) {
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.refuseConnections()
        for number in 0..<3 { stage.load(url(number)) }
        stage.transport.finishAll()
        stage.answer()
        stage.clock.advance(by: .seconds(1))
        stage.load(url(3))
        stage.transport.finishAll()
        let changes = observer.events.compactMap { event -> ImagePipeline.Event.CircuitState? in
            guard case .circuitChanged(let origin, let state) = event.kind else { return nil }
            #expect(origin == "http://a.example:80")
            return state
        }
        #expect(changes == [.open(after: .seconds(1)), .halfOpen, .closed])
        #expect(observer.lines.contains("3 finished originUnavailable"))
    }

    @Test("Without a circuit breaker, every load is sent despite connection failures")
    func disabled() throws {
        let stage = try breaking { $0.circuitBreaker = nil }
        stage.refuseConnections()
        for number in 0..<10 { stage.load(url(number)) }
        while stage.transport.finishAll() > 0 {}
        #expect(stage.transport.startCount == 10)
    }
}

@Suite("Limit of loads in progress", .timeLimit(.minutes(10)))
struct OverloadTests {
    @Test("Loads beyond the limit, even coalesced ones, fail on their callback queue after the call")
    func refuses() throws {
        let stage = try Stage { $0.maximumQueuedTasks = 2 }
        stage.transport.serveOthers(.ok(Bytes("body")))
        let log = Log()
        for number in 0..<3 { stage.load(url(number), log: log, name: "\(number)") }
        stage.load(url(1), log: log, name: "shared")
        #expect(log.lines.isEmpty)
        #expect(stage.lines(log) == ["2: overloaded", "shared: overloaded"])
        stage.transport.finish(url(0))
        stage.load(url(4), log: log, name: "4")
        stage.transport.finishAll()
        #expect(stage.lines(log).suffix(3).sorted() == ["0: body", "1: body", "4: body"])
        #expect(stage.pipeline.statistics.failures == [.overloaded: 2])
    }

    @Test("At the limit, a memory hit is served, and an admitted load may use its fallback")
    func memory() async throws {
        let stage = try Stage(.automatic) { $0.maximumQueuedTasks = 1 }
        stage.transport.serve(url(0), .ok(FakeCodec.picture()))
        stage.transport.serve(url(1), .silent)
        stage.transport.serve(url(2), .status(404))
        _ = try await stage.pipeline.image(for: ImageRequest(url(0)))
        var request = ImageRequest(url(2))
        request.fallbacks = [url(0)]
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        let waiting = stage.load(url(1))
        #expect(try await stage.pipeline.image(for: ImageRequest(url(0))).source == .memory)
        await #expect(throws: LoadError.self) { try await stage.pipeline.image(for: ImageRequest(url(2))) }
        waiting.cancel()
    }

    @Test("Loads of one origin beyond its limit fail, and those of other origins and of files do not")
    func perOrigin() throws {
        let stage = try Stage { $0.maximumQueuedTasksPerOrigin = 2 }
        stage.transport.serveOthers(.ok(Bytes("body")))
        let log = Log()
        for number in 0..<3 { stage.load(url(number), log: log, name: "\(number)") }
        stage.load(url(1), log: log, name: "shared")
        stage.load(url(0, host: "b.example"), log: log, name: "other")
        #expect(stage.lines(log) == ["2: overloaded", "shared: overloaded"])
        stage.transport.finishAll()
        stage.load(url(4), log: log, name: "4")
        stage.transport.finishAll()
        #expect(stage.lines(log).suffix(4).sorted() == ["0: body", "1: body", "4: body", "other: body"])
    }

    @Test("A load counts for its own origin while it uses a fallback of another")
    func fallbackOfAnotherOrigin() throws {
        let stage = try Stage { $0.maximumQueuedTasksPerOrigin = 1 }
        stage.transport.serveOthers(.ok(Bytes("body")))
        stage.transport.serve(url(0), .status(404))
        let log = Log()
        stage.load(url(0), log: log, name: "0") { $0.fallbacks = [url(0, host: "b.example")] }
        stage.transport.finish(url(0))
        stage.load(url(1), log: log, name: "1")
        stage.load(url(1, host: "b.example"), log: log, name: "b")
        #expect(stage.lines(log) == ["1: overloaded"])
        stage.transport.finishAll()
        #expect(stage.lines(log).suffix(2).sorted() == ["0: body", "b: body"])
        stage.load(url(2), log: log, name: "2")
        stage.transport.finishAll()
        #expect(stage.lines(log).last == "2: body")
    }

    @Test("2,000 refused loads add no task and no job")
    func cheap() throws {
        let stage = try Stage { $0.maximumQueuedTasks = 0 }
        for number in 0..<2000 { stage.load(url(number)) }
        let statistics = stage.pipeline.statistics
        #expect(statistics.tasks == 0 && statistics.jobsInFlight == 0 && statistics.failures == [.overloaded: 2000])
    }
}
