// One dictionary for many threads, behind a lock or a queue with concurrent readers. The same code uses either.

import Dispatch
import InflightPatterns

func count(_ words: [String], in counts: some Guarding<[String: Int]>) -> [String] {
    DispatchQueue.concurrentPerform(iterations: words.count) { index in
        // The lookup and the change are one access, so no other thread can come between them.
        counts.write { $0[words[index], default: 0] += 1 }
    }
    return counts.read { counts in counts.keys.sorted().map { "\($0) \(counts[$0] ?? 0)" } }
}

let words = ["one", "two", "three", "two", "three", "three"]
print("by a lock:", count(words, in: Guarded([:])))
print("by a queue:", count(words, in: QueueGuarded([:])))

// Prints:
// by a lock: ["one 1", "three 3", "two 2"]
// by a queue: ["one 1", "three 3", "two 2"]
