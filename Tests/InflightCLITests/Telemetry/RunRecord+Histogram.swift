@testable import InflightCLI

extension RunRecord.Histogram {
    /// Creates a histogram of exact values. Percentiles are nearest-rank values; ranges are three per doubling.
    init(name: String, unit: String, of values: [Int]) {
        let sorted = values.sorted()
        func percentile(_ percent: Int) -> Int {
            guard !sorted.isEmpty else { return 0 }
            return sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
        }
        self.init(
            name: name, unit: unit, buckets: Self.buckets(sorted), count: sorted.count, p50: percentile(50),
            p90: percentile(90), p95: percentile(95), p99: percentile(99))
    }

    private static func buckets(_ sorted: [Int]) -> [RunRecord.Histogram.Bucket] {
        guard let least = sorted.first, let most = sorted.last else { return [] }
        var buckets: [RunRecord.Histogram.Bucket] = []
        var rest = sorted[...]
        var upper = 1
        while upper < least { upper = next(upper) }
        while true {
            let those = rest.prefix { $0 <= upper }
            buckets.append(RunRecord.Histogram.Bucket(upper: upper, count: those.count))
            rest = rest.dropFirst(those.count)
            if upper >= most { return buckets }
            upper = next(upper)
        }
    }

    /// The next round bound, about a quarter larger: 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30 …
    private static func next(_ upper: Int) -> Int {
        let steps = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100]
        var power = 1
        while upper * 10 / power >= 100 { power *= 10 }
        // Below ten, only whole numbers.
        for step in steps where step * power / 10 > upper { return step * power / 10 }
        return upper * 2
    }
}
