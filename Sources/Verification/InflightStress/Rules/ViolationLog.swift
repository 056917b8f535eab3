import InflightConcurrency
import Synchronization

/// The violations of the contract that were seen. The first few are recorded, and the first one ends the run.
final class ViolationLog: Sendable {
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

/// The counts of operations and of their results.
struct Tally: Sendable {
    enum Entry: Int, CaseIterable {
        // Operations of callers.
        case callback, awaited, stream, operation, bound, prefetched
        case cancel, cancelOnOwnQueue, priority, lookUp, queueChange, release
        // Results of callers.
        case progress, stale, success, fromMemory, expectedFailure, cancelled, dropped, shutDown
    }

    // Inline, because the thread sanitizer does not see the release of an array's copy on another thread.
    private var counts = InlineArray<20, Int>(repeating: 0)

    subscript(_ entry: Entry) -> Int {
        get { counts[entry.rawValue] }
        set { counts[entry.rawValue] = newValue }
    }

    mutating func add(_ other: Tally) {
        for entry in Entry.allCases { self[entry] += other[entry] }
    }
}
