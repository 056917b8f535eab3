/// How a ``MemoryCache`` behaves.
public struct MemoryCacheConfiguration: Sendable, Hashable {
    /// The largest sum of the costs of all values, in bytes: 15 % of the memory that this process may use (the
    /// machine's, or its control group's where that is less), and not more than 768 MiB.
    public var limit: Int

    /// Whether the cache shrinks when memory is short: to half of its limit when work has waited for memory for 0.2 s
    /// out of 2 s, to an eighth when all work has waited for 0.1 s.
    ///
    /// The kernel tells (Linux, "pressure stall information": that of the control group where it can be watched,
    /// otherwise of the machine). One thread waits for it, for all caches together. Where the kernel offers nothing of
    /// that kind, or does not let this user watch it, nothing happens and there is no thread.
    public var reactsToMemoryPressure: Bool

    public init(limit: Int = MemoryCacheConfiguration.defaultLimit, reactsToMemoryPressure: Bool = true) {
        self.limit = limit
        self.reactsToMemoryPressure = reactsToMemoryPressure
    }

    /// Found out once, when it is first asked for.
    public static let defaultLimit = min(AvailableMemory.bytes / 100 * 15, 768 << 20)
}
