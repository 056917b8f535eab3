internal import InflightConcurrency

/// Keeps values in memory up to a limit of their cost, and lets go of those that are least worth keeping.
///
/// Made for decoded pictures, whose cost is ``PixelBuffer/byteCount``. What is kept when room is short is decided by
/// how recently and how often a value was asked for, so that one long scroll does not push out what is looked at every
/// day.
///
/// - Any method may be called from any thread, and none waits for I/O. A lookup takes about 100 ns.
/// - Keys are compared and hashed under the cache's lock: their `==` and `hash(into:)` must not call back into it.
/// - Values and keys that have to go are released after the lock is, on the thread whose call made them go (that of the
///   memory monitor, for those that go because memory is short).
/// - When the system or the control group is short of memory the cache shrinks by itself; see
///   ``MemoryCacheConfiguration/reactsToMemoryPressure``.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The largest sum of the costs of all values.
    public let limit: Int
    /// The largest cost of a single value, a tenth of ``limit``: what is above it is not kept.
    public let entryLimit: Int

    private let contents: Guarded<MemoryCacheContents<Key, Value>>
    // Kept for its deinit, which ends the subscription.
    private let pressure: MemoryPressureMonitor.Subscription?

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

    /// The value for `key`, if it is there, which counts as a use. Constant time.
    public func value(for key: Key) -> Value? {
        contents.withLock { $0.value(for: key) }
    }

    /// Puts `value` in the place of whatever `key` had. Constant time, but for the release of what has to go.
    ///
    /// - Parameter cost: the memory that the value takes, in bytes. It must not change while the value is here. At
    ///   least 256 are counted, for the entry itself.
    /// - Returns: `false` where the cost is above ``entryLimit``: then nothing is kept for `key`.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
        let (isKept, released) = contents.withLock { $0.insert(value, for: key, cost: max(256, cost)) }
        withExtendedLifetime(released) {}
        return isKept
    }

    /// Takes the value for `key` out, and forgets how often it was used.
    @discardableResult
    public func remove(_ key: Key) -> Value? {
        let entry = contents.withLock { $0.remove(key) }
        return entry?.value
    }

    /// Lets go of values until their cost is not above `cost`, those least worth keeping first.
    public func trim(to cost: Int) {
        let released = contents.withLock { $0.trim(to: cost) }
        withExtendedLifetime(released) {}
    }

    /// Lets go of everything, and forgets how often it was used. Counts in ``statistics`` stay.
    public func removeAll() {
        let released = contents.withLock { $0.removeAll() }
        withExtendedLifetime(released) {}
    }

    /// What is here and what happened so far, all of one moment.
    public var statistics: MemoryCacheStatistics {
        contents.withLock { $0.statistics }
    }
}
