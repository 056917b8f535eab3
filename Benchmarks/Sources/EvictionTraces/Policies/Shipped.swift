import InflightCore

/// Inflight's own `MemoryCache`.
struct Shipped: CachePolicy {
    private let cache: MemoryCache<Int, Void>

    init(limit: Int, keyCount: Int) {
        cache = MemoryCache(configuration: MemoryCacheConfiguration(limit: limit, reactsToMemoryPressure: false))
    }

    mutating func request(_ key: Int, cost: Int) -> Bool {
        if cache.value(for: key) != nil { return true }
        cache.insert((), for: key, cost: cost)
        return false
    }
}
