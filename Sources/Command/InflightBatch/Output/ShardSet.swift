/// A set of shard numbers as ranges. It grows with the number of gaps, not with the number of shards.
package struct ShardSet: Equatable, Sendable {
    /// The shards in ascending order, with a gap between any two ranges.
    package private(set) var ranges: [Range<Int>] = []

    /// Creates a set of the shards in `ranges`, which may overlap and be in any order. Negative shards are dropped.
    package init(_ ranges: [Range<Int>] = []) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let range = range.clamped(to: 0..<Int.max)
            guard !range.isEmpty else { continue }
            if let last = self.ranges.last, range.lowerBound <= last.upperBound {
                self.ranges[self.ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                self.ranges.append(range)
            }
        }
    }

    /// The lowest shard that is not in the set.
    package var firstMissing: Int {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// The number behind the highest shard, or 0.
    package var end: Int { ranges.last?.upperBound ?? 0 }

    /// The number of shards.
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    /// Returns the set without some shards.
    func subtracting(_ others: Set<Int>) -> ShardSet {
        var rest: [Range<Int>] = []
        for range in ranges {
            var start = range.lowerBound
            for other in others.filter(range.contains).sorted() {
                rest.append(start..<other)
                start = other + 1
            }
            rest.append(start..<range.upperBound)
        }
        return ShardSet(rest)
    }

    /// Returns the shards whose archive or sidecar is not among the names of a folder's files.
    func absent(_ names: [String], _ layout: ShardLayout) -> ShardSet {
        let names = Set(names)
        var absent = ShardSet()
        for shard in ranges.joined()
        where !names.contains(layout.archiveName(shard)) || !names.contains(layout.sidecarName(shard)) {
            absent.insert(shard)
        }
        return absent
    }

    /// Returns whether the set contains a shard. Takes logarithmic time in the number of ranges.
    package func contains(_ shard: Int) -> Bool {
        let index = indexAfter(shard)
        return index > 0 && ranges[index - 1].contains(shard)
    }

    /// Adds a shard.
    package mutating func insert(_ shard: Int) {
        guard shard >= 0, shard < Int.max, !contains(shard) else { return }
        let index = indexAfter(shard)
        let joinsPrevious = index > 0 && ranges[index - 1].upperBound == shard
        let joinsNext = index < ranges.count && ranges[index].lowerBound == shard + 1
        switch (joinsPrevious, joinsNext) {
        case (true, true):
            ranges[index - 1] = ranges[index - 1].lowerBound..<ranges[index].upperBound
            ranges.remove(at: index)
        case (true, false): ranges[index - 1] = ranges[index - 1].lowerBound..<(shard + 1)
        case (false, true): ranges[index] = shard..<ranges[index].upperBound
        case (false, false): ranges.insert(shard..<(shard + 1), at: index)
        }
    }

    /// The index of the first range that begins behind `shard`.
    private func indexAfter(_ shard: Int) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound <= shard { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
