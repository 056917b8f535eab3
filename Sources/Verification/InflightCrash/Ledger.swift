import InflightCore
import InflightDisk
import InflightTestSupport

/// The parent's record of its victims' reports, from which the required contents of the cache follow.
struct Ledger {
    private struct Entry {
        var seed: UInt64
        var number: Int
        var size: Int
    }

    /// Acknowledged entries by ID.
    private var acknowledged: [Int64: Entry] = [:]
    private var evicted: Set<Int64> = []
    private(set) var acknowledgements = 0
    private(set) var evictions = 0
    private(set) var failures: [String] = []

    mutating func note(_ lines: [String], seed: UInt64) {
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            switch (words.first, words.count) {
            case ("A", 4):
                guard let id = Int64(words[1]), let number = Int(words[2]), let size = Int(words[3]) else { break }
                acknowledged[id] = Entry(seed: seed, number: number, size: size)
                acknowledgements += 1
            case ("E", 2):
                if let id = Int64(words[1]) { evicted.insert(id) }
                evictions += 1
            default: failures.append("a victim reported: \(line)")
            }
        }
    }

    /// Compares the cache with everything that was acknowledged and not reported as evicted.
    ///
    /// - Parameter seed: the seed of the victim whose entries are compared; nil for all victims.
    mutating func compare(_ store: DiskStore, seed: UInt64? = nil) async {
        for (id, entry) in acknowledged where seed == nil || entry.seed == seed {
            let url = CrashBody.url(seed: entry.seed, number: entry.number)
            let (found, body) = await store.find(StoreKey(url))
            if found.contains(where: { $0.id.rawValue == id }) {
                let right = CrashBody.bytes(seed: entry.seed, number: entry.number, size: entry.size)
                if body?.bytes != right { failures.append("\(url) has wrong bytes") }
            } else if !evicted.contains(id) {
                failures.append("\(url) was acknowledged as \(id), but is neither stored nor evicted")
            }
        }
        // An evicted entry is gone, or its eviction was not committed and it may still be removed.
        acknowledged = acknowledged.filter { !evicted.contains($0.key) }
    }
}
