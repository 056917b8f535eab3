import InflightConcurrency

extension ResampleAxis {
    struct Key: Hashable, Sendable {
        var sourceCount: Int
        var siting: Siting = .direct
        var scaledCount: Int
        var kept: Range<Int>
        var pixelsPerSample: Int
        var alignment: Int
        var multiple: Int
    }

    /// Returns the axis for `key`, from the cache of recently created ones if possible.
    ///
    /// Computing weights takes a fifteenth of the time of downscaling a small image, and the images of one page or
    /// batch mostly share their sizes. The cache has at most 16 axes, none larger than 64 KiB.
    static func make(_ key: Key) -> ResampleAxis {
        if let known = cache.withLock({ $0.find(key) }) { return known }
        let axis = ResampleAxis(
            sourceCount: key.sourceCount, siting: key.siting, scaledCount: key.scaledCount, kept: key.kept,
            pixelsPerSample: key.pixelsPerSample, alignment: key.alignment, multiple: key.multiple)
        guard unsafe axis.weights.count <= 32_768 else { return axis }
        // Release the evicted axis after unlocking.
        let evicted = cache.withLock { $0.insert(axis, for: key) }
        return withExtendedLifetime(evicted) { axis }
    }

    private static let cache = Guarded(Cache())

    private struct Cache {
        private var entries: [(key: Key, axis: ResampleAxis)] = []
        private var oldest = 0

        func find(_ key: Key) -> ResampleAxis? {
            entries.first { $0.key == key }?.axis
        }

        /// Inserts an axis; when full, evicts the oldest.
        mutating func insert(_ axis: ResampleAxis, for key: Key) -> ResampleAxis? {
            guard entries.count >= 16 else {
                entries.append((key, axis))
                return nil
            }
            let evicted = entries[oldest].axis
            entries[oldest] = (key, axis)
            oldest = (oldest + 1) % entries.count
            return evicted
        }
    }
}
