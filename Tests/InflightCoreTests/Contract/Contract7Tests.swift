import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 7: one job per key", .timeLimit(.minutes(10)))
struct Contract7Tests {
    @Test("Three subscribers share one exchange, and only the last cancel stops it")
    func lastOneOut() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let tasks = (0..<3).map { _ in stage.load() }
        #expect(stage.transport.startCount == 1)
        tasks[0].cancel()
        tasks[1].cancel()
        #expect(stage.transport.cancelledURLs == [])
        tasks[2].cancel()
        #expect(stage.transport.cancelledURLs == [Stage.url])
    }

    @Test("A subscriber receives its response after another one has cancelled")
    func stayers() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        let first = stage.load(log: log, name: "first")
        stage.load(log: log, name: "second")
        first.cancel()
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["second: x"])
    }

    @Test("A request after the last cancel starts a new job instead of joining the cancelled one")
    func newcomer() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, inOrder: [.ok(Bytes("old")), .ok(Bytes("new"))])
        let log = Log()
        stage.load().cancel()
        stage.load(log: log)
        #expect(stage.transport.startCount == 2)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["end: new"])
    }

    @Test("A cancelled job keeps its slot until its transfer has stopped")
    func place() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        stage.load().cancel()
        stage.load("http://a.example/2")
        #expect(stage.transport.startedURLs == [Stage.url])
        #expect(stage.pipeline.statistics.jobsInFlight == 2)
        stage.transport.step(Stage.url)
        #expect(stage.transport.startedURLs == [Stage.url, "http://a.example/2"])
        #expect(stage.transport.maximumLiveCount == 1)
    }

    @Test("A job has the highest priority of its subscribers, rising and falling as they join and leave")
    func priorities() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        stage.load("http://a.example/0")
        let names = ["a", "b", "c", "d"].map { "http://a.example/\($0)" }
        for name in names { stage.load(name) }
        // A second load raises c. Another raises d and lowers it again by leaving. A third raises and lowers b.
        stage.load(names[2], priority: .veryHigh)
        stage.load(names[3], priority: .veryHigh).cancel()
        let eager = stage.load(names[1], priority: .low)
        eager.priority = .veryHigh
        eager.priority = .low
        stage.transport.finishAll()
        // b and d moved: they are queued behind a, in the order in which they returned to their level.
        #expect(stage.transport.startedURLs == ["http://a.example/0", names[2], names[0], names[3], names[1]])
        #expect(stage.transport.events.contains(.started(names[2], .veryHigh)))
        #expect(stage.transport.events.contains(.started(names[3], .normal)))
    }

    @Test("A fallback that several tasks take is sent with the highest of their priorities")
    func fallbackPriority() throws {
        let stage = try Stage()
        let other = "http://a.example/other"
        stage.transport.serve(Stage.url, .failure(.cannotConnect))
        stage.transport.serve(other, .ok(Bytes("x")))
        for priority in [ImageRequest.Priority.low, .normal, .veryHigh] {
            var request = ImageRequest(Stage.url, priority: priority)
            request.fallbacks = [other]
            stage.pipeline.loadResponse(request, on: .executor(stage.queue)) { _, _ in }
        }
        stage.transport.finish(Stage.url)
        #expect(stage.transport.events.contains(.started(other, .veryHigh)))
        stage.transport.finishAll()
    }

    @Test("Tasks that a varying response separates share a fetch with the highest of their priorities")
    func separationPriority() throws {
        let stage = try Stage { $0.fieldsExcludedFromKey = ["x-theme"] }
        stage.transport.serve(
            Stage.url,
            inOrder: [.ok(Bytes("x"), fields: HTTPFields([(name: "Vary", value: "X-Theme")])), .ok(Bytes("y"))])
        for (theme, priority) in [("dark", ImageRequest.Priority.normal), ("light", .low), ("light", .veryHigh)] {
            var request = ImageRequest(Stage.url, priority: priority)
            request.fields.append("X-Theme", theme)
            stage.pipeline.loadResponse(request, on: .executor(stage.queue)) { _, _ in }
        }
        stage.transport.finish(Stage.url)
        #expect(stage.transport.events.contains(.started(Stage.url, .veryHigh)))
        stage.transport.finishAll()
    }

    @Test("A priority change during Transport.start is passed on once the transfer is known")
    func prioritizedInStart() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        let (first, second) = ("http://a.example/0", Stage.url)
        stage.transport.serve(first, .ok(Bytes("x")))
        stage.load(first)
        let task = stage.load()
        // Weak, because the task retains the transport.
        stage.transport.serve(second) { [weak task] _ in
            task?.priority = .high
            task?.priority = .veryHigh
            return .ok(Bytes("x"))
        }
        stage.transport.finish(first)
        #expect(
            stage.transport.events.suffix(2) == [.started(second, .normal), .prioritized(second, .veryHigh)])
        stage.transport.finishAll()
    }

    @Test("Two sizes share one fetch, and equal sizes share one decode")
    func decodes() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let widths = [2, 2, 3, 3]
        let done = (0..<4).map { _ in Promise<Int>() }
        for (index, width) in widths.enumerated() {
            let request = ImageRequest(Stage.url, resize: Resize(width: width, height: 1))
            stage.pipeline.load(request, on: .queue(.global())) { _, result in
                done[index].set((try? result.get().width) ?? 0)
            }
        }
        stage.transport.release("all")
        for (index, width) in widths.enumerated() { #expect(try await done[index].value == width) }
        #expect(stage.transport.startCount == 1)
        #expect(stage.codec.decodes.count == 2)
    }

    @Test("Processor chains share their common prefix and nothing else")
    func prefixes() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let (a, b, c) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"), FakeProcessor(name: "c"))
        let chains = [[a], [a, b], [a, b, c], [a, c], [b], []]
        let done = chains.map { _ in Promise<Bool>() }
        for (index, chain) in chains.enumerated() {
            var request = ImageRequest(Stage.url)
            request.processors = chain.map { ImageProcessor($0) }
            stage.pipeline.load(request, on: .queue(.global())) { _, result in
                done[index].set((try? result.get()) != nil)
            }
        }
        stage.transport.release("all")
        for one in done { #expect(try await one.value) }
        #expect(stage.transport.startCount == 1)
        #expect(stage.codec.decodes.count == 1)
        #expect(a.runs.count == 1)
        #expect(b.runs.count == 2)
        #expect(c.runs.count == 2)
    }

    @Test("A processor that throws fails only the requests that use it")
    func throwing() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let good = FakeProcessor(name: "good")
        let bad = FakeProcessor(
            name: "bad",
            onProcess: { (_) throws(LoadError) in
                throw LoadError(.init(rawValue: "mine"), stage: .process, message: "Not this one.")
            })
        let done = (0..<3).map { _ in Promise<LoadError?>() }
        for (index, chain) in [[good], [good, bad], [good, bad, good]].enumerated() {
            var request = ImageRequest(Stage.url)
            request.processors = chain.map { ImageProcessor($0) }
            stage.pipeline.load(request, on: .queue(.global())) { _, result in
                if case .failure(let error) = result { done[index].set(error) } else { done[index].set(nil) }
            }
        }
        stage.transport.release("all")
        #expect(try await done[0].value == nil)
        for index in 1...2 {
            let error = try #require(try await done[index].value)
            #expect(error.code.rawValue == "mine")
            #expect(error.url == Stage.url)
        }
        #expect(good.runs.count == 1)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
    }

    @Test("A cancelled decode ends, frees its slot, leaves no job behind and is not cached")
    func cancelledDecode() async throws {
        let decoding = Promise<Bool>()
        let gate = DispatchSemaphore(value: 0)
        let codec = FakeCodec {
            decoding.set(true)
            gate.wait()
        }
        let stage = try Stage(.automatic, codec: codec) { $0.decodeConcurrency = 1 }
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let task = stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
        _ = try await decoding.value
        task.cancel()
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 1)
        for _ in 0..<2 { gate.signal() }
        #expect(try await stage.pipeline.image(for: ImageRequest("http://a.example/2")).width == 4)
        await stage.pipeline.shutdown(.finish)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
        #expect(stage.pipeline.cache[ImageRequest(Stage.url)]?.width == nil)
    }

    @Test("A cancel stops the transfer of a redirect that began before the first start() returned")
    func redirectOvertakes() async throws {
        let base = ScriptedTransport(.automatic)
        base.serve(Stage.url, .redirect(to: "/2"))
        base.serve("http://a.example/2", .silent)
        let pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(SlowTransport(base))], codecs: CodecRegistry([])))
        let queue = ManualQueue()
        // On its own thread, because the first start blocks it.
        let loaded = Promise<ImageTask>()
        DispatchQueue(label: "caller").async {
            loaded.set(pipeline.loadResponse(ImageRequest(Stage.url), on: queue.callbackQueue) { _, _ in })
        }
        let task = try await loaded.value
        #expect(base.startedURLs == [Stage.url, "http://a.example/2"])
        task.cancel()
        #expect(base.cancelledURLs == ["http://a.example/2"])
        await pipeline.shutdown(.finish)
    }

    @Test("A decode receives its bytes whichever thread dispatches it")
    func manyThreads() async throws {
        // One decode slot and several threads that end fetches: the thread that frees the slot starts the next one.
        let transports = (0..<4).map { ScriptedTransport(.automatic, schemes: ["s\($0)"], records: false) }
        for transport in transports { transport.serveOthers(.ok(FakeCodec.picture())) }
        let pipeline = try ImagePipeline(
            configuration: .init(
                transports: transports.map { .shared($0) }, codecs: CodecRegistry([FakeCodec()])
            ).with { $0.decodeConcurrency = 1 })
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<1000 {
                group.addTask {
                    try await pipeline.image(for: ImageRequest("s\(index % 4)://a.example/\(index)")).width
                }
            }
            for try await width in group { #expect(width == 4) }
        }
        await pipeline.shutdown(.finish)
    }
}

/// A transport whose first start returns only after the transfer of its redirect has started.
private final class SlowTransport: Transport {
    private let base: ScriptedTransport

    init(_ base: ScriptedTransport) {
        self.base = base
    }

    var schemes: Set<String> { base.schemes }

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let transfer = base.start(request, receiver: receiver)
        if request.url.path == "/1" {
            let hasFollowed = DispatchSemaphore(value: 0)
            Task { [base] in
                // The receiver has processed the first end, and so has started the second transfer.
                try? await base.wait(for: .ended(request.url.string, nil), within: .seconds(50))
                hasFollowed.signal()
            }
            hasFollowed.wait()
        }
        return transfer
    }

    func shutdown() async {}
}

extension ImagePipeline.Configuration {
    fileprivate func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
