import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("contract 7: one job for each key", .timeLimit(.minutes(10)))
struct Contract7Tests {
    @Test("three who ask share one exchange; the last to leave stops it, and nobody before")
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

    @Test("those who stay are told, whoever leaves")
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

    @Test("a cancelled job leaves at once: a newcomer starts its own, and does not inherit")
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

    @Test("its place is given back only when its work has stopped")
    func place() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        stage.load().cancel()
        stage.load("http://a.example/2")
        #expect(stage.transport.startedURLs == [Stage.url])
        #expect(stage.pipeline.statistics.jobsUnderWay == 2)
        stage.transport.step(Stage.url)
        #expect(stage.transport.startedURLs == [Stage.url, "http://a.example/2"])
        #expect(stage.transport.maximumLiveCount == 1)
    }

    @Test("a job is worth what the most eager of its waiters is: joiners raise it, leaving lowers it")
    func priorities() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        stage.load("http://a.example/0")
        let names = ["a", "b", "c", "d"].map { "http://a.example/\($0)" }
        for name in names { stage.load(name) }
        // c is raised by a joiner, d by a joiner that leaves again, b by its own task being raised and lowered.
        stage.load(names[2], priority: .veryHigh)
        stage.load(names[3], priority: .veryHigh).cancel()
        let eager = stage.load(names[1], priority: .low)
        eager.priority = .veryHigh
        eager.priority = .low
        stage.transport.finishAll()
        // b and d moved: they stand behind a, in the order in which they came back to their level.
        #expect(stage.transport.startedURLs == ["http://a.example/0", names[2], names[0], names[3], names[1]])
        #expect(stage.transport.events.contains(.started(names[2], .veryHigh)))
        #expect(stage.transport.events.contains(.started(names[3], .normal)))
    }

    @Test("a change of priority while a transfer is being started reaches it as soon as it is known")
    func prioritizedInStart() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        let (first, second) = ("http://a.example/0", Stage.url)
        stage.transport.serve(first, .ok(Bytes("x")))
        stage.load(first)
        let task = stage.load()
        // Weak: the task holds the transport.
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

    @Test("two sizes share the fetch, and two equal ones the decode")
    func decodes() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let widths = [2, 2, 3, 3]
        let done = (0..<4).map { _ in Once<Int>() }
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

    @Test("chains of processors share what they have in common, and nothing that differs")
    func prefixes() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let (a, b, c) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"), FakeProcessor(name: "c"))
        let chains = [[a], [a, b], [a, b, c], [a, c], [b], []]
        let done = chains.map { _ in Once<Bool>() }
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

    @Test("a processor that throws fails those who want it, and no one else")
    func throwing() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("all"))
        let good = FakeProcessor(name: "good")
        let bad = FakeProcessor(
            name: "bad",
            onProcess: { (_) throws(LoadError) in
                throw LoadError(.init(rawValue: "mine"), stage: .process, message: "Not this one.")
            })
        let done = (0..<3).map { _ in Once<LoadError?>() }
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
        #expect(stage.pipeline.statistics.jobsUnderWay == 0)
    }

    @Test("a decode that nobody wants any more is told to stop, and its place comes back")
    func cancelledDecode() async throws {
        let decoding = Once<Bool>()
        let gate = DispatchSemaphore(value: 0)
        let codec = FakeCodec {
            decoding.set(true)
            gate.wait()
        }
        let stage = try Stage(.automatic, codec: codec) { $0.decodeConcurrency = 1 }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let task = stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
        _ = try await decoding.value
        task.cancel()
        #expect(stage.pipeline.statistics.tasksUnderWay == 0)
        #expect(stage.pipeline.statistics.jobsUnderWay == 1)
        gate.signal()
        await stage.pipeline.shutdown(.finish)
        #expect(stage.pipeline.statistics.jobsUnderWay == 0)
        #expect(stage.pipeline.cached(ImageRequest(Stage.url))?.width == nil)
    }

    @Test("the last to leave stops a redirect's transfer, though it began before the first start had returned")
    func redirectOvertakes() async throws {
        let base = ScriptedTransport(.automatic)
        base.serve(Stage.url, .redirect(to: "/2"))
        base.serve("http://a.example/2", .silent)
        let pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(SlowTransport(base))], codecs: CodecRegistry([])))
        let queue = ManualQueue()
        // On a thread of its own, because the first start blocks it.
        let loaded = Once<ImageTask>()
        DispatchQueue(label: "caller").async {
            loaded.set(pipeline.loadResponse(ImageRequest(Stage.url), on: queue.callbackQueue) { _, _ in })
        }
        let task = try await loaded.value
        #expect(base.startedURLs == [Stage.url, "http://a.example/2"])
        task.cancel()
        #expect(base.cancelledURLs == ["http://a.example/2"])
        await pipeline.shutdown(.finish)
    }

    @Test("a decode has its bytes whichever thread starts it")
    func manyThreads() async throws {
        // One place to decode in and several threads that end fetches: whoever gives the place back starts the next.
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

/// Its first start returns only when what followed from it has started.
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
                // Its receiver has heard of the first end, and so has started the second.
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
