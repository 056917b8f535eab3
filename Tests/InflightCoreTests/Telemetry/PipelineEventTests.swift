import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("What a pipeline tells its listener", .timeLimit(.minutes(10)))
struct PipelineEventTests {
    private let book = EarsBook()

    private func stage(
        _ ears: Ears, _ mode: ScriptedTransport.Mode = .manual,
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws -> Stage {
        try Stage(mode) {
            $0.listening = PipelineListening(ears, on: ears.queue.callbackQueue)
            change(&$0)
        }
    }

    @Test("one load, from its asking to its ending")
    func oneLoad() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        stage.transport.serve(Stage.url, .ok(Bytes("abc"), chunks: [2]))
        let task = stage.load()
        #expect(task.number == 1)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(
            ears.lines == [
                "1 asked", "#0 made fetch", "1 #0 waits", "#0 queued fetch", "#0 started fetch", "#0 sent GET",
                "#0 answered 200", "#0 received 3", "#0 exchange ended 3", "#0 succeeded", "1 finished network",
                "1 delivered",
            ])
        #expect(ears.events[0].kind == .asked(url: Stage.url))
        #expect(ears.leftOut == 0)
    }

    @Test("who joins names the job that it found, and is told as a sharer")
    func joined() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        stage.load(priority: .high)
        #expect(
            ears.lines.suffix(4) == ["2 asked", "2 #0 waits", "2 #0 joined", "#0 prioritized high"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(ears.lines.suffix(4) == ["1 finished network", "2 finished shared", "1 delivered", "2 delivered"])
    }

    @Test("two sizes of one picture share its fetch: the second joins that, and waits for a decode of its own")
    func sizes() throws {
        let ears = book.ears()
        let executor = HandExecutor()
        let stage = try Stage(executor: executor) {
            $0.listening = PipelineListening(ears, on: ears.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        for width in [2, 4] {
            var request = ImageRequest(Stage.url)
            request.resize = Resize(width: width)
            stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, _ in }
        }
        let lines = ears.lines
        #expect(
            lines == [
                "1 asked", "#0 made fetch", "#1 made decode after another", "1 #1 waits", "#0 queued fetch",
                "#0 started fetch", "#0 sent GET", "2 asked", "#2 made decode after another", "2 #2 waits",
                "2 #0 joined",
            ])
        stage.transport.finishAll()
        executor.runAll()
        stage.queue.runAll()
        #expect(ears.lines.filter { $0.contains("decoded") }.count == 2)
    }

    @Test("a cancel: the load ends, its job is abandoned, and its work stops")
    func cancelled() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load().cancel()
        #expect(ears.lines.suffix(2) == ["1 cancelled", "#0 abandoned"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(ears.lines.suffix(3) == ["#0 abandoned", "#0 exchange ended", "#0 stopped"])
    }

    @Test("a failure that may pass: why it is tried again, and when")
    func retried() throws {
        let ears = book.ears()
        let stage = try stage(ears) {
            $0.retry = RetryPolicy()
        }
        stage.transport.serve(Stage.url, inOrder: [.status(503), .ok(Bytes("abc"))])
        stage.load()
        stage.transport.finishAll()
        let retry = ears.events.compactMap { event -> String? in
            if case .retries(_, let why) = event.kind { why } else { nil }
        }
        #expect(retry == ["status 503"])
        stage.clock.advance(by: .seconds(100))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(ears.lines.filter { $0 == "#0 queued fetch" }.count == 2)
        #expect(ears.lines.suffix(2) == ["1 finished network", "1 delivered"])
    }

    @Test("redirects, and fallbacks after a failure")
    func elsewhere() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        stage.transport.serve(Stage.url, .status(302, HTTPFields([("Location", "/2")])))
        stage.transport.serve("http://a.example/2", .status(404))
        stage.transport.serve("http://a.example/3", .ok(Bytes("abc")))
        stage.load { $0.fallbacks = ["http://a.example/3"] }
        stage.transport.finishAll()
        stage.queue.runAll()
        let lines = ears.lines
        #expect(lines.contains("#0 redirected"))
        #expect(lines.contains("#0 failed badStatus"))
        #expect(lines.contains("1 elsewhere"))
        #expect(lines.filter { $0 == "1 asked" }.count == 1)
        #expect(lines.filter { $0.hasPrefix("1 finished") } == ["1 finished network"])
    }

    @Test("what is in the store: looked up, read, and written")
    func stored() async throws {
        let ears = book.ears()
        let stage = try StoreStage { $0.listening = PipelineListening(ears, on: ears.queue.callbackQueue) }
        stage.serve(StoreStage.url, StoreStage.ok("abc", ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        _ = try await stage.get()
        await stage.pipeline.shutdown(.finish)
        let lines = ears.lines
        #expect(lines.contains("#0 looked up nothing"))
        #expect(lines.contains("#0 storing 3"))
        #expect(lines.contains("#0 stored 3"))
        #expect(lines.contains("#1 looked up fresh"))
        #expect(lines.contains("#1 read 3"))
        #expect(lines.contains("2 finished disk"))
    }

    @Test("a listener that is busy costs a bound, and hears how many it has missed")
    func bound() throws {
        let ears = book.ears()
        let stage = try stage(ears) { $0.listening?.capacity = 10 }
        stage.transport.serveOthers(.ok(Bytes("abc")))
        for number in 0..<100 { stage.load("http://a.example/\(number)") }
        #expect(ears.queue.count == 1)
        #expect(ears.events.count == 10)
        #expect(ears.leftOut > 100)
        stage.transport.finishAll()
        #expect(ears.events.count > 10)
    }

    @Test("it is called on its queue with no lock held: it may call back into the pipeline")
    func callsBack() throws {
        let other = Guarded<ImagePipeline?>(nil)
        let counts = Log()
        let queue = Guarded<ManualQueue?>(nil)
        let ears = book.ears {
            counts.add("\(queue.withLock { $0 }?.isCurrent ?? false)")
            _ = other.withLock { $0 }?.statistics
        }
        queue.withLock { $0 = ears.queue }
        let stage = try stage(ears)
        other.withLock { $0 = stage.pipeline }
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        #expect(counts.lines == [])
        _ = ears.events
        #expect(counts.lines == ["true"])
        other.withLock { $0 = nil }
    }

    @Test("it is let go of on its queue, when the pipeline is gone and the last event is told")
    func released() throws {
        let log = Log()
        let queue = ManualQueue()
        do {
            let captured = Captured { log.add("released, current: \(queue.isCurrent)") }
            let ears = Ears { captured.touch() }
            var configuration = ImagePipeline.Configuration(
                transports: [.shared(ScriptedTransport(.manual))], codecs: CodecRegistry([]))
            configuration.listening = PipelineListening(ears, on: queue.callbackQueue)
            let pipeline = try ImagePipeline(configuration: configuration)
            pipeline.loadResponse(ImageRequest("nonsense:"), on: queue.callbackQueue) { _, _ in }
        }
        #expect(log.lines == [])
        queue.runAll()
        #expect(log.lines == ["released, current: true"])
    }

    @Test("a queue that lets go of what it is handed loses nothing but time")
    func droppedBatch() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        ears.queue.dropAll()
        stage.transport.finishAll()
        #expect(ears.lines.first == "1 asked")
        #expect(ears.lines.contains("#0 succeeded"))
    }

    @Test("a picture from memory, and an ending that its queue lets go of")
    func memory() throws {
        let ears = book.ears()
        let executor = HandExecutor()
        let stage = try Stage(executor: executor) {
            $0.listening = PipelineListening(ears, on: ears.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        for _ in 0..<2 {
            stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
            stage.transport.finishAll()
            executor.runAll()
            stage.queue.runAll()
        }
        #expect(
            ears.lines.suffix(4) == ["2 asked", "2 foundInMemory", "2 finished memory", "2 delivered"])
        stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
        stage.queue.dropAll()
        #expect(ears.lines.suffix(2) == ["3 finished memory", "3 dropped"])
    }

    @Test("nobody who listens: no numbers are given, and nothing is made")
    func nobody() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        #expect(stage.load().number == 0)
        #expect(stage.pipeline.scheduler.telemetry == nil)
    }

    @Test("a load that is cancelled before it begins is never heard of")
    func neverBegun() throws {
        let ears = book.ears()
        let stage = try stage(ears)
        do { _ = stage.pipeline.events(for: ImageRequest(Stage.url)) }
        #expect(ears.lines == [])
    }

    @Test("what a transport says of its connection comes with the times at which it was")
    func timings() throws {
        let ears = book.ears()
        let stage = try stage(ears) { $0.transports = [.shared(TimedTransport())] }
        stage.clock.advance(by: .seconds(5))
        stage.load()
        let connected = try #require(ears.events.first { $0.kind == .connected(reused: false) })
        let sent = try #require(ears.events.first { if case .sent = $0.kind { true } else { false } })
        #expect(connected.time - sent.time == .milliseconds(2))
        let lines = ears.lines.drop { $0 != "#0 nameResolved" }
        #expect(
            lines.prefix(4) == ["#0 nameResolved", "#0 connected(reused: false)", "#0 firstByte", "#0 answered 200"])
    }
}

/// Answers at once, on the caller's way back, and says how long it took.
private final class TimedTransport: Transport, Transfer {
    let schemes: Set<String> = ["http"]
    private let queue = DispatchQueue(label: "timed")

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        // Never inside the call: on a thread of its own, which the call waits for.
        queue.async {
            if request.wantsTimings {
                receiver.didReceive(
                    TransportTimings(
                        nameResolved: .milliseconds(1), connected: .milliseconds(2), firstByte: .milliseconds(3)))
            }
            _ = receiver.didReceive(ResponseHead(status: 200, version: .http1_1), expectedBytes: 0)
            receiver.didEnd(.success(TransportSummary(wireBytes: 0, bodyBytes: 0)))
        }
        // Returns when the receiver has been let go of, too.
        queue.sync {}
        return self
    }

    func cancel() {}
    func resume() {}
    func shutdown() async {}
}
