import InflightConcurrency
import Testing

@Suite("A shared value", .timeLimit(.minutes(10)))
struct SharedValueTests {
    private struct Broken: Error {}

    /// Makes 1, 2, 3, …; each when it may.
    private final class Maker: Sendable {
        private let made = Guarded(0)
        let entered = Bridge()
        let mayReturn = Bridge()

        var count: Int { made.withLock { $0 } }

        func make() async -> Int {
            let number = made.withLock { made in
                made += 1
                return made
            }
            entered.open()
            await mayReturn.wait()
            return number
        }
    }

    /// Runs what it is given, and counts it.
    private final class CountingExecutor: TaskExecutor {
        let count = Guarded(0)

        func enqueue(_ job: consuming ExecutorJob) {
            count.withLock { $0 += 1 }
            unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    @Test("is made on the executor that is named")
    func executor() async throws {
        let executor = CountingExecutor()
        let value = SharedValue(on: executor) { 1 }
        #expect(try await value.value() == 1)
        #expect(executor.count.withLock { $0 } == 1)
    }

    @Test("is made once for all who ask, at once for who asks later, and again after it was forgotten")
    func once() async throws {
        let made = Guarded(0)
        let value = SharedValue {
            made.withLock { made in
                made += 1
                return made
            }
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await value.value() } }
            for try await number in group { #expect(number == 1) }
        }
        #expect(try await value.value() == 1)
        value.forget()
        value.forget()
        #expect(try await value.value() == 2)
    }

    @Test("is forgotten once, however many found the same value to be no good")
    func stale() async throws {
        let made = Guarded(0)
        let value = SharedValue {
            made.withLock { made in
                made += 1
                return made
            }
        }
        let first = try await value.value()
        value.forget(first)
        #expect(try await value.value() == 2)
        value.forget(first)
        #expect(try await value.value() == 2)
    }

    @Test("tells who waits why it could not be made, and has it made again for the next")
    func failing() async throws {
        let calls = Guarded(0)
        let value = SharedValue {
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 1 { throw Broken() }
            return call
        }
        await #expect(throws: Broken.self) { try await value.value() }
        #expect(try await value.value() == 2)
    }

    @Test("who is cancelled stops waiting at once, and the others get the value all the same")
    func oneLeaves() async throws {
        let maker = Maker()
        let value = SharedValue { await maker.make() }
        let stays = Task { try await value.value() }
        await maker.entered.wait()
        let leaves = Task { try await value.value() }
        leaves.cancel()
        await #expect(throws: CancellationError.self) { try await leaves.value }
        maker.mayReturn.open()
        #expect(try await stays.value == 1)
        #expect(maker.count == 1)
    }

    @Test("the last one to leave cancels the making, and whoever comes then has it made anew")
    func lastLeaves() async throws {
        let cancelled = Bridge()
        let calls = Guarded(0)
        let entered = Bridge()
        let value = SharedValue {
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call > 1 { return call }
            entered.open()
            let silence = Bridge()
            await withTaskCancellationHandler {
                await silence.wait()
            } onCancel: {
                cancelled.open()
                silence.open()
            }
            return call
        }
        let leaves = Task { try await value.value() }
        await entered.wait()
        leaves.cancel()
        await #expect(throws: CancellationError.self) { try await leaves.value }
        await cancelled.wait()
        #expect(try await value.value() == 2)
    }
}
