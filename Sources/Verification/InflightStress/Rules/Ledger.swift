import InflightConcurrency
import Synchronization

/// What was seen to be against the contract. The first few are kept; the first one ends the run.
final class Ledger: Sendable {
    private let found = Guarded([String]())
    private let count = Atomic<Int>(0)

    var isBroken: Bool { count.load(ordering: .relaxed) > 0 }
    var violations: [String] { found.withLock { $0 } }

    func violation(_ rule: Int, _ text: String) {
        count.add(1, ordering: .relaxed)
        found.withLock { found in
            if found.count < 10 { found.append("contract \(rule): \(text)") }
        }
    }
}

/// How often something was done or heard.
struct Tally: Sendable {
    enum Entry: Int, CaseIterable {
        // What callers did.
        case callback, awaited, stream, operation, bound, prefetched
        case cancel, cancelOnOwnQueue, priority, lookUp, queueChange, release
        // What they heard.
        case progress, stale, success, fromMemory, expectedFailure, cancelled, dropped, shutDown
    }

    // Inline: that an array's copy was let go of on another thread, the thread sanitizer does not see.
    private var counts = InlineArray<20, Int>(repeating: 0)

    subscript(_ entry: Entry) -> Int {
        get { counts[entry.rawValue] }
        set { counts[entry.rawValue] = newValue }
    }

    mutating func add(_ other: Tally) {
        for entry in Entry.allCases { self[entry] += other[entry] }
    }
}
