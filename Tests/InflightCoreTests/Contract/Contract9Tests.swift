import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

// InflightFoundationTests tests the same with a real `OperationQueue`.
@Suite("Contract 9: callback queues that drop work or are suspended", .timeLimit(.minutes(10)))
struct Contract9Tests {
    @Test("The next event is delivered after the queue has dropped progress")
    func droppedProgress() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcd"), chunks: [2]))
        let log = Log()
        stage.loadInSteps(log: log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        stage.queue.dropAll()
        #expect(stage.queue.count == 0)
        stage.step()
        stage.queue.runAll()
        #expect(log.lines == ["4"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["4", "abcd"])
    }

    @Test("Progress that is dropped after the transfer has ended does not drop the ending")
    func droppedBeforeTheEnding() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcd"), chunks: [2]))
        let log = Log()
        stage.loadInSteps(log: log)
        stage.transport.finishAll()
        stage.queue.dropAll()
        stage.queue.runAll()
        #expect(log.lines == ["abcd"])
    }

    @Test("A dropped ending ends its task and does not affect other subscribers")
    func droppedEnding() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        let other = ManualQueue()
        let task = stage.load(log: log, name: "dropped")
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: other.callbackQueue) { _, result in
            log.add("other: \(result.shown)")
        }
        stage.transport.finishAll()
        stage.queue.dropAll()
        other.runAll()
        #expect(log.lines == ["other: x"])
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
        // The task has ended, so a cancel has no effect.
        task.cancel()
        #expect(!task.isCancelled)
    }

    @Test("A suspended queue delays only its own callbacks and occupies no slot in a lane")
    func suspended() async throws {
        let stage = try Stage(.automatic) { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        let still = DispatchQueue(label: "still")
        still.suspend()
        let late = Promise<String>()
        let log = Log()
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: .queue(still)) { _, result in
            log.add("still")
            late.set(result.shown)
        }
        for index in 0..<20 {
            let reply = try await stage.pipeline.response(for: ImageRequest("http://a.example/other\(index)"))
            #expect(reply.body == Bytes("x"))
        }
        #expect(log.lines == [])
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
        still.resume()
        #expect(try await late.value == "x")
    }
}
