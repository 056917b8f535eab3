import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Manual callback queue", .timeLimit(.minutes(10)))
struct ManualQueueTests {
    let queue = ManualQueue()
    let ran = Guarded<[Int]>([])

    private func submit(_ numbers: Int...) {
        for number in numbers { queue.submit { [ran] in ran.withLock { $0.append(number) } } }
    }

    @Test("Work runs in order and only on demand") func order() {
        submit(1, 2, 3)
        #expect(ran.withLock { $0 }.isEmpty)
        #expect(queue.count == 3)
        #expect(queue.runNext())
        #expect(ran.withLock { $0 } == [1])
        #expect(queue.runAll() == 2)
        #expect(ran.withLock { $0 } == [1, 2, 3])
        #expect(!queue.runNext())
        #expect(queue.submittedCount == 3)
    }

    @Test("Work submitted by running work runs in the same pass, and sees its queue as current") func nestedWork() {
        queue.submit { [queue, ran] in
            ran.withLock { $0.append(queue.isCurrent ? 1 : 0) }
            queue.submit { ran.withLock { $0.append(2) } }
        }
        #expect(!queue.isCurrent)
        #expect(queue.runAll() == 2)
        #expect(ran.withLock { $0 } == [1, 2])
        #expect(!queue.isCurrent)
    }

    @Test("Dropped work is released and never runs") func droppedWork() {
        final class Witness: Sendable {}
        var witness: Witness? = Witness()
        weak let seen = witness
        queue.submit { [witness] in _ = witness }
        witness = nil
        queue.dropAll()
        #expect(seen == nil)
        #expect(queue.runAll() == 0)
    }

    @Test("A thousand pieces of work, submitted and run in turns, stay in order") func manyPieces() {
        for number in 0..<500 {
            submit(number * 2, number * 2 + 1)
            queue.runNext()
        }
        queue.runAll()
        #expect(ran.withLock { $0 } == Array(0..<1000))
    }

    @Test("Waiting for work returns when another thread has submitted some, and can time out")
    func waiting() async throws {
        DispatchQueue.global().async { submit(1) }
        try await queue.waitForWork()
        #expect(queue.runAll() == 1)
        await #expect(throws: WaitFailure.self) { try await queue.waitForWork(within: .milliseconds(1)) }
    }
}
