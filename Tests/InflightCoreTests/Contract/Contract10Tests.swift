import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 10: release", .timeLimit(.minutes(10)))
struct Contract10Tests {
    @Test("A task that its caller does not retain lives until its ending is delivered")
    func unheldTask() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        weak var task: ImageTask?
        task = stage.load(log: log)
        #expect(task != nil)
        stage.transport.finishAll()
        #expect(task != nil)
        stage.queue.runAll()
        #expect(log.lines == ["end: x"])
        #expect(task == nil)
    }

    @Test("An unretained pipeline lives until its last task ends, then releases the transport it owns")
    func unheldPipeline() async throws {
        let log = Log()
        let queue = ManualQueue()
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url, .ok(Bytes("x")).stalled("all"))
        // The engine retains its configuration, and so the codec.
        weak var codec: FakeCodec?
        let ownedExists = Guarded<@Sendable () -> Bool>({ false })
        do {
            let made = FakeCodec()
            let configuration = ImagePipeline.Configuration(
                transports: [
                    .owned { _ in
                        let own = OwnedTransport(transport)
                        ownedExists.withLock { $0 = { [weak own] in own != nil } }
                        return own
                    }
                ], codecs: CodecRegistry([made]))
            codec = made
            let pipeline = try ImagePipeline(configuration: configuration)
            pipeline.loadResponse(ImageRequest(Stage.url), on: queue.callbackQueue) { _, result in
                log.add(result.shown)
            }
        }
        #expect(codec != nil)
        #expect(ownedExists.withLock(\.self)())
        transport.release("all")
        try await queue.waitForWork(within: .seconds(50))
        try await transport.wait(for: .ended(Stage.url, nil), within: .seconds(50))
        queue.runAll()
        #expect(log.lines == ["x"])
        #expect(codec == nil)
        #expect(!ownedExists.withLock(\.self)())
    }

    @Test("After its ending, a task releases its closures on the callback queue")
    func releasedOnTheQueue() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x"), chunks: [1]))
        let log = Log()
        let queue = stage.queue
        let task = Self.load(stage, Captured { log.add("released, current: \(queue.isCurrent)") })
        stage.transport.finishAll()
        #expect(log.lines == [])
        queue.runAll()
        #expect(log.lines == ["released, current: true"])
        _ = task
    }

    @Test("A task releases its closures before cancel() returns")
    func releasedInCancel() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x"), chunks: [1]))
        let log = Log()
        let task = Self.load(stage, Captured { log.add("released") })
        log.add("cancel")
        task.cancel()
        log.add("returned")
        #expect(log.lines == ["cancel", "released", "returned"])
        stage.transport.finishAll()
    }

    @Test("A closure that runs during a cancel from another queue is released on the callback queue")
    func releasedWhileItRuns() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("xy"), chunks: [1]))
        let log = Log()
        let queue = stage.queue
        let elsewhere = DispatchQueue(label: "elsewhere")
        Self.loadCancelling(stage, Captured { log.add("released, current: \(queue.isCurrent)") }, elsewhere, log)
        stage.transport.finishAll()
        queue.runAll()
        #expect(log.lines == ["cancelled", "released, current: true"])
    }

    private static func load(_ stage: Stage, _ captured: Captured) -> ImageTask {
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in
            captured.touch()
        } completion: { _, _ in
            captured.touch()
        }
    }

    private static func loadCancelling(_ stage: Stage, _ captured: Captured, _ elsewhere: DispatchQueue, _ log: Log) {
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            elsewhere.sync { task.cancel() }
            log.add("cancelled")
            captured.touch()
        } completion: { _, _ in
            log.add("end")
        }
    }

    @Test("Tasks that end or are cancelled on a dispatch queue release their closures on it", arguments: [true, false])
    func releasedOnRealQueues(cancels: Bool) async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(Bytes("x"), chunks: [1]))
        let mark = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "callbacks")
        queue.setSpecific(key: mark, value: true)
        let elsewhere = Counter()
        let released = Counter()
        let count = 300
        let all = Promise<Bool>()
        for index in 0..<count {
            queue.async {
                // Created on the queue, so that nothing else retains it.
                let captured = Captured {
                    if DispatchQueue.getSpecific(key: mark) != true { elsewhere.add() }
                    released.add()
                    if released.count == count { all.set(true) }
                }
                let task = stage.pipeline.loadResponse(
                    ImageRequest("http://a.example/\(index)"), on: .queue(queue)
                ) { _, _ in
                    captured.touch()
                } completion: { _, _ in
                    captured.touch()
                }
                if cancels { queue.async { task.cancel() } }
            }
        }
        _ = try await all.value
        #expect(elsewhere.count == 0)
        await stage.pipeline.shutdown(.finish)
    }

    @Test("shutdown(.finish) rejects new requests and returns after the last task has ended")
    func finish() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(Bytes("x")).stalled("all"))
        let log = Log()
        stage.load(log: log)
        let ending = Task {
            await stage.pipeline.shutdown(.finish)
            log.add("over, \(stage.queue.count) told")
        }
        // The shutdown has begun once a new request is rejected.
        while true {
            do {
                _ = try await stage.pipeline.response(for: ImageRequest("http://a.example/missing"))
            } catch {
                if error.code == .shutDown { break }
            }
        }
        #expect(log.lines == [])
        stage.transport.release("all")
        await ending.value
        #expect(log.lines == ["over, 1 told"])
        stage.queue.runAll()
        #expect(log.lines.last == "end: x")
    }

    @Test("shutdown(.cancel) stops running transfers, and running and new tasks fail with shutDown")
    func cancel() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.silent)
        let log = Log()
        let task = stage.load(log: log)
        let awaiting = Task { () -> LoadError.Code? in
            do throws(LoadError) {
                _ = try await stage.pipeline.data(for: ImageRequest("http://a.example/2"))
                return nil
            } catch {
                return error.code
            }
        }
        try await stage.transport.waitForStarts(2, within: .seconds(50))
        await stage.pipeline.shutdown(.cancel)
        #expect(stage.transport.liveCount == 0)
        stage.queue.runAll()
        #expect(log.lines == ["end: shutDown"])
        #expect(!task.isCancelled)
        #expect(await awaiting.value == .shutDown)
        stage.load("http://a.example/3", log: log, name: "late")
        stage.queue.runAll()
        #expect(log.lines.last == "late: shutDown")
        await stage.pipeline.shutdown(.cancel)
    }

    @Test("Dropping an event stream cancels its transfer")
    func droppedStream() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(padding: 10), chunks: [5]).stalled("never", after: 10))
        for await event in stage.pipeline.events(for: ImageRequest(Stage.url)) {
            if case .progress = event { break }
        }
        try await stage.transport.wait(for: .cancelled(Stage.url), within: .seconds(50))
        await stage.pipeline.shutdown(.finish)
    }
}

/// A transport that a pipeline owns. It forwards to another one and has its own lifetime.
private final class OwnedTransport: Transport {
    let base: ScriptedTransport

    init(_ base: ScriptedTransport) {
        self.base = base
    }

    var schemes: Set<String> { base.schemes }

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        base.start(request, receiver: receiver)
    }

    func shutdown() async {}
}
