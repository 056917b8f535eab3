// A cancellable computation in slices on a separate thread, with progress. After a cancel no callback follows.

import Dispatch
import InflightPatterns

struct Sieve {
    let limit: Int
    var candidate = 2
    var primes: [Int] = []

    /// Tests the next thousand numbers.
    mutating func step() {
        let end = min(candidate + 1000, limit)
        while candidate < end {
            if !primes.prefix(while: { $0 * $0 <= candidate }).contains(where: { candidate % $0 == 0 }) {
                primes.append(candidate)
            }
            candidate += 1
        }
    }
}

func findPrimes(below limit: Int, on queue: CallbackQueue) -> BackgroundWork<Double, Int> {
    BackgroundWork(name: "primes", on: queue) {
        Sieve(limit: limit)
    } slice: { sieve in
        sieve.step()
        return sieve.candidate == limit ? .done(sieve.primes.count) : .more(Double(sieve.candidate) / Double(limit))
    }
}

let queue = DispatchQueue(label: "example.callbacks")
let ended = DispatchSemaphore(value: 0)

let small = findPrimes(below: 10_000, on: .queue(queue))
small.setEndHandler { result in
    print("primes below 10,000:", (try? result.get()) ?? 0)
    ended.signal()
}
small.start()
ended.wait()

let large = findPrimes(below: .max, on: .queue(queue))
large.setProgressHandler { [weak large] _ in
    // This runs on the callback queue, so no callback follows.
    large?.cancel()
    ended.signal()
}
large.setEndHandler { _ in print("never called") }
large.start()
ended.wait()
print("stopped:", large.isCancelled)

// Prints:
// primes below 10,000: 1229
// stopped: true
