import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Previews", .timeLimit(.minutes(10)))
struct PreviewTests {
    private static let body = FakeCodec.picture(padding: 90)

    private static func request(_ width: Int? = nil, interval: Duration = .zero) -> ImageRequest {
        var request = ImageRequest(Stage.url, resize: width.map { Resize(width: $0) })
        request.previews = ImageRequest.PreviewOptions(interval: interval)
        request.previews?.minimumBytes = 1
        return request
    }

    private static func stage(
        _ executor: ManualExecutor, isFinal: Bool = false, decodes: Int = 2, chunk: Int = 20
    ) throws -> Stage {
        let stage = try Stage(codec: FakeCodec(parts: isFinal ? .final : .growing), executor: executor) {
            $0.decodeConcurrency = decodes
        }
        stage.transport.serve(Stage.url, .ok(body, chunks: [chunk]))
        return stage
    }

    @discardableResult
    private static func load(_ request: ImageRequest, _ stage: Stage, _ log: Log, name: String = "") -> ImageTask {
        stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, progress in
            log.add("\(name)\(progress.receivedBytes)")
        } preview: { _, preview in
            log.add("\(name)shows \(preview.receivedBytes)")
        } completion: { _, result in
            log.add(name + ((try? result.get().width).map { "\($0) wide" } ?? "failed"))
        }
    }

    @Test("Previews are delivered between progress and the result, each with more bytes than the last")
    func order() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let log = Log()
        Self.load(Self.request(), stage, log)
        stage.transport.step(Stage.url)
        for _ in 0..<3 {
            stage.step()
            executor.runAll()
            stage.queue.runAll()
        }
        stage.transport.finish(Stage.url)
        executor.runAll()
        stage.queue.runAll()
        #expect(log.lines == ["20", "shows 20", "40", "shows 40", "60", "shows 60", "100", "4 wide"])
    }

    @Test("A newer preview replaces an undelivered one, and none follows the result")
    func replaced() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let log = Log()
        Self.load(Self.request(), stage, log)
        for _ in 0..<4 {
            stage.step()
            executor.runAll()
        }
        stage.queue.runAll()
        #expect(log.lines == ["60", "shows 60"])
        stage.transport.step(Stage.url)
        executor.runAll()
        stage.transport.finish(Stage.url)
        executor.runAll()
        stage.queue.runAll()
        #expect(log.lines.last == "4 wide")
        #expect(log.lines.count(where: { $0.hasPrefix("shows") }) <= 2)
    }

    @Test("No preview is made unless the request enables previews and the caller handles them")
    func unasked() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let log = Log()
        Self.load(ImageRequest(Stage.url), stage, log)
        stage.pipeline.load(Self.request(), on: stage.queue.callbackQueue) { _, _ in }
        for _ in 0..<4 {
            stage.transport.step(Stage.url)
            #expect(executor.runAll() == 0)
        }
        stage.transport.finish(Stage.url)
        executor.runAll()
        stage.queue.runAll()
        #expect(!log.lines.contains { $0.hasPrefix("shows") })
    }

    @Test("Each task receives previews in its own size, and a cancelled task receives no more")
    func sizes() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let widths = Guarded<[Int]>([])
        func load(_ width: Int) -> ImageTask {
            stage.pipeline.load(
                Self.request(width), on: stage.queue.callbackQueue,
                preview: { _, preview in widths.withLock { $0.append(preview.pixels.width) } }, completion: { _, _ in })
        }
        let first = load(2)
        _ = load(3)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        executor.runAll()
        stage.queue.runAll()
        #expect(widths.withLock { $0 } == [2, 3])
        stage.transport.step(Stage.url)
        first.cancel()
        executor.runAll()
        stage.queue.runAll()
        #expect(widths.withLock { $0 } == [2, 3, 3])
    }

    @Test("After the interval, a stalled body is previewed as far as it was received")
    func interval() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let log = Log()
        Self.load(Self.request(interval: .milliseconds(200)), stage, log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        stage.step()
        #expect(executor.runAll() == 0)
        stage.clock.advance(by: .milliseconds(183))
        #expect(executor.runAll() == 0)
        stage.clock.advance(by: .milliseconds(1))
        #expect(executor.runAll() == 1)
        stage.queue.runAll()
        #expect(log.lines == ["40", "shows 40"])
    }

    @Test("A preview waits for a free decode slot, and a complete image is decoded first")
    func places() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor, decodes: 1)
        stage.transport.serve("http://a.example/2", .ok(Self.body))
        let log = Log()
        stage.pipeline.load(ImageRequest("http://a.example/2"), on: stage.queue.callbackQueue) { _, _ in
            log.add("other")
        }
        stage.transport.finish("http://a.example/2")
        Self.load(Self.request(), stage, log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        // Only the complete image is decoded.
        #expect(executor.runAll() == 1)
        stage.clock.advance(by: .milliseconds(50))
        #expect(executor.runAll() == 1)
        stage.queue.runAll()
        #expect(log.lines.contains("other") && log.lines.contains("shows 20"))
    }

    @Test("An image whose first preview is final gets only one preview")
    func final() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor, isFinal: true)
        let log = Log()
        Self.load(Self.request(), stage, log)
        for _ in 0..<4 {
            stage.transport.step(Stage.url)
            executor.runAll()
            stage.queue.runAll()
        }
        #expect(log.lines.count(where: { $0.hasPrefix("shows") }) == 1)
    }

    @Test("Processors are applied to previews")
    func processed() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        var request = Self.request()
        let processor = FakeProcessor(name: "seen")
        request.processors = [ImageProcessor(processor)]
        let log = Log()
        Self.load(request, stage, log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        executor.runAll()
        #expect(processor.runs.count == 1)
    }

    @Test("Shutdown waits for a preview that is being decoded")
    func shutdown() async throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let log = Log()
        let task = Self.load(Self.request(), stage, log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        task.cancel()
        stage.transport.finishAll()
        let isDown = Guarded(false)
        let pipeline = stage.pipeline
        let ending = Task {
            await pipeline.shutdown(.cancel)
            isDown.withLock { $0 = true }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(!isDown.withLock { $0 })
        executor.runAll()
        await ending.value
        stage.queue.runAll()
        #expect(!log.lines.contains { $0.hasPrefix("shows") })
    }

    @Test("The event stream and an image loader both deliver previews")
    func elsewhere() async throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(executor)
        let cell = ConfinedReference(
            ImageLoader(pipeline: stage.pipeline, callbackQueue: stage.queue.callbackQueue))
        let shown = Guarded<[Int]>([])
        cell.submit { loader in
            loader.onChange = { loader in shown.withLock { $0.append(loader.preview?.detail ?? 0) } }
            loader.request = Self.request()
        }
        stage.queue.runAll()
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        executor.runAll()
        stage.queue.runAll()
        #expect(shown.withLock { $0 } == [0, 20])
        let events = stage.pipeline.events(for: Self.request())
        let waiting = Task {
            for await event in events {
                if case .preview(let preview) = event { return preview.detail }
            }
            return 0
        }
        try await eventually("the second load to begin") { stage.pipeline.statistics.tasks == 2 }
        stage.transport.step(Stage.url)
        executor.runAll()
        #expect(await waiting.value == 40)
    }
}
