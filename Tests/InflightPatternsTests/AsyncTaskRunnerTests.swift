import Dispatch
import InflightConcurrency
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Start policies: async form", .timeLimit(.minutes(10)))
struct AsyncTaskRunnerTests {
    private let queue = CallbackQueue.queue(DispatchQueue(label: "callbacks"))

    private struct Failed: Error {}

    @Test("A run returns the output of asynchronous work, and abandoned if the work throws")
    func outcomes() async throws {
        let runner = TaskRunner<Int, Int>(.queue, on: queue) { input async throws -> Int in
            if input < 0 { throw Failed() }
            return input * 2
        }
        #expect(try await runner.run(21) == .finished(42))
        #expect(try await runner.run(-1) == .abandoned)
    }

    @Test("A run is refused or replaced by the policy")
    func policies() async throws {
        let begun = Bridge()
        let release = Bridge()
        let runner = TaskRunner<Int, Int>(.rejectNew, on: queue) { input async throws -> Int in
            begun.open()
            await release.wait()
            return input
        }
        async let first = runner.run(1)
        await begun.wait()
        #expect(try await runner.run(2) == .refused)
        release.open()
        #expect(try await first == .finished(1))
    }

    @Test("Cancelling the waiting task, or the starter, ends the run and cancels its work")
    func cancellation() async throws {
        for cancelsStarter in [false, true] {
            let begun = Bridge()
            let stopped = Bridge()
            let runner = TaskRunner<Int, Int>(.concurrent, on: queue) { _ async throws -> Int in
                begun.open()
                let forever = Bridge()
                await withTaskCancellationHandler {
                    await forever.wait()
                } onCancel: {
                    forever.open()
                }
                stopped.open()
                throw CancellationError()
            }
            let waiting = Task { try await runner.run(1) }
            await begun.wait()
            if cancelsStarter { runner.cancel() } else { waiting.cancel() }
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await stopped.wait()
        }
    }

    @Test("A run in a task that was cancelled before starts nothing")
    func cancelledBefore() async throws {
        let runner = TaskRunner<Int, Int>(.queue, on: queue) { (_, _, _) in Issue.record("it was started") }
        let gate = Bridge()
        let waiting = Task {
            await gate.wait()
            return try await runner.run(1)
        }
        waiting.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
