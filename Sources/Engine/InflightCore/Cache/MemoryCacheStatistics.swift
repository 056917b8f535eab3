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
