import InflightCore
import InflightTestSupport
import Testing

@Suite("Histogram", .timeLimit(.minutes(10)))
struct HistogramTests {
    @Test("A histogram overestimates a value by at most 1/32, over the whole range")
    func error() {
        var values: [Int64] = [0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, .max - 1, .max]
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            values.append(Int64.random(in: 0 ... .max, using: &random) >> Int64.random(in: 0..<62, using: &random))
        }
        for value in values {
            var histogram = ImagePipeline.Histogram()
            histogram.record(value)
            let upper = histogram.buckets[0].upper
            #expect(upper >= value)
            #expect(Double(upper) - Double(value) <= Double(value) / 32)
            #expect(histogram.p50 == value, "no more than the greatest")
        }
    }

    @Test("Histogram percentiles are accurate within 1/32")
    func percentiles() {
        var histogram = ImagePipeline.Histogram()
        for value in (1...1000 as ClosedRange<Int64>).reversed() { histogram.record(value * 100) }
        for (share, exact) in [(0.5, 50_000.0), (0.9, 90_000), (0.95, 95_000), (0.99, 99_000), (1, 100_000)] {
            let told = Double(histogram.percentile(share))
            #expect(told >= exact && told <= exact * (1 + 1.0 / 32))
        }
        #expect(histogram.count == 1000)
        #expect(histogram.maximum == 100_000)
    }

    @Test("Histogram buckets ascend without overlap and count every value")
    func buckets() {
        var histogram = ImagePipeline.Histogram()
        for value in 0..<5000 as Range<Int64> { histogram.record(value * value) }
        let buckets = histogram.buckets
        #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.upper < $1.upper })
        #expect(buckets.reduce(0) { $0 + $1.count } == 5000)
    }

    @Test("Merging histograms equals recording all values in one, and negative values count as zero")
    func merging() {
        var (left, right, both) = (ImagePipeline.Histogram(), ImagePipeline.Histogram(), ImagePipeline.Histogram())
        for value in [3, 900, -4] as [Int64] {
            left.record(value)
            both.record(value)
        }
        for value in [70_000, 12] as [Int64] {
            right.record(value)
            both.record(value)
        }
        left.merge(right)
        #expect(left == both)
        #expect(ImagePipeline.Histogram().p99 == 0)
        #expect(both.percentile(0) == 0)
    }

    @Test("Cumulative counts never put a value below a bound that it exceeds, and never decrease")
    func cumulativeCounts() {
        let bounds: [Int64] = [-1, 0, 31, 100, 1023, 1_000_000, 5_000_000, 250_000_000, 1 << 40, .max]
        var histogram = ImagePipeline.Histogram()
        var values: [Int64] = []
        var before = histogram.cumulativeCounts(upTo: bounds)
        #expect(before == bounds.map { _ in 0 })
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            values.append(Int64.random(in: 0 ... .max, using: &random) >> Int64.random(in: 0..<62, using: &random))
            histogram.record(values[values.count - 1])
            let counts = histogram.cumulativeCounts(upTo: bounds)
            #expect(zip(before, counts).allSatisfy { $0 <= $1 })
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 })
            before = counts
        }
        for (bound, count) in zip(bounds, before) {
            #expect(count <= values.count { $0 <= bound })
            #expect(count >= values.count { $0 < bound - bound / 32 })
            if [0, 31, 1023, .max].contains(bound) { #expect(count == values.count { $0 <= bound }, "\(bound)") }
        }
        #expect(histogram.cumulativeCounts(upTo: bounds.reversed()) == before.reversed())
    }

    @Test("The sum is exact, counts values below 0 as 0, and stays at the greatest integer")
    func sum() {
        var (histogram, other) = (ImagePipeline.Histogram(), ImagePipeline.Histogram())
        for value in [1_000_001, -7, 33] as [Int64] { histogram.record(value) }
        #expect(histogram.sum == 1_000_034)
        other.record(.max - 1_000_035)
        other.merge(histogram)
        #expect(other.sum == .max - 1)
        other.record(2)
        #expect(other.sum == .max)
        other.merge(histogram)
        #expect(other.sum == .max)
    }
}
