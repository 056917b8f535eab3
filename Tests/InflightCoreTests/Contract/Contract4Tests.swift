import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 4: no callback after cancel", .timeLimit(.minutes(10)))
struct Contract4Tests {
    @Test("A cancel inside a progress callback stops the transfer and all later callbacks")
    func insideProgress() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("body"), chunks: [1]))
        let log = Log()
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            log.add("progress")
            task.cancel()
        } completion: { _, _ in
            log.add("end")
        }
        stage.transport.step(Stage.url)
        stage.transport.step(Stage.url)
        stage.queue.runAll()
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["progress"])
        #expect(stage.transport.cancelledURLs == [Stage.url])
    }

    @Test("A cancel from another queue lets the running callback finish, and no other follows")
    func fromElsewhere() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("body"), chunks: [1]))
        let log = Log()
        let elsewhere = DispatchQueue(label: "elsewhere")
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            log.add("progress")
            elsewhere.sync { task.cancel() }
            log.add("cancelled: \(task.isCancelled)")
        } completion: { _, _ in
            log.add("end")
        }
        stage.transport.finish(Stage.url)
        stage.queue.runAll()
        #expect(log.lines == ["progress", "cancelled: true"])
    }

    @Test("After cancel() has returned on a serial callback queue, no callback starts on it")
    func exactOnASerialQueue() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(Bytes([UInt8](repeating: 1, count: 64)), chunks: [1]))
        let queue = DispatchQueue(label: "callbacks")
        let broken = Counter()
        let count = 300
        let last = Promise<Bool>()
        for index in 0..<count {
            let isSilent = Guarded(false)
            let task = stage.pipeline.loadResponse(
                ImageRequest("http://a.example/\(index)"), on: .queue(queue)
            ) { _, _ in
                if isSilent.withLock({ $0 }) { broken.add() }
            } completion: { _, _ in
                if isSilent.withLock({ $0 }) { broken.add() }
            }
            queue.async {
                task.cancel()
                isSilent.withLock { $0 = true }
                if index == count - 1 { last.set(true) }
            }
        }
        _ = try await last.value
        await stage.pipeline.shutdown(.finish)
        await Bridge.wait { done in queue.async { done.open() } }
        #expect(broken.count == 0)
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
    }

    @Test("Concurrent cancels of one task cancel its transfer once")
    func manyThreads() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        let task = stage.load(log: log)
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            task.cancel()
            #expect(task.isCancelled)
        }
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == [])
        #expect(stage.transport.cancelledURLs == [Stage.url])
    }
}
