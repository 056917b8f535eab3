import InflightConcurrency
import Testing

@Suite("Shared values", .timeLimit(.minutes(10)))
struct SharedValueTests {
    private struct Broken: Error {}

    /// Makes 1, 2, 3, …, each once `mayReturn` is open.
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

    /// Runs jobs at once and counts them.
    private final class CountingExecutor: TaskExecutor {
        let count = Guarded(0)

        func enqueue(_ job: consuming ExecutorJob) {
            count.withLock { $0 += 1 }
            unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    @Test("A shared value is made on the given executor")
    func executor() async throws {
        let executor = CountingExecutor()
        let value = SharedValue(on: executor) { 1 }
        #expect(try await value.value() == 1)
        #expect(executor.count.withLock { $0 } == 1)
    }

    @Test("A shared value is made once for concurrent callers, reused later, and made again after forget()")
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

    @Test("A stale shared value is forgotten once, however many callers report it")
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

    @Test("An error in making a shared value is thrown, and the next caller has it made again")
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

    @Test("A cancelled waiter leaves at once, and the others still receive the shared value")
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

    @Test("Cancelling the last waiter cancels making the shared value, and the next caller starts anew")
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
