import Foundation
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

@Suite("Contract 9: callbacks on an OperationQueue", .timeLimit(.minutes(10)))
struct Contract9OperationQueueTests {
    private let transport = ScriptedTransport(.automatic)
    private let pipeline: ImagePipeline

    init() throws {
        pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(transport)], codecs: CodecRegistry([])))
    }

    private func serialQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    private func load(_ url: String, on queue: OperationQueue, _ completion: @escaping @Sendable (Bytes?) -> Void) {
        pipeline.loadResponse(ImageRequest(url), on: .queue(queue)) { _, result in
            completion(try? result.get().body)
        }
    }

    private func body(_ url: String) async throws -> Bytes {
        try await pipeline.response(for: ImageRequest(url)).body
    }

    @Test("A completion runs on its OperationQueue")
    func runs() async throws {
        transport.serveOthers(.ok(Bytes("x")))
        let queue = serialQueue()
        let pipeline = pipeline
        let isThere = await ValueBridge.value { done in
            pipeline.loadResponse(ImageRequest("http://a.example/"), on: .queue(queue)) { _, _ in
                done.open(with: OperationQueue.current === queue)
            }
        }
        #expect(isThere)
    }

    @Test("Cancelling all operations drops pending callbacks and affects no other task", arguments: [true, false])
    func cancelled(isSuspended: Bool) async throws {
        transport.serve("http://a.example/dropped", .ok(Bytes("x")))
        transport.serveOthers(.ok(Bytes("y")))
        let queue = serialQueue()
        let gate = DispatchSemaphore(value: 0)
        // The callback is pending behind an operation of this queue, or because the queue is suspended.
        if isSuspended { queue.isSuspended = true } else { queue.addOperation { gate.wait() } }
        let heard = Guarded([String]())
        load("http://a.example/dropped", on: queue) { _ in heard.withLock { $0.append("dropped") } }
        try await transport.wait(for: .ended("http://a.example/dropped", nil), within: .seconds(50))
        #expect(queue.operationCount == (isSuspended ? 1 : 2))
        queue.cancelAllOperations()
        #expect(try await body("http://a.example/other") == Bytes("y"))
        queue.isSuspended = false
        gate.signal()
        // The queue runs later callbacks as before.
        let pipeline = pipeline
        await Bridge.wait { done in
            pipeline.loadResponse(ImageRequest("http://a.example/next"), on: .queue(queue)) { _, _ in
                heard.withLock { $0.append("next") }
                done.open()
            }
        }
        #expect(heard.withLock { $0 } == ["next"])
        await pipeline.shutdown(.finish)
        #expect(pipeline.statistics.tasksInFlight == 0)
    }

    @Test("Dropped progress is followed by the completion")
    func droppedProgress() async throws {
        transport.serve("http://a.example/1", .ok(Bytes("abcd"), chunks: [2]).stalled("half", after: 2))
        let queue = serialQueue()
        queue.isSuspended = true
        let pipeline = pipeline
        let heard = Guarded([String]())
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        var request = ImageRequest("http://a.example/1")
        // The body waits for this test, which may take long on a busy machine.
        request.limits.minimumBytesPerSecond = 0
        pipeline.loadResponse(request, on: .queue(queue)) { _, progress in
            heard.withLock { $0.append("\(progress.receivedBytes)") }
        } completion: { _, result in
            heard.withLock { $0.append((try? result.get()) == nil ? "failed" : "end") }
            end.finish()
        }
        try await eventually("an operation") { queue.operationCount > 0 }
        queue.cancelAllOperations()
        transport.release("half")
        try await transport.wait(for: .ended("http://a.example/1", nil), within: .seconds(50))
        queue.isSuspended = false
        for await _ in ended {}
        #expect(heard.withLock { $0.last } == "end")
        #expect(heard.withLock { $0.count { $0 == "end" } } == 1)
    }

    @Test("A suspended OperationQueue delays only its own callbacks")
    func suspended() async throws {
        transport.serveOthers(.ok(Bytes("x")))
        let still = serialQueue()
        still.isSuspended = true
        let heard = Guarded(0)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        load("http://a.example/still", on: still) { _ in
            heard.withLock { $0 += 1 }
            end.finish()
        }
        for index in 0..<200 { #expect(try await body("http://a.example/\(index)") == Bytes("x")) }
        #expect(heard.withLock { $0 } == 0)
        still.isSuspended = false
        for await _ in ended {}
        #expect(heard.withLock { $0 } == 1)
    }
}
