extension ImagePipeline {
    /// A histogram of integers with fixed buckets: each power of two is divided into 32 of the same width.
    ///
    /// A reported value is never too small, and too large by less than 1 in 32 (3.2 %). Values below 32 are exact. The
    /// whole range of `Int64` has buckets. Memory is allocated up to the greatest value's bucket, 15 kB at most.
    ///
    /// A value type: a copy is safe to hand on. Recording takes a few nanoseconds.
    public struct Histogram: Sendable, Hashable {
        private static let bits = 5
        private static let width = 1 << bits

        private var counts: [UInt64] = []
        /// The number of recorded values.
        public private(set) var count = 0
        /// The sum of the recorded values, exactly; the greatest `Int64` if it is larger.
        public private(set) var sum: Int64 = 0
        /// The greatest recorded value, exactly; 0 if there are none.
        public private(set) var maximum: Int64 = 0

        /// Creates an empty histogram, which allocates nothing.
        public init() {}

        /// Records a value. Values below 0 count as 0.
        public mutating func record(_ value: Int64) {
            let value = max(0, value)
            let index = Self.index(of: value)
            if index >= counts.count { counts += Array(repeating: 0, count: index + 1 - counts.count) }
            counts[index] += 1
            count += 1
            sum = Self.sum(sum, value)
            maximum = max(maximum, value)
        }

        /// Adds the counts of another histogram.
        public mutating func merge(_ other: Histogram) {
            if other.counts.count > counts.count {
                counts += Array(repeating: 0, count: other.counts.count - counts.count)
            }
            for (index, count) in other.counts.enumerated() { counts[index] += count }
            count += other.count
            sum = Self.sum(sum, other.sum)
            maximum = max(maximum, other.maximum)
        }

        /// Returns the value that this share of all values does not exceed; 0 if there are none.
        ///
        /// Takes one step for each bucket up to the result, fewer than 2,000.
        ///
        /// - Parameter share: from 0 to 1; 0.99 for the 99th percentile. NaN traps.
        public func percentile(_ share: Double) -> Int64 {
            guard count > 0 else { return 0 }
            let rank = max(1, min(count, Int((share * Double(count)).rounded(.up))))
            var seen = 0
            for (index, count) in counts.enumerated() {
                seen += Int(count)
                if seen >= rank { return min(Self.upper(of: index), maximum) }
            }
            return maximum
        }

        /// The median; 0 if there are no values.
        public var p50: Int64 { percentile(0.5) }
        /// The 90th percentile; 0 if there are no values.
        public var p90: Int64 { percentile(0.9) }
        /// The 95th percentile; 0 if there are no values.
        public var p95: Int64 { percentile(0.95) }
        /// The 99th percentile; 0 if there are no values.
        public var p99: Int64 { percentile(0.99) }

        /// The buckets that are not empty, ascending: the greatest value that falls into each, and the number of
        /// values.
        public var buckets: [(upper: Int64, count: Int)] {
            counts.enumerated().compactMap { index, count in
                count > 0 ? (upper: Self.upper(of: index), count: Int(count)) : nil
            }
        }

        /// Returns the number of values up to each bound, for histograms of fixed buckets such as those of Prometheus.
        ///
        /// A value counts as at most a bound if the greatest value of its own bucket is. So it may count as above a
        /// bound that it is below by less than 3.2 %. A count never decreases when values are recorded. A bound that is
        /// the ``buckets``' own counts exactly: those below 64, and those one below a power of two.
        ///
        /// - Parameter bounds: the bounds, inclusive, in any order.
        public func cumulativeCounts(upTo bounds: [Int64]) -> [Int] {
            bounds.map { bound in
                guard bound >= 0 else { return 0 }
                let index = Self.index(of: bound)
                let end = Self.upper(of: index) == bound ? index + 1 : index
                return counts.prefix(end).reduce(0) { $0 + Int($1) }
            }
        }

        private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
            let (sum, overflow) = left.addingReportingOverflow(right)
            return overflow ? .max : sum
        }

        private static func index(of value: Int64) -> Int {
            guard value >= width else { return Int(value) }
            let shift = Int64.bitWidth - 1 - value.leadingZeroBitCount - bits
            return shift * width + Int(value >> Int64(shift))
        }

        private static func upper(of index: Int) -> Int64 {
            guard index >= 2 * width else { return Int64(index) }
            let shift = index / width - 1
            let lower = Int64(index % width + width) << Int64(shift)
            // The last bucket ends with the greatest Int64.
            return lower + ((Int64(1) << Int64(shift)) - 1)
        }
    }
}
