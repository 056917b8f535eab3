import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 5: event order within a task", .timeLimit(.minutes(10)))
struct Contract5Tests {
    @Test("Callbacks of a task on a concurrent queue run one at a time and in order, the ending last")
    func concurrentQueue() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(Bytes([UInt8](repeating: 1, count: 200)), chunks: [1]))
        let queue = DispatchQueue(label: "callbacks", attributes: .concurrent)
        for index in 0..<20 {
            struct Seen {
                var inside = 0
                var isOverlapping = false
                var bytes: [Int64] = []
            }
            let seen = Guarded(Seen())
            let end = Promise<Bool>()
            stage.pipeline.loadResponse(ImageRequest("http://a.example/\(index)"), on: .queue(queue)) { _, progress in
                seen.withLock { seen in
                    seen.inside += 1
                    if seen.inside > 1 { seen.isOverlapping = true }
                    seen.bytes.append(progress.receivedBytes)
                }
                seen.withLock { $0.inside -= 1 }
            } completion: { _, _ in
                seen.withLock { if $0.inside > 0 { $0.isOverlapping = true } }
                seen.withLock { $0.bytes.append(.max) }
                end.set(true)
            }
            _ = try await end.value
            let result = seen.withLock { $0 }
            #expect(!result.isOverlapping)
            #expect(result.bytes == result.bytes.sorted())
            #expect(result.bytes.last == .max)
        }
    }

    @Test("A late subscriber receives the current progress, but none while a retry is pending")
    func lateSubscriber() throws {
        var retry = RetryPolicy()
        retry.firstDelay = .seconds(1)
        let stage = try Stage { $0.retry = retry }
        let broken = LoadError(.truncated, stage: .fetch, message: "It broke.")
        let head = ScriptedTransport.Script.Step.head(ResponseHead(status: 200), expectedBytes: nil)
        stage.transport.serve(
            Stage.url,
            inOrder: [
                ScriptedTransport.Script([head, .bytes(Bytes("ab")), .bytes(Bytes("cd")), .fail(broken)]),
                .ok(Bytes("abcdef"), chunks: [2]),
            ])
        let log = Log()
        stage.loadInSteps(log: log, prefix: "first ")
        for _ in 0..<3 { stage.step() }
        stage.loadInSteps(log: log, prefix: "second ")
        #expect(log.lines.isEmpty)
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["first 4", "second 4"])
        stage.transport.finishAll()
        stage.loadInSteps(log: log, prefix: "third ")
        stage.queue.runAll()
        #expect(log.lines.count == 2)
        stage.clock.advance(by: .seconds(60))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.suffix(3).allSatisfy { $0.hasSuffix("abcdef") })
    }

    @Test("Progress is delivered at most every 16 ms, and the last one before the ending in any case")
    func pace() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcdefghij"), chunks: [1]))
        let log = Log()
        stage.loadInSteps(log: log)
        stage.transport.step(Stage.url)
        for pause in [0, 0, 15, 1, 0, 15] {
            stage.clock.advance(by: .milliseconds(pause))
            stage.transport.step(Stage.url)
            stage.queue.runAll()
        }
        #expect(log.lines == ["1", "4"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["1", "4", "10", "abcdefghij"])
    }

    @Test("The last progress is delivered before a failure, too")
    func lastProgressOfFailure() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcdef"), chunks: [1]).failing(.truncated, after: 4))
        let log = Log()
        stage.loadInSteps(log: log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["4", "truncated"])
    }

    @Test("A task that joins receives the next progress at once, however recent the last one is")
    func newObserver() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcdef"), chunks: [1]))
        let log = Log()
        stage.load()
        for _ in 0..<3 { stage.transport.step(Stage.url) }
        stage.loadInSteps(log: log)
        stage.transport.step(Stage.url)
        stage.queue.runAll()
        #expect(log.lines == ["3"])
        stage.transport.finishAll()
    }

    @Test("Callbacks are submitted one at a time, and new progress replaces undelivered progress")
    func oneAtATime() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcdef"), chunks: [1]))
        let log = Log()
        stage.loadInSteps(log: log)
        for _ in 0..<3 { stage.step() }
        #expect(stage.queue.submittedCount == 1)
        stage.queue.runAll()
        stage.transport.finish(Stage.url)
        #expect(stage.queue.count == 1)
        stage.queue.runNext()
        #expect(log.lines == ["2", "6"])
        #expect(stage.queue.count == 1)
        stage.queue.runNext()
        #expect(log.lines == ["2", "6", "abcdef"])
    }

    @Test("Progress never decreases, not even if Vary makes a task fetch again")
    func neverBack() throws {
        let stage = try Stage { $0.fieldsExcludedFromKey = ["X-Theme"] }
        let vary = HTTPFields([("Vary", "x-theme")])
        // The second task needs its own response, whose bytes arrive more slowly.
        stage.transport.serve(Stage.url, .ok(Bytes("abcdef"), chunks: [4], fields: vary))
        let log = Log()
        func load(_ theme: String) {
            var request = ImageRequest(Stage.url)
            request.fields.append("X-Theme", theme)
            stage.loadInSteps(request, log: log, prefix: theme + " ")
        }
        load("dark")
        load("light")
        #expect(stage.transport.startCount == 1)
        while stage.transport.exchanges.count(where: { $0.step() }) > 0 { stage.queue.runAll() }
        stage.queue.runAll()
        #expect(stage.transport.startCount == 2)
        #expect(log.lines.filter { $0.hasPrefix("dark") } == ["dark 4", "dark 6", "dark abcdef"])
        #expect(log.lines.filter { $0.hasPrefix("light") } == ["light 4", "light 6", "light abcdef"])
    }

    @Test("A stream yields strictly increasing progress")
    func stream() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(padding: 100), chunks: [1]))
        var last: Int64 = -1
        for await event in stage.pipeline.events(for: ImageRequest(Stage.url)) {
            guard case .progress(let progress) = event else { continue }
            #expect(progress.receivedBytes > last)
            #expect(progress.expectedBytes == 110)
            last = progress.receivedBytes
        }
    }
}
