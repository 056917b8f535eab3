import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Runs a closure when it is deallocated.
private final class Tracked: Sendable {
    private let ended: @Sendable () -> Void

    init(ended: @escaping @Sendable () -> Void = {}) {
        self.ended = ended
    }

    deinit {
        ended()
    }
}

private func quiet(limit: Int) -> MemoryCacheConfiguration {
    MemoryCacheConfiguration(limit: limit, reactsToMemoryPressure: false)
}

@Suite("Memory cache", .timeLimit(.minutes(10)))
struct MemoryCacheTests {
    @Test("The cache returns the value stored for a key until it is replaced or removed")
    func insertAndFind() {
        let cache = MemoryCache<String, Int>(configuration: quiet(limit: 100_000))
        #expect(cache.insert(1, for: "a", cost: 1000))
        #expect(cache.value(for: "a") == 1)
        #expect(cache.value(for: "b") == nil)
        cache.insert(2, for: "a", cost: 500)
        #expect(cache.value(for: "a") == 2)
        #expect(cache.statistics.cost == 500)
        #expect(cache.remove("a") == 2)
        #expect(cache.remove("a") == nil)
        #expect(cache.value(for: "a") == nil)
    }

    @Test("A value above a tenth of the limit is refused, and the previous value of its key removed")
    func tooLarge() {
        let cache = MemoryCache<String, Int>(configuration: quiet(limit: 100_000))
        #expect(cache.insert(1, for: "a", cost: 10_000))
        #expect(!cache.insert(2, for: "a", cost: 10_001))
        #expect(cache.value(for: "a") == nil)
        #expect(cache.statistics.refusals == 1)
        #expect(cache.statistics.cost == 0)
    }

    @Test("Each entry has a minimum cost, so the number of free values is bounded")
    func freeValues() {
        let cache = MemoryCache<Int, Int>(configuration: quiet(limit: 25_600))
        for key in 0..<1000 { cache.insert(key, for: key, cost: -5) }
        #expect(cache.statistics.count <= 100)
    }

    @Test("A cache whose limit is too small for any entry stores nothing", arguments: [0, -1, 200])
    func noRoom(limit: Int) {
        let cache = MemoryCache<Int, Int>(configuration: quiet(limit: limit))
        #expect(!cache.insert(1, for: 1, cost: 1))
        #expect(cache.value(for: 1) == nil)
    }

    @Test("The number of values stays within its limit", arguments: [0, 1, 3])
    func countLimit(limit: Int) {
        var configuration = quiet(limit: 1_000_000)
        configuration.countLimit = limit
        let cache = MemoryCache<Int, Int>(configuration: configuration)
        for key in 0..<20 {
            cache.insert(key, for: key, cost: 1000 + key)
            #expect(cache.statistics.count == min(key + 1, limit))
        }
        #expect((0..<20).count { cache.value(for: $0) != nil } == limit)
        cache.removeAll()
        for key in 0..<20 { cache.insert(key, for: key, cost: 1000) }
        #expect(cache.statistics.count == limit)
    }

    @Test("Trimming evicts entries down to the given cost")
    func trim() {
        let cache = MemoryCache<Int, Int>(configuration: quiet(limit: 100_000))
        for key in 0..<100 { cache.insert(key, for: key, cost: 1000) }
        cache.trim(to: 30_500)
        #expect(cache.statistics.cost == 30_000)
        #expect(cache.statistics.evictions == 70)
        cache.trim(to: -1)
        #expect(cache.statistics.count == 0)
    }

    @Test("Statistics count insertions, evictions, hits and misses")
    func statistics() {
        let cache = MemoryCache<Int, Int>(configuration: quiet(limit: 10_000))
        for key in 0..<20 { cache.insert(key, for: key, cost: 1000) }
        _ = cache.value(for: 19)
        _ = cache.value(for: 99)
        let statistics = cache.statistics
        #expect(statistics.insertions == 20)
        #expect(statistics.evictions == 10)
        #expect(statistics.count == 10)
        #expect(statistics.cost == 10_000)
        #expect(statistics.hits == 1)
        #expect(statistics.misses == 1)
    }

    @Test("The cache releases every value that it replaces, evicts, refuses or removes")
    func releases() {
        let live = Guarded(0)
        func tracked() -> Tracked {
            live.withLock { $0 += 1 }
            return Tracked { live.withLock { $0 -= 1 } }
        }
        let cache = MemoryCache<Int, Tracked>(configuration: quiet(limit: 100_000))
        for key in 0..<500 { cache.insert(tracked(), for: key % 150, cost: 1000) }
        #expect(live.withLock { $0 } == cache.statistics.count)
        cache.remove(149)
        cache.trim(to: 50_000)
        cache.insert(tracked(), for: 1, cost: 50_000)
        #expect(live.withLock { $0 } == cache.statistics.count)
        cache.removeAll()
        #expect(live.withLock { $0 } == 0)
    }

    @Test("A value may use the cache while it is released, because no lock is held")
    func releaseOutsideTheLock() {
        let cache = MemoryCache<Int, Tracked>(configuration: quiet(limit: 100_000))
        let ended = Guarded(0)
        func insert(_ key: Int, cost: Int = 1000) {
            let value = Tracked { [weak cache] in
                _ = cache?.value(for: -1)
                ended.withLock { $0 += 1 }
            }
            cache.insert(value, for: key, cost: cost)
        }
        for key in 0..<300 { insert(key) }  // evicted
        insert(299)  // replaced
        insert(299, cost: 50_000)  // refused
        cache.remove(298)
        cache.trim(to: 10_000)
        cache.removeAll()
        #expect(ended.withLock { $0 } == 302)
    }

    @Test("Concurrent lookups return whole values, and the cost stays within the limit")
    func concurrent() async {
        let cache = MemoryCache<Int, [Int]>(configuration: quiet(limit: 100_000))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(worker + 1))
                    for turn in 0..<3000 {
                        let key = Int.random(in: 0..<300, using: &random)
                        switch turn % 50 {
                        case 48: cache.remove(key)
                        case 49: cache.trim(to: 60_000)
                        default:
                            if let value = cache.value(for: key) {
                                #expect(value == [key, key])
                            } else {
                                cache.insert([key, key], for: key, cost: 256 + key * 10)
                            }
                        }
                        #expect(cache.statistics.cost <= 100_000)
                    }
                    if worker == 0 { cache.removeAll() }
                }
            }
        }
        var live = 0
        for key in 0..<300 where cache.value(for: key) != nil { live += 1 }
        #expect(cache.statistics.count == live)
    }
}
