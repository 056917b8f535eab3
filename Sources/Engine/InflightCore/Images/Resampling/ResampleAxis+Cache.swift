import InflightConcurrency

extension ResampleAxis {
    struct Key: Hashable, Sendable {
        var sourceCount: Int
        var siting: Siting = .direct
        var scaledCount: Int
        var kept: Range<Int>
        var alignment: Int
        var multiple: Int
    }

    /// The axis that `key` describes, from the few that were used last if it is among them.
    ///
    /// Weights take a fifteenth of the time of making a small picture smaller, and the pictures of one page or one job
    /// mostly share their sizes. At most 16 axes are kept, and none of more than 64 KiB.
    static func make(_ key: Key) -> ResampleAxis {
        if let known = cache.withLock({ $0.find(key) }) { return known }
        let axis = ResampleAxis(
            sourceCount: key.sourceCount, siting: key.siting, scaledCount: key.scaledCount, kept: key.kept,
            alignment: key.alignment, multiple: key.multiple)
        guard axis.weights.count <= 32_768 else { return axis }
        // What has to go is released when the lock is not held any more.
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

        /// Replaces the entries in turn.
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
