internal import InflightConcurrency

/// A memory cache with a cost limit, which evicts the least valuable values.
///
/// Intended for decoded images, whose cost is ``PixelBuffer/byteCount``. Eviction considers how recently and how often
/// a value was used, so that one long scroll does not evict images that are used every day.
///
/// - Any method may be called from any thread, and none waits for I/O. A lookup takes about 100 ns.
/// - Keys are compared and hashed under the cache's lock: their `==` and `hash(into:)` must not call back into it.
/// - Evicted values and keys are released after the lock, on the thread whose call evicted them (the memory monitor's
///   thread, if memory is short).
/// - When the system or the control group is short of memory, the cache shrinks by itself; see
///   ``MemoryCacheConfiguration/reactsToMemoryPressure``.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The maximum sum of the costs of all values, in bytes.
    public let limit: Int
    /// The maximum cost of a single value in bytes, a tenth of ``limit``. Values above it are not stored.
    public let entryLimit: Int

    private let contents: Guarded<MemoryCacheContents<Key, Value>>
    // Retained for its deinit, which ends the subscription.
    private let pressure: MemoryPressureMonitor.Subscription?

    /// Creates an empty cache.
    ///
    /// - Parameter configuration: the limit, and whether the cache shrinks when memory is short. A negative limit
    ///   counts as 0, with which nothing is stored.
    public convenience init(configuration: MemoryCacheConfiguration = MemoryCacheConfiguration()) {
        self.init(configuration: configuration, monitor: .shared)
    }

    init(configuration: MemoryCacheConfiguration, monitor: MemoryPressureMonitor) {
        let policy = EvictionPolicy(limit: max(0, configuration.limit))
        limit = policy.limit
        entryLimit = policy.entryLimit
        let contents = Guarded(
            MemoryCacheContents<Key, Value>(policy: policy, countLimit: configuration.countLimit ?? .max))
        self.contents = contents
        guard configuration.reactsToMemoryPressure else {
            pressure = nil
            return
        }
        let limit = policy.limit
        pressure = monitor.subscribe { level in
            let released = contents.withLock { $0.trim(to: limit / level.divisor) }
            withExtendedLifetime(released) {}
        }
    }

    /// Returns the value for `key`, if any. A hit counts as a use. Constant time.
    public func value(for key: Key) -> Value? {
        contents.withLock { $0.value(for: key) }
    }

    /// Stores `value` for `key` instead of any earlier one, and evicts other values if the costs exceed ``limit``, or
    /// their number ``MemoryCacheConfiguration/countLimit``. Constant time, except for evictions and the release of
    /// evicted values.
    ///
    /// - Parameters:
    ///   - value: the value, which may be evicted at once.
    ///   - key: the key under which later lookups find the value.
    ///   - cost: the memory that the value takes, in bytes. It must not change while the value is stored. At least 256
    ///     are counted, for the entry itself.
    /// - Returns: `false` if the cost is above ``entryLimit``: then nothing is stored for `key`.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        let (isKept, released) = contents.withLock { $0.insert(value, for: key, cost: max(256, cost)) }
        withExtendedLifetime(released) {}
        return isKept
    }

    /// Removes the value for `key`, and forgets how often it was used. Constant time.
    ///
    /// - Returns: the removed value; nil if there was none.
    @discardableResult
    public func remove(_ key: Key) -> Value? {
        let entry = contents.withLock { $0.remove(key) }
        return entry?.value
    }

    /// Evicts the least valuable values until the rest cost at most `cost` bytes.
    public func trim(to cost: Int) {
        let released = contents.withLock { $0.trim(to: cost) }
        withExtendedLifetime(released) {}
    }

    /// Removes everything, and forgets how often it was used. The counters of ``statistics`` are kept.
    public func removeAll() {
        let released = contents.withLock { $0.removeAll() }
        withExtendedLifetime(released) {}
    }

    /// The current contents and the counters so far, all of one moment.
    public var statistics: MemoryCacheStatistics {
        contents.withLock { $0.statistics }
    }
}

/// The configuration of a ``MemoryCache``.
public struct MemoryCacheConfiguration: Sendable, Hashable {
    /// The maximum sum of the costs of all values, in bytes. By default 15 % of the memory that this process may use
    /// (the machine's, or its control group's limit if that is lower), at most 768 MiB.
    public var limit: Int

    /// The maximum number of values. If nil, only their costs count. With 0, nothing is stored.
    public var countLimit: Int?

    /// Whether the cache shrinks when memory is short: to half of its limit when some work has waited for memory for
    /// 0.2 s out of 2 s, to an eighth when all work has waited for 0.1 s.
    ///
    /// The kernel reports this (Linux "pressure stall information": of the control group if that can be watched,
    /// otherwise of the machine). One thread waits for it, for all caches together. If the kernel does not offer this,
    /// or not to this user, nothing happens and there is no thread.
    public var reactsToMemoryPressure: Bool

    /// Creates a configuration, by default with ``defaultLimit`` and a reaction to memory pressure.
    ///
    /// - Parameters:
    ///   - limit: the maximum sum of the costs of all values, in bytes. With 0, nothing is stored.
    ///   - countLimit: the maximum number of values; nil for no such limit.
    ///   - reactsToMemoryPressure: whether the cache shrinks when memory is short.
    public init(
        limit: Int = MemoryCacheConfiguration.defaultLimit, countLimit: Int? = nil, reactsToMemoryPressure: Bool = true
    ) {
        self.limit = limit
        self.countLimit = countLimit
        self.reactsToMemoryPressure = reactsToMemoryPressure
    }

    /// The default of ``limit``, in bytes. Determined once, on first use.
    public static let defaultLimit = min(AvailableMemory.bytes / 100 * 15, 768 << 20)
}

/// The current contents of a memory cache, and its counters since it was created.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of values in the cache now.
    public var count = 0
    /// The total cost of the values in the cache now, in bytes.
    public var cost = 0
    /// The number of lookups that found a value.
    public var hits = 0
    /// The number of lookups that found no value.
    public var misses = 0
    /// The number of values stored, including those that replaced an earlier value.
    public var insertions = 0
    /// The number of values that were not stored because they cost too much.
    public var refusals = 0
    /// The number of values evicted, by trimming included.
    public var evictions = 0

    /// Creates the statistics of an empty, unused cache.
    public init() {}
}

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
    private let countLimit: Int
    private var index: [Key: Slot] = [:]
    /// The entries, indexed by slot.
    private var entries: [Entry?] = []
    private var counts = MemoryCacheStatistics()

    init(policy: EvictionPolicy, countLimit: Int = .max) {
        self.policy = policy
        self.countLimit = max(0, countLimit)
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
        // Every value has a cost, so that one less evicts one at least.
        while policy.count > countLimit { evict(downTo: policy.cost - 1, into: &released) }
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
