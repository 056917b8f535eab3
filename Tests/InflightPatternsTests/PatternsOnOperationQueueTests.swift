import Foundation
import InflightFoundation
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Concurrency patterns on an OperationQueue with cancelled operations", .timeLimit(.minutes(10)))
struct PatternsOnOperationQueueTests {
    private func makeQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        return queue
    }

    /// Waits until an operation is pending on the suspended queue.
    private func waitForWork(on queue: OperationQueue) async throws {
        try await eventually("an operation") { queue.operationCount > 0 }
    }

    /// Waits until no operation runs or is pending.
    private func waitUntilIdle(_ queue: OperationQueue) async {
        await Bridge.wait { done in
            DispatchQueue.global().async {
                queue.waitUntilAllOperationsAreFinished()
                done.open()
            }
        }
    }

    /// Cancels the pending operations, and lets the queue process their cancellation.
    private func cancelAll(on queue: OperationQueue) async {
        queue.cancelAllOperations()
        queue.isSuspended = false
        await Bridge.wait { done in queue.addBarrierBlock { done.open() } }
        queue.isSuspended = true
    }

    @Test("A callback chain continues without cancelled answers, and ends once", arguments: [[0, 1, 2], [1], [2]])
    func chain(cancelled: [Int]) async throws {
        let queue = makeQueue()
        let (acted, act) = AsyncStream.makeStream(of: String.self)
        let mayGoOn = DispatchSemaphore(value: 0)
        let endings = Guarded(0)
        let (ended, end) = AsyncStream.makeStream(of: ChainSummary.self)
        let chain = CallbackChain(0..<3, name: "chain", on: .queue(queue)) { _ in
            true
        } acting: { entry, answer in
            act.yield("\(entry) \(answer.map { "\($0)" } ?? "none")")
            // The next question comes when the queue is suspended again.
            mayGoOn.wait()
            return .proceed
        }
        chain.setEndHandler { summary in
            endings.withLock { $0 += 1 }
            end.yield(summary)
            end.finish()
        }
        chain.start()
        var seen = acted.makeAsyncIterator()
        for entry in 0..<3 {
            try await waitForWork(on: queue)
            if cancelled.contains(entry) { await cancelAll(on: queue) } else { queue.isSuspended = false }
            #expect(await seen.next() == "\(entry) \(cancelled.contains(entry) ? "none" : "true")")
            queue.isSuspended = true
            await waitUntilIdle(queue)
            mayGoOn.signal()
        }
        queue.isSuspended = false
        for await summary in ended {
            #expect(summary == ChainSummary(answered: 3 - cancelled.count, unanswered: cancelled.count))
        }
        #expect(endings.withLock { $0 } == 1)
    }

    @Test("A gate loses cancelled deliveries, and delivers later ones")
    func gate() async {
        let queue = makeQueue()
        let gate = Gate<Int, String>(on: .queue(queue))
        let heard = Guarded([String]())
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        gate.setEventHandler { number in heard.withLock { $0.append("\(number)") } }
        gate.setEndHandler { text in
            heard.withLock { $0.append(text) }
            end.finish()
        }
        gate.send(1)
        await cancelAll(on: queue)
        gate.send(2)
        gate.end(with: "end")
        queue.isSuspended = false
        for await _ in ended {}
        #expect(heard.withLock { $0 } == ["2", "end"])
        await waitUntilIdle(queue)
        #expect(gate.phase == .ended)
    }

    @Test("A gate whose outcome was dropped has ended, and releases its handlers")
    func droppedEnding() async throws {
        let queue = makeQueue()
        let gate = Gate<Int, String>(on: .queue(queue))
        weak var seen: Operation?
        do {
            let captured = Operation()
            seen = captured
            gate.setEndHandler { _ in captured.cancel() }
        }
        gate.end(with: "end")
        await cancelAll(on: queue)
        try await eventually("the gate to end") { gate.phase == .ended }
        #expect(seen == nil)
        #expect(!gate.cancel())
    }
}
