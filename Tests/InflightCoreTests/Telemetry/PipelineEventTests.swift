import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Pipeline events", .timeLimit(.minutes(10)))
struct PipelineEventTests {
    private let book = RecordingObservers()

    private func stage(
        _ observer: RecordingObserver, _ mode: ScriptedTransport.Mode = .manual,
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws -> Stage {
        try Stage(mode) {
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
            change(&$0)
        }
    }

    @Test("A successful load emits its events in order, from the request to the delivery")
    func oneLoad() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        stage.transport.serve(Stage.url, .ok(Bytes("abc"), chunks: [2]))
        let task = stage.load()
        #expect(task.number == 1)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(
            observer.lines == [
                "1 requested", "#0 created fetch", "1 #0 subscribed", "#0 queued fetch", "#0 started fetch",
                "#0 sent GET",
                "#0 responded 200", "#0 received 3", "#0 exchange ended 3", "#0 succeeded", "1 finished network",
                "1 delivered",
            ])
        #expect(observer.events[0].kind == .requested(url: Stage.url))
        #expect(observer.dropped == 0)
    }

    @Test("A coalesced task reports the job it joined and finishes with the source shared")
    func joined() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        stage.load(priority: .high)
        #expect(
            observer.lines.suffix(4) == ["2 requested", "2 #0 subscribed", "2 #0 coalesced", "#0 prioritized high"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(observer.lines.suffix(4) == ["1 finished network", "2 finished shared", "1 delivered", "2 delivered"])
    }

    @Test("Two sizes of one image share a fetch, but each has its own decode job")
    func sizes() throws {
        let observer = book.observer()
        let executor = ManualExecutor()
        let stage = try Stage(executor: executor) {
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        for width in [2, 4] {
            var request = ImageRequest(Stage.url)
            request.resize = Resize(width: width)
            stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, _ in }
        }
        let lines = observer.lines
        #expect(
            lines == [
                "1 requested", "#0 created fetch", "#1 created decode after another", "1 #1 subscribed",
                "#0 queued fetch",
                "#0 started fetch", "#0 sent GET", "2 requested", "#2 created decode after another", "2 #2 subscribed",
                "2 #0 coalesced",
            ])
        stage.transport.finishAll()
        executor.runAll()
        stage.queue.runAll()
        #expect(observer.lines.filter { $0.contains("decoded") }.count == 2)
    }

    @Test("Cancelling the only task abandons its job, which then stops")
    func cancelled() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load().cancel()
        #expect(observer.lines.suffix(2) == ["1 cancelled", "#0 abandoned"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(observer.lines.suffix(3) == ["#0 abandoned", "#0 exchange ended", "#0 stopped"])
    }

    @Test("A retry event names the transient failure and the delay, after which the fetch is queued again")
    func retried() throws {
        let observer = book.observer()
        let stage = try stage(observer) {
            $0.retry = RetryPolicy()
            $0.random = { 1 }
        }
        stage.transport.serve(Stage.url, inOrder: [.status(503), .ok(Bytes("abc"))])
        stage.load()
        stage.transport.finishAll()
        let retry = observer.events.compactMap { event -> String? in
            guard case .retryScheduled(let after, let why) = event.kind else { return nil }
            return "\(why), \(after / .milliseconds(1))"
        }
        #expect(retry == ["status 503, 500.0"])
        stage.clock.advance(by: .milliseconds(499))
        #expect(observer.lines.filter { $0 == "#0 queued fetch" }.count == 1)
        stage.clock.advance(by: .milliseconds(1))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(observer.lines.filter { $0 == "#0 queued fetch" }.count == 2)
        #expect(observer.lines.suffix(2) == ["1 finished network", "1 delivered"])
    }

    @Test("Redirects and fallbacks emit events, but the load is requested and finishes only once")
    func elsewhere() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        stage.transport.serve(Stage.url, .status(302, HTTPFields([("Location", "/2")])))
        stage.transport.serve("http://a.example/2", .status(404))
        stage.transport.serve("http://a.example/3", .ok(Bytes("abc")))
        stage.load { $0.fallbacks = ["http://a.example/3"] }
        stage.transport.finishAll()
        stage.queue.runAll()
        let lines = observer.lines
        #expect(lines.contains("#0 redirected"))
        #expect(lines.contains("#0 failed badStatus"))
        #expect(lines.contains("1 rerouted"))
        #expect(lines.filter { $0 == "1 requested" }.count == 1)
        #expect(lines.filter { $0.hasPrefix("1 finished") } == ["1 finished network"])
    }

    @Test("Disk cache lookups, reads and writes emit events")
    func stored() async throws {
        let observer = book.observer()
        let stage = try StoreStage {
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.serve(StoreStage.url, StoreStage.ok("abc", ("Cache-Control", "max-age=60")))
        _ = try await stage.get()
        _ = try await stage.get()
        await stage.settled()
        await stage.pipeline.shutdown(.finish)
        let lines = observer.lines
        #expect(lines.contains("#0 looked up nothing"))
        #expect(lines.contains("#0 storing 3"))
        #expect(lines.contains("#0 stored 3"))
        #expect(lines.contains("#1 looked up fresh"))
        #expect(lines.contains("#1 read 3"))
        #expect(lines.contains("2 finished disk"))
    }

    @Test("A slow observer receives a bounded number of events and the count of dropped ones")
    func bound() throws {
        let observer = book.observer()
        let stage = try stage(observer) { $0.observer?.capacity = 10 }
        stage.transport.serveOthers(.ok(Bytes("abc")))
        for number in 0..<100 { stage.load("http://a.example/\(number)") }
        #expect(observer.queue.count == 1)
        #expect(observer.events.count == 10)
        #expect(observer.dropped > 100)
        stage.transport.finishAll()
        #expect(observer.events.count > 10)
    }

    @Test("An observer is called on its queue with no lock held, and may call the pipeline")
    func callsBack() throws {
        let other = Guarded<ImagePipeline?>(nil)
        let counts = Log()
        let queue = Guarded<ManualQueue?>(nil)
        let observer = book.observer {
            counts.add("\(queue.withLock { $0 }?.isCurrent ?? false)")
            _ = other.withLock { $0 }?.statistics
        }
        queue.withLock { $0 = observer.queue }
        let stage = try stage(observer)
        other.withLock { $0 = stage.pipeline }
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        #expect(counts.lines == [])
        _ = observer.events
        #expect(counts.lines == ["true"])
        other.withLock { $0 = nil }
    }

    @Test("An observer is released on its queue after the pipeline is released and the last event delivered")
    func released() throws {
        let log = Log()
        let queue = ManualQueue()
        do {
            let captured = Captured { log.add("released, current: \(queue.isCurrent)") }
            let observer = RecordingObserver { captured.touch() }
            var configuration = ImagePipeline.Configuration(
                transports: [.shared(ScriptedTransport(.manual))], codecs: CodecRegistry([]))
            configuration.observer = ImagePipeline.Observation(observer, on: queue.callbackQueue)
            let pipeline = try ImagePipeline(configuration: configuration)
            pipeline.loadResponse(ImageRequest("nonsense:"), on: queue.callbackQueue) { _, _ in }
        }
        #expect(log.lines == [])
        queue.runAll()
        #expect(log.lines == ["released, current: true"])
    }

    @Test("If the queue drops a batch of events, they are delivered with a later one")
    func droppedBatch() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        stage.load()
        observer.queue.dropAll()
        stage.transport.finishAll()
        #expect(observer.lines.first == "1 requested")
        #expect(observer.lines.contains("#0 succeeded"))
    }

    @Test("A memory cache hit and a dropped completion each emit events")
    func memory() throws {
        let observer = book.observer()
        let executor = ManualExecutor()
        let stage = try Stage(executor: executor) {
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        for _ in 0..<2 {
            stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
            stage.transport.finishAll()
            executor.runAll()
            stage.queue.runAll()
        }
        #expect(
            observer.lines.suffix(4) == ["2 requested", "2 foundInMemory", "2 finished memory", "2 delivered"])
        stage.pipeline.load(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in }
        stage.queue.dropAll()
        #expect(observer.lines.suffix(2) == ["3 finished memory", "3 dropped"])
    }

    @Test("Without an observer, tasks have no number")
    func nobody() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abc")))
        #expect(stage.load().number == 0)
    }

    @Test("An event stream that is discarded before its load starts emits no pipeline events")
    func neverBegun() throws {
        let observer = book.observer()
        let stage = try stage(observer)
        do { _ = stage.pipeline.events(for: ImageRequest(Stage.url)) }
        #expect(observer.lines == [])
    }

    @Test("Connection events carry the times that the transport measured")
    func timings() throws {
        let observer = book.observer()
        let stage = try stage(observer) { $0.transports = [.shared(TimedTransport())] }
        stage.clock.advance(by: .seconds(5))
        stage.load()
        let connected = try #require(observer.events.first { $0.kind == .connected(reused: false) })
        let sent = try #require(observer.events.first { if case .sent = $0.kind { true } else { false } })
        #expect(connected.time - sent.time == .milliseconds(2))
        let lines = observer.lines.drop { $0 != "#0 nameResolved" }
        #expect(
            lines.prefix(4) == ["#0 nameResolved", "#0 connected(reused: false)", "#0 firstByte", "#0 responded 200"])
    }
}

/// Responds before `start` returns, and reports timings.
private final class TimedTransport: Transport, Transfer {
    let schemes: Set<String> = ["http"]
    private let queue = DispatchQueue(label: "timed")

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        // A receiver is never called inside `start`: it is called on another thread, which `start` waits for.
        queue.async {
            if request.wantsTimings {
                receiver.didReceive(
                    TransportTimings(
                        nameResolved: .milliseconds(1), connected: .milliseconds(2), firstByte: .milliseconds(3)))
            }
            _ = receiver.didReceive(ResponseHead(status: 200, version: .http1_1), expectedBytes: 0)
            receiver.didEnd(.success(TransportSummary(wireBytes: 0, bodyBytes: 0)))
        }
        // Returns when the receiver has been released, too.
        queue.sync {}
        return self
    }

    func cancel() {}
    func resume() {}
    func shutdown() async {}
}
