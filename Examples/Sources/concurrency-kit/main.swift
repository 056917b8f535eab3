// An asynchronous class built from the concurrency kit: at most two jobs at once, a handle that cancels, no callback
// after a cancel, a callback form and an `async` form.

import Dispatch
import InflightPatterns

final class PrimeCounter: Sendable {
    private let lane = WorkLane<String>(.init(limit: 2))
    private let callbacks = DispatchQueue(label: "primes.callbacks")

    /// Counts the primes below `limit`. Calls `completion` on `queue`, never inside this call.
    func count(
        below limit: Int, on queue: CallbackQueue, completion: @escaping @Sendable (Int) -> Void
    ) -> CancellationToken {
        let token = CancellationToken()
        let gate = Gate<Never, Int>(on: queue)
        gate.setEndHandler(completion)
        let entry = lane.add(level: 0, group: "primes") { slot in
            DispatchQueue.global().async {
                defer { slot.release() }
                var primes: [Int] = []
                for candidate in 2..<limit {
                    if token.isCancelled { return }
                    let isPrime = !primes.prefix { $0 * $0 <= candidate }.contains { candidate % $0 == 0 }
                    if isPrime { primes.append(candidate) }
                }
                gate.end(with: primes.count)
            }
        }
        // Leaves the queue if the job has not started, and closes the gate in any case.
        token.onCancel {
            entry.cancel()
            gate.cancel()
        }
        return token
    }

    /// Counts the primes below `limit`. Cancelling the task cancels the job.
    func count(below limit: Int) async throws(CallbackFailure) -> Int {
        try await Bridge.callback { answer in
            count(below: limit, on: .queue(callbacks)) { answer($0) }
        }
    }
}

let counter = PrimeCounter()
print("below 100:", try await counter.count(below: 100))

let queue = DispatchQueue(label: "example.callbacks")
let unwanted = counter.count(below: .max, on: .queue(queue)) { _ in print("never printed") }
let done = Bridge()
let wanted = counter.count(below: 1000, on: .queue(queue)) { count in
    print("below 1000:", count)
    done.open()
}
unwanted.cancel()
await done.wait()

let task = Task { try await counter.count(below: .max) }
task.cancel()
do { _ = try await task.value } catch { print("the task:", error) }

// Prints:
// below 100: 25
// below 1000: 168
// the task: cancelled
