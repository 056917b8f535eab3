/// The contents of a ``MemoryCache``, under its lock. The caller releases evicted entries after the lock.
struct MemoryCacheContents<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Slot = EvictionPolicy.Slot

    struct Entry: Sendable {
        var key: Key
        /// The value; nil if only the key is remembered.
        var value: Value?
    }

    /// The removed entries, to be released after the lock.
    struct Released: Sendable {
        var entries: [Entry?] = []
        var index: [Key: Slot] = [:]
    }

    private var policy: EvictionPolicy
    private var index: [Key: Slot] = [:]
    /// The entries, indexed by slot.
    private var entries: [Entry?] = []
    private var counts = MemoryCacheStatistics()

    init(policy: EvictionPolicy) {
        self.policy = policy
    }

    var statistics: MemoryCacheStatistics {
        var result = counts
        result.count = policy.count
        result.cost = policy.cost
        return result
    }

    mutating func value(for key: Key) -> Value? {
        guard let slot = index[key], let value = entries[Int(slot)]?.value else {
            counts.misses += 1
            return nil
        }
        counts.hits += 1
        policy.used(slot)
        return value
    }

    mutating func insert(_ value: Value, for key: Key, cost: Int) -> (isKept: Bool, Released) {
        var released = Released()
        guard cost <= policy.entryLimit else {
            counts.refusals += 1
            if let entry = remove(key) { released.entries.append(entry) }
            return (false, released)
        }
        counts.insertions += 1
        if let slot = index[key] {
            if policy.holdsValue(slot) {
                policy.replaced(slot, cost: cost)
            } else {
                policy.returned(slot, cost: cost)
            }
            if let old = entries[Int(slot)]?.value { released.entries.append(Entry(key: key, value: old)) }
            entries[Int(slot)]?.value = value
        } else {
            let slot = policy.added(cost: cost)
            index[key] = slot
            if Int(slot) == entries.count { entries.append(nil) }
            entries[Int(slot)] = Entry(key: key, value: value)
        }
        evict(downTo: policy.limit, into: &released)
        return (true, released)
    }

    mutating func remove(_ key: Key) -> Entry? {
        guard let slot = index.removeValue(forKey: key) else { return nil }
        policy.removed(slot)
        defer { entries[Int(slot)] = nil }
        return entries[Int(slot)]
    }

    mutating func trim(to cost: Int) -> Released {
        var released = Released()
        evict(downTo: max(0, cost), into: &released)
        return released
    }

    mutating func removeAll() -> Released {
        let released = Released(entries: entries, index: index)
        policy = EvictionPolicy(limit: policy.limit)
        index = [:]
        entries = []
        return released
    }

    private mutating func evict(downTo target: Int, into released: inout Released) {
        while let eviction = policy.nextEviction(downTo: target) {
            switch eviction {
            case .release(let slot):
                counts.evictions += 1
                guard let entry = entries[Int(slot)] else { continue }
                released.entries.append(entry)
                entries[Int(slot)]?.value = nil
            case .forget(let slot):
                guard let entry = entries[Int(slot)] else { continue }
                released.entries.append(entry)
                entries[Int(slot)] = nil
                index[entry.key] = nil
            }
        }
    }
}
