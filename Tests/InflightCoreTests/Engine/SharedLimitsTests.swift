import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Limits of requests that share a fetch: each task is refused what exceeds its own, and the fetch continues as long as
/// the laxest allows.
@Suite("Limits of shared fetches", .timeLimit(.minutes(10)))
struct SharedLimitsTests {
    private let log = Log()

    private func lines(_ stage: Stage) -> [String] {
        stage.queue.runAll()
        return log.lines
    }

    @discardableResult
    private func load(
        _ stage: Stage, _ url: String = Stage.url, seconds: Int64?, name: String,
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> ImageTask {
        stage.load(url, log: log, name: name) { request in
            request.limits.totalTimeout = seconds.map { .seconds($0) }
            change(&request)
        }
    }

    private typealias Change = @Sendable (inout ImageRequest) -> Void

    private static let changes: [Change] = [
        { $0.limits.connectTimeout = .seconds(1) }, { $0.limits.stallTimeout = nil },
        { $0.limits.totalTimeout = .seconds(9) }, { $0.limits.minimumBytesPerSecond = 9 },
        { $0.limits.minimumRatePeriod = .seconds(9) }, { $0.limits.maximumBodyBytes = 9000 },
        { $0.limits.maximumRedirects = 1 }, { $0.deadline = .seconds(9) }, { $0.limits.maximumPixels = 99_999 },
        { $0.limits.maximumDecodeBytes = 99_999 },
    ]

    @Test("Requests that differ only in limits share one fetch, and find each other's image in memory")
    func coalesced() throws {
        let stage = try Stage(executor: ManualExecutor())
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        for change in Self.changes { stage.load(log: log, change: change) }
        #expect(stage.transport.startCount == 1)
        var request = ImageRequest(Stage.url)
        stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, _ in }
        stage.transport.finishAll()
        stage.runTurns()
        #expect(lines(stage).count == Self.changes.count)
        for change in Self.changes {
            request = ImageRequest(Stage.url)
            change(&request)
            #expect(stage.pipeline.cache[request] != nil)
        }
    }

    // MARK: Total time

