/// What a cache in memory holds and what happened to it.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// How many values there are, and what they cost together.
    public var count = 0
    public var cost = 0
    /// Look-ups that found a value, and those that did not.
    public var hits = 0
    public var misses = 0
    /// Values taken in, and those that were refused because they cost too much.
    public var insertions = 0
    public var refusals = 0
    /// Values that had to go to make room, trimming included.
    public var evictions = 0

    public init() {}
}
