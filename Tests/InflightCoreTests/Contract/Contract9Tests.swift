import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

// The same with a real `OperationQueue` is tested in InflightFoundationTests.
@Suite("contract 9: the caller's queue may drop callbacks, or stand still", .timeLimit(.minutes(10)))
struct Contract9Tests {
    @Test("dropped progress is followed by the next event")
    func droppedProgress() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("abcd"), chunks: [2]))
        let log = Log()
        stage.loadInSteps(log: log)
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        stage.queue.dropAll()
        #expect(stage.queue.count == 0)
        stage.transport.step(Stage.url)
        stage.queue.runAll()
        #expect(log.lines == ["4"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["4", "abcd"])
    }

    @Test("progress that is dropped after the end has come does not take the ending with it")
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

    @Test("a dropped ending is one that nobody hears, and hurts nobody else")
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
        #expect(stage.pipeline.statistics.tasksUnderWay == 0)
        // It has ended: a cancel changes nothing.
        task.cancel()
        #expect(!task.isCancelled)
    }

    @Test("a queue that stands still holds back its own callbacks, and no place in a lane")
    func suspended() async throws {
        let stage = try Stage(.automatic) { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        let still = DispatchQueue(label: "still")
        still.suspend()
        let late = Once<String>()
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
        #expect(stage.pipeline.statistics.jobsUnderWay == 0)
        still.resume()
        #expect(try await late.value == "x")
    }
}
