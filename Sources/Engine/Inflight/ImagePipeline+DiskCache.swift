public import InflightCore
public import InflightDisk

extension ImagePipeline.DiskCache {
    /// The disk store that the pipeline uses, for its statistics, a list of its entries, a check of all of them, and
    /// for clearing it: see ``DiskStore``. Nil if the pipeline has none, or a store of another kind.
    ///
    /// ```swift
    /// print(try await pipeline.diskCache.store?.statistics().bytes ?? 0)
    /// try await pipeline.diskCache.store?.clear(.stale)
    /// ```
    public var store: DiskStore? { base as? DiskStore }
}
