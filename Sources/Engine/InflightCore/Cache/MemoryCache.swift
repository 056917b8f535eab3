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
        let contents = Guarded(MemoryCacheContents<Key, Value>(policy: policy))
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

    /// Stores `value` for `key` instead of any earlier one, and evicts other values if the costs exceed ``limit``.
    /// Constant time, except for evictions and the release of evicted values.
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
