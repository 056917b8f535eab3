/// What a ``MemoryCache`` holds and what happened to it.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// How many values there are, and what they cost together.
    public internal(set) var count = 0
    public internal(set) var cost = 0
    /// Look-ups that found a value, and those that did not.
    public internal(set) var hits = 0
    public internal(set) var misses = 0
    /// Values taken in, and those that were refused because they cost too much.
    public internal(set) var insertions = 0
    public internal(set) var refusals = 0
    /// Values that had to go to make room, trimming included.
    public internal(set) var evictions = 0
}
