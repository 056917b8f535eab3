import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Bridges: callbacks to async", .timeLimit(.minutes(10)))
struct CallbackBridgeTests {
    private let log = Log()

    @Test("Awaiting a callback returns its first value, even if it is called during the start")
    func value() async throws {
        let later = try await Bridge.callback { (answer: CallbackAnswer<Int>) in
            DispatchQueue.global().async {
                answer(1)
                answer(2)
            }
            return nil
        }
        let atOnce = try await Bridge.callback { (answer: CallbackAnswer<Int>) in
            answer(3)
            return nil
        }
        #expect((later, atOnce) == (1, 3))
    }

    @Test("Cancelling the awaiting task cancels the work and ends the wait")
    func cancelled() async {
        let token = CancellationToken()
        let log = log
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let kept = Guarded<CallbackAnswer<Int>?>(nil)
        token.onCancel {
            log.note("work cancelled")
            // Work that releases its callback when it is cancelled has not dropped it.
            _ = kept.withLock { $0.take() }
        }
        let task = Task {
            try await Bridge.callback { (answer: CallbackAnswer<Int>) in
                kept.withLock { $0 = answer }
                begin.finish()
                return token
            }
        }
        for await _ in begun {}
        task.cancel()
        await #expect(throws: CallbackFailure.cancelled) { try await task.value }
        #expect(log.all == ["work cancelled"])
    }

    @Test("Awaiting a callback retains the started work until the wait ends")
    func keptAlive() async throws {
        final class Work: Cancelling {
            func cancel() {}
        }
        let seen = Guarded<@Sendable () -> Bool>({ false })
        let wasAlive = try await Bridge.callback { (answer: CallbackAnswer<Bool>) in
            let work = Work()
            seen.withLock { seen in seen = { [weak work] in work != nil } }
            DispatchQueue(label: "later").async { answer(seen.withLock { $0 }()) }
            return work
        }
        #expect(wasAlive)
        #expect(!seen.withLock { $0 }())
    }

    @Test("A task that is already cancelled does not start the work")
    func cancelledBefore() async {
        let log = log
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await Bridge.callback { (_: CallbackAnswer<Int>) in
                log.note("started")
                return nil
            }
        }
        await #expect(throws: CallbackFailure.cancelled) { try await task.value }
        #expect(log.all.isEmpty)
    }

    @Test("Releasing a callback without calling it ends the wait with an error")
    func dropped() async {
        await #expect(throws: CallbackFailure.dropped) {
            try await Bridge.callback { (answer: CallbackAnswer<Int>) in
                let callback: @Sendable (Int) -> Void = { answer($0) }
                DispatchQueue.global().async { withExtendedLifetime(callback) {} }
                return nil
            }
        }
    }
}