    @Test("Each task ends when its own total time is over, and the fetch when the last one is")
    func own() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        for seconds in [9, 3, 5] as [Int64] { load(stage, seconds: seconds, name: "\(seconds)") }
        stage.clock.advance(by: .milliseconds(2999))
        #expect(lines(stage).isEmpty)
        stage.clock.advance(by: .seconds(4))
        #expect(lines(stage) == ["3: timedOut", "5: timedOut"])
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .seconds(2))
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .milliseconds(1))
        #expect(stage.transport.cancelledURLs == [Stage.url])
        stage.transport.finishAll()
        #expect(lines(stage).last == "9: timedOut")
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
        #expect(stage.clock.timerCount == 0)
    }

    @Test("A task without a total time continues when the others have timed out")
    func endless() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        load(stage, seconds: 2, name: "first")
        load(stage, seconds: nil, name: "patient")
        stage.clock.advance(by: .seconds(100))
        #expect(lines(stage) == ["first: timedOut"])
        stage.transport.finishAll()
        #expect(lines(stage).last == "patient: x")
        #expect(stage.clock.timerCount == 0)
    }

    @Test("The time of a task that joins later begins when it joins")
    func later() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        load(stage, seconds: 5, name: "first")
        stage.clock.advance(by: .seconds(3))
        load(stage, seconds: 5, name: "second")
        load(stage, seconds: 1, name: "third")
        stage.clock.advance(by: .seconds(1))
        #expect(lines(stage) == ["third: timedOut"])
        stage.clock.advance(by: .seconds(1))
        #expect(lines(stage).last == "first: timedOut")
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .milliseconds(2999))
        #expect(lines(stage).count == 2)
        stage.clock.advance(by: .milliseconds(1))
        stage.transport.finishAll()
        #expect(lines(stage).last == "second: timedOut")
    }

    @Test("Waits for a slot count for no task, also for those that joined before them")
    func waits() throws {
        let stage = try Stage { $0.maximumConcurrentFetchesPerOrigin = 1 }
        stage.transport.serve("http://b.example/busy", .ok(Bytes("busy")))
        stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
        stage.transport.serve("http://b.example/target", .ok(Bytes("target")))
        stage.load("http://b.example/busy")
        load(stage, seconds: 5, name: "first")
        stage.clock.advance(by: .seconds(1))
        load(stage, seconds: 5, name: "second")
        stage.transport.finish(Stage.url)
        stage.clock.advance(by: .seconds(60))
        #expect(stage.clock.timerCount == 0)
        load(stage, seconds: 3, name: "third")
        stage.transport.finish("http://b.example/busy")
        stage.clock.advance(by: .seconds(3))
        #expect(lines(stage) == ["third: timedOut"])
        stage.clock.advance(by: .seconds(1))
        #expect(lines(stage).last == "first: timedOut")
        stage.transport.finishAll()
        #expect(lines(stage).last == "second: target")
    }

    @Test("When the laxest task leaves, the fetch ends with the time of the others")
    func tightened() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let patient = load(stage, seconds: nil, name: "patient")
        load(stage, seconds: 4, name: "other")
        stage.clock.advance(by: .seconds(2))
        patient.cancel()
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .seconds(2))
        #expect(stage.transport.cancelledURLs == [Stage.url])
        stage.transport.finishAll()
        #expect(lines(stage) == ["other: timedOut"])
    }

    @Test("A task that joins after the time of the others has the request sent again")
    func joinsTooLate() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("0123456789"), chunks: [5]))
        load(stage, seconds: 2, name: "first")
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        stage.clock.advance(by: .seconds(2))
        load(stage, seconds: 2, name: "second")
        #expect(stage.transport.startCount == 1)
        stage.transport.finishAll()
        #expect(lines(stage) == ["first: timedOut", "second: 0123456789"])
        #expect(stage.transport.startCount == 2)
    }

    @Test("A task whose time is over continues with its fallback; the others continue with the fetch")
    func fallback() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        stage.transport.serve("http://b.example/other", .ok(Bytes("other")))
        load(stage, seconds: nil, name: "patient")
        load(stage, seconds: 2, name: "late") { $0.fallbacks = ["http://b.example/other"] }
        stage.clock.advance(by: .seconds(2))
        stage.transport.finish("http://b.example/other")
        #expect(lines(stage) == ["late: other"])
        stage.transport.finishAll()
        #expect(lines(stage).last == "patient: x")
    }

    @Test("While a hook runs, a task ends when its time is over, and the hook continues for the others")
    func hook() async throws {
        let (entered, mayReturn) = (Bridge(), Bridge())
        let stage = try Stage(.automatic) {
            $0.willSend = { _ in
                entered.open()
                await mayReturn.wait()
                try Task.checkCancellation()
            }
        }
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        var request = ImageRequest(Stage.url)
        let patient = Task { [request] in try await stage.pipeline.response(for: request).body }
        await entered.wait()
        request.limits.totalTimeout = .seconds(2)
        let late = Task { [request] in try await stage.pipeline.response(for: request).body }
        try await stage.clock.waitForTimers()
        stage.clock.advance(by: .seconds(2))
        let error = await #expect(throws: LoadError.self) { try await late.value }
        #expect(error?.code == .timedOut)
        mayReturn.open()
        #expect(try await patient.value == Bytes("x"))
    }

    // MARK: Bytes and redirects

    @Test("A task whose body limit is exceeded fails alone", arguments: [true, false], [true, false])
    func bodies(isAnnounced: Bool, isStrictFirst: Bool) throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("0123456789"), chunks: [2], tellsLength: isAnnounced))
        let limits: [(String, Int64)] = [("strict", 5), ("lax", 10)]
        for (name, limit) in isStrictFirst ? limits : limits.reversed() {
            load(stage, seconds: nil, name: name) { $0.limits.maximumBodyBytes = limit }
        }
        stage.transport.finishAll()
        #expect(lines(stage).sorted() == ["lax: 0123456789", "strict: tooLarge"])
        #expect(stage.transport.startCount == 1)
    }

    @Test("A body that exceeds the limits of all tasks stops the transfer, and the error names a limit of theirs")
    func tooLong() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("0123456789"), chunks: [2], tellsLength: false))
        for limit in [3, 5] as [Int64] {
            load(stage, seconds: nil, name: "\(limit)") { $0.limits.maximumBodyBytes = limit }
        }
        stage.transport.finishAll()
        #expect(lines(stage) == ["3: tooLarge", "5: tooLarge"])
    }

    /// Leaves the limits to the engine.
    private struct LimitlessTransport: Transport {
        let base: any Transport

        var schemes: Set<String> { base.schemes }

        func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
            var request = request
            request.limits = TransportRequest.Limits()
            return base.start(request, receiver: receiver)
        }

        func shutdown() async { await base.shutdown() }
    }

    @Test("A task that allows more, and joins when the body was too long for the others, has the request sent again")
    func joinsTooLateForBytes() throws {
        let stage = try Stage { configuration in
            configuration.transports = configuration.transports.map { entry in
                if case .shared(let transport) = entry { .shared(LimitlessTransport(base: transport)) } else { entry }
            }
        }
        stage.transport.serve(Stage.url, .ok(Bytes("0123456789"), chunks: [5], tellsLength: false))
        load(stage, seconds: nil, name: "strict") { $0.limits.maximumBodyBytes = 3 }
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        load(stage, seconds: nil, name: "lax")
        stage.transport.finishAll()
        #expect(lines(stage) == ["strict: tooLarge", "lax: 0123456789"])
        #expect(stage.transport.startCount == 2)
    }

    @Test("A result is refused to a task that joined after its limit was exceeded")
    func joinsLate() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .redirect(to: "/2"))
        stage.transport.serve("http://a.example/2", .ok(Bytes("0123456789")))
        load(stage, seconds: nil, name: "lax")
        stage.transport.finish(Stage.url)
        load(stage, seconds: nil, name: "redirects") { $0.limits.maximumRedirects = 0 }
        stage.transport.step("http://a.example/2")
        stage.transport.step("http://a.example/2")
        load(stage, seconds: nil, name: "bytes") { $0.limits.maximumBodyBytes = 3 }
        stage.transport.finishAll()
        #expect(lines(stage).sorted() == ["bytes: tooLarge", "lax: 0123456789", "redirects: badRedirect"])
    }

    @Test("A task that allows fewer redirects fails alone")
    func redirects() throws {
        let stage = try Stage()
        for index in 0..<3 { stage.transport.serve("http://a.example/\(index)", .redirect(to: "/\(index + 1)")) }
        stage.transport.serve("http://a.example/3", .ok(Bytes("there")))
        for limit in [1, 3, 2] {
            load(stage, "http://a.example/0", seconds: nil, name: "\(limit)") { $0.limits.maximumRedirects = limit }
        }
        stage.transport.finishAll()
        #expect(lines(stage) == ["1: badRedirect", "2: badRedirect", "3: there"])
        #expect(stage.transport.startCount == 4)
    }

    // MARK: Decoding

    private func loadImage(_ stage: Stage, _ name: String, change: (inout ImageRequest) -> Void) {
        var request = ImageRequest(Stage.url)
        change(&request)
        stage.pipeline.load(request, on: stage.queue.callbackQueue) { [log] _, result in
            switch result {
            case .success(let image): log.add("\(name): \(image.info.storedWidth)")
            case .failure(let error): log.add("\(name): \(error.code)")
            }
        }
    }

    @Test("A task whose limit of pixels or memory is exceeded fails alone", arguments: [true, false])
    func pixels(isStrictFirst: Bool) throws {
        let stage = try Stage(executor: ManualExecutor())
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(width: 10, height: 10)))
        let changes: [(String, Change)] = [
            ("pixels", { $0.limits.maximumPixels = 99 }), ("memory", { $0.limits.maximumDecodeBytes = 10 }),
            ("lax", { $0.limits.maximumPixels = 100 }),
        ]
        for (name, change) in isStrictFirst ? changes : changes.reversed() { loadImage(stage, name, change: change) }
        stage.transport.finishAll()
        stage.runTurns()
        #expect(lines(stage).sorted() == ["lax: 10", "memory: tooMuchMemory", "pixels: tooManyPixels"])
        #expect(stage.codec.decodes.count == 1)
        // In memory, the image is served within the limit only.
        var request = ImageRequest(Stage.url)
        #expect(stage.pipeline.cache[request] != nil)
        loadImage(stage, "again") { $0.limits.maximumPixels = 99 }
        stage.transport.finishAll()
        stage.runTurns()
        #expect(lines(stage).last == "again: tooManyPixels")
        request.limits.maximumPixels = 100
        #expect(stage.pipeline.cache[request] != nil)
    }

    // MARK: The transport

    @Test("The transport gets the laxest limits, again when a task joins or leaves, and no total time")
    func transport() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .silent)
        load(stage, seconds: 5, name: "first") {
            $0.limits.stallTimeout = .seconds(3)
            $0.limits.maximumBodyBytes = 10
        }
        let exchange = try #require(stage.transport.exchanges.first)
        #expect(exchange.limits.stallTimeout == .seconds(3))
        #expect(exchange.limits.maximumBodyBytes == 10)
        let second = load(stage, seconds: 7, name: "second") {
            $0.limits.stallTimeout = nil
            $0.limits.connectTimeout = .seconds(60)
            $0.limits.maximumBodyBytes = 7
        }
        #expect(exchange.limits.stallTimeout == nil)
        #expect(exchange.limits.connectTimeout == .seconds(60))
        #expect(exchange.limits.maximumBodyBytes == 10)
        #expect(exchange.limits.totalTimeout == nil)
        second.cancel()
        #expect(exchange.limits.stallTimeout == .seconds(3))
        #expect(exchange.limits.connectTimeout == .seconds(10))
    }
}
