import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `ImageRequest.deadline`: the time from the call to the result.
@Suite("Deadlines", .timeLimit(.minutes(10)))
struct DeadlineTests {
    private let log = Log()

    /// Loads bytes with a deadline in seconds, and logs the result as `name: text or code`.
    @discardableResult
    private func load(
        _ stage: Stage, _ url: String = Stage.url, seconds: Int?, name: String = "end",
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> ImageTask {
        stage.load(url, log: log, name: name) { request in
            request.deadline = seconds.map { .seconds($0) }
            change(&request)
        }
    }

    private func lines(_ stage: Stage) -> [String] {
        stage.queue.runAll()
        return log.lines
    }

    @Test("A load ends at its deadline, once, and its transfer is cancelled")
    func ends() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        load(stage, seconds: 2)
        stage.clock.advance(by: .milliseconds(1999))
        #expect(lines(stage).isEmpty)
        stage.clock.advance(by: .milliseconds(1))
        #expect(stage.transport.cancelledURLs == [Stage.url])
        stage.transport.finishAll()
        #expect(lines(stage) == ["end: deadlineExceeded"])
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
        #expect(stage.pipeline.statistics.failures == [.deadlineExceeded: 1])
    }

    @Test("A load that ends in time, or is cancelled, hears nothing of its deadline and leaves no timer")
    func inTime() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        stage.transport.serve("http://a.example/2", .ok(Bytes("y")))
        let timers = stage.clock.timerCount
        load(stage, seconds: 2)
        let cancelled = load(stage, "http://a.example/2", seconds: 3, name: "cancelled")
        #expect(stage.clock.timerCount == timers + 1)
        cancelled.cancel()
        stage.transport.finishAll()
        #expect(stage.clock.timerCount == timers)
        stage.clock.advance(by: .seconds(10))
        #expect(lines(stage) == ["end: x"])
    }

    @Test("Loads that share a job end at their own deadlines, in order, and the job ends with the last of them")
    func shared() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        load(stage, seconds: 9, name: "nine")
        load(stage, seconds: 3, name: "three")
        load(stage, seconds: 5, name: "five")
        #expect(stage.transport.startCount == 1)
        stage.clock.advance(by: .seconds(5))
        #expect(lines(stage) == ["three: deadlineExceeded", "five: deadlineExceeded"])
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.transport.finishAll()
        #expect(lines(stage).last == "nine: x")
    }

    @Test("Without a deadline, a load that shares the job continues")
    func endless() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        load(stage, seconds: nil, name: "patient")
        load(stage, seconds: 1, name: "late")
        stage.clock.advance(by: .seconds(60))
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.transport.finishAll()
        #expect(lines(stage) == ["late: deadlineExceeded", "patient: x"])
    }

    @Test("A load whose deadline passes in a queue sends no request")
    func queued() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        load(stage, "http://a.example/first", seconds: nil, name: "first")
        load(stage, "http://a.example/queued", seconds: 1, name: "queued")
        stage.clock.advance(by: .seconds(1))
        stage.transport.finishAll()
        #expect(lines(stage) == ["queued: deadlineExceeded", "first: x"])
        #expect(stage.transport.startCount == 1)
    }

    @Test("A load ends at its deadline while its image is decoded, and names that stage")
    func decoding() throws {
        let executor = ManualExecutor()
        let stage = try Stage(executor: executor)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        var request = ImageRequest(Stage.url)
        request.deadline = .seconds(1)
        let error = Guarded<LoadError?>(nil)
        stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, result in
            error.withLock { $0 = result.error }
        }
        stage.transport.finishAll()
        stage.clock.advance(by: .seconds(1))
        stage.queue.runAll()
        #expect(error.withLock { $0 }?.code == .deadlineExceeded)
        #expect(error.withLock { $0 }?.stage == .decode)
        #expect(error.withLock { $0 }?.url == Stage.url)
        executor.runAll()
        #expect(stage.codec.decodes.count == 0)
    }

    @Test("A load ends at its deadline while a hook runs")
    func hook() async throws {
        let began = Bridge()
        let stage = try Stage(.automatic) {
            $0.willSend = { _ in
                began.open()
                try await Bridge.neverOpened()
            }
        }
        var request = ImageRequest(Stage.url)
        request.deadline = .seconds(1)
        let waiting = Task { [request] in try await stage.pipeline.data(for: request) }
        await began.wait()
        stage.clock.advance(by: .seconds(1))
        let result = await waiting.result
        #expect(result.failure?.code == .deadlineExceeded)
        await stage.pipeline.shutdown(.finish)
    }

    @Test("The deadline covers retries and fallbacks together, and none is tried after it")
    func fallbacks() throws {
        let stage = try Stage { $0.retry = RetryPolicy() }
        stage.transport.serveOthers(.failure(.cannotConnect))
        load(stage, seconds: 2) {
            $0.fallbacks = (0..<100).map { "http://b.example/\($0)" }
        }
        while log.lines.isEmpty, stage.clock.now() < MonotonicTime(nanoseconds: 10_000_000_000) {
            stage.transport.finishAll()
            stage.clock.advanceToNextTimer()
            stage.queue.runAll()
        }
        #expect(lines(stage) == ["end: deadlineExceeded"])
        #expect(stage.clock.now() == MonotonicTime(nanoseconds: 2_000_000_000))
        let started = stage.transport.startCount
        stage.transport.finishAll()
        stage.clock.advance(by: .seconds(60))
        #expect(stage.transport.startCount == started)
    }

    @Test("A deadline of zero fails unless the image is in memory")
    func zero() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        _ = try await stage.pipeline.image(for: ImageRequest(Stage.url))
        var request = ImageRequest(Stage.url)
        request.deadline = .zero
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        await stage.pipeline.shutdown(.finish)
    }

    @Test("The pipeline's maximum applies to requests without a deadline, and with a later one")
    func maximum() throws {
        let stage = try Stage { $0.maximumDeadline = .seconds(2) }
        stage.transport.serveOthers(.ok(Bytes("x")))
        load(stage, "http://a.example/1", seconds: nil, name: "none")
        load(stage, "http://a.example/2", seconds: 60, name: "later")
        load(stage, "http://a.example/3", seconds: 1, name: "earlier")
        stage.clock.advance(by: .seconds(1))
        #expect(lines(stage) == ["earlier: deadlineExceeded"])
        stage.clock.advance(by: .seconds(1))
        #expect(lines(stage).dropFirst() == ["none: deadlineExceeded", "later: deadlineExceeded"])
    }

    @Test("A negative deadline is an invalid request")
    func negative() async throws {
        let stage = try Stage(.automatic)
        var request = ImageRequest(Stage.url)
        request.deadline = .seconds(-1)
        let error = await #expect(throws: LoadError.self) { try await stage.pipeline.data(for: request) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("A loader's later request for the same image brings its own deadline")
    func loader() throws {
        let stage = try LoaderStage()
        let clock = stage.stage.clock
        let timers = clock.timerCount
        func bind(seconds: Int?) {
            stage.onQueue { loader in
                var request = ImageRequest(LoaderStage.url)
                request.deadline = seconds.map { .seconds($0) }
                loader.request = request
            }
        }
        bind(seconds: 1)
        clock.advance(by: .milliseconds(900))
        bind(seconds: 5)
        clock.advance(by: .seconds(4))
        #expect(stage.transport.startCount == 1 && stage.transport.cancelledURLs.isEmpty)
        bind(seconds: nil)
        clock.advance(by: .seconds(60))
        #expect(stage.transport.cancelledURLs.isEmpty)
        #expect(clock.timerCount == timers)
        stage.finish()
        #expect(stage.shown == "loaded 1")
    }

    // MARK: Stale images

    /// A stage that has stored an image, which is stale now, and whose server does not respond any more.
    private func staleStage() async throws -> StoreStage {
        let stage = try StoreStage()
        let fields = [("Cache-Control", "max-age=1, stale-while-revalidate=60"), ("ETag", "\"a\"")]
        stage.serve(StoreStage.url, .ok(FakeCodec.picture(), fields: StoreStage.fields(fields)), .silent)
        _ = try await stage.image()
        stage.pipeline.cache.removeAll()
        stage.clock.advance(by: .seconds(10))
        return stage
    }

    @Test("An event stream that has its stale image ends with it")
    func staleInTheStream() async throws {
        let stage = try await staleStage()
        var request = ImageRequest(StoreStage.url)
        request.deadline = .seconds(2)
        var heard: [String] = []
        for await event in stage.pipeline.events(for: request) {
            switch event {
            case .progress, .preview: break
            case .stale(let image):
                heard.append("stale \(image.width)")
                stage.clock.advance(by: .seconds(2))
            case .success(let image): heard.append("success \(image.width) \(image.isStale)")
            case .failure(let error): heard.append("failure \(error.code)")
            }
        }
        #expect(heard == ["stale 4", "success 4 true"])
        await stage.pipeline.shutdown(.cancel)
    }

    @Test("A stale image in memory is the result if the request serves stale ones, and the response allows it")
    func staleInMemory() async throws {
        for (control, expected) in [
            ("max-age=1", "memory stale"), ("max-age=1, must-revalidate", "deadlineExceeded"),
        ] {
            let stage = try StoreStage()
            let picture = FakeCodec.picture()
            stage.serve(
                StoreStage.url, .ok(picture, fields: StoreStage.fields([("Cache-Control", control)])), .silent)
            _ = try await stage.image { $0.servesStaleOnDisconnect = true }
            stage.clock.advance(by: .seconds(10))
            var request = ImageRequest(StoreStage.url)
            request.deadline = .seconds(2)
            request.servesStaleOnDisconnect = true
            let waiting = Task { [request] in try await stage.pipeline.image(for: request) }
            try await stage.transport.waitForStarts(2, within: .seconds(50))
            stage.clock.advance(by: .seconds(2))
            let shown: String
            do {
                let image = try await waiting.value
                shown = "\(image.source)" + (image.isStale ? " stale" : "")
            } catch {
                shown = "\((error as? LoadError)?.code.rawValue ?? "")"
            }
            #expect(shown == expected)
            await stage.pipeline.shutdown(.cancel)
        }
    }

    @Test("The revalidation in the background has no deadline")
    func background() async throws {
        let stage = try await staleStage()
        #expect(try await stage.image { $0.deadline = .seconds(2) }.isStale)
        try await stage.transport.waitForStarts(2, within: .seconds(50))
        stage.clock.advance(by: .seconds(5))
        #expect(stage.transport.cancelledURLs.isEmpty)
        await stage.pipeline.shutdown(.cancel)
    }
}

extension Bridge {
    /// Waits until the task is cancelled.
    fileprivate static func neverOpened() async throws {
        let bridge = Bridge()
        await withTaskCancellationHandler {
            await bridge.wait()
        } onCancel: {
            bridge.open()
        }
        try Task.checkCancellation()
    }
}

extension Result where Failure == LoadError {
    fileprivate var error: LoadError? { if case .failure(let error) = self { error } else { nil } }
}

extension Result where Failure == any Error {
    fileprivate var failure: LoadError? { if case .failure(let error) = self { error as? LoadError } else { nil } }
}
