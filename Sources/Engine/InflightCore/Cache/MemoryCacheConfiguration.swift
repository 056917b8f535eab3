/// The configuration of a ``MemoryCache``.
public struct MemoryCacheConfiguration: Sendable, Hashable {
    /// The maximum sum of the costs of all values, in bytes. By default 15 % of the memory that this process may use
    /// (the machine's, or its control group's limit if that is lower), at most 768 MiB.
    public var limit: Int

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
    ///   - reactsToMemoryPressure: whether the cache shrinks when memory is short.
    public init(limit: Int = MemoryCacheConfiguration.defaultLimit, reactsToMemoryPressure: Bool = true) {
        self.limit = limit
        self.reactsToMemoryPressure = reactsToMemoryPressure
    }

    /// The default of ``limit``, in bytes. Determined once, on first use.
    public static let defaultLimit = min(AvailableMemory.bytes / 100 * 15, 768 << 20)
}
