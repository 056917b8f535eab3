/// The contents of a memory cache, and its counters.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of values, and their total cost.
    public var count = 0
    public var cost = 0
    /// The numbers of lookups with and without a hit.
    public var hits = 0
    public var misses = 0
    /// The numbers of values stored, and of values refused because they cost too much.
    public var insertions = 0
    public var refusals = 0
    /// The number of values evicted, by trimming included.
    public var evictions = 0

    public init() {}
}
