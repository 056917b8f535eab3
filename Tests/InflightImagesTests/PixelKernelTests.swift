import InflightTestSupport
import Testing

@testable import InflightImages

/// The resizer's inner loops, which use AVX2 if the processor has it, and those for any processor.
@Suite("Pixel kernels", .timeLimit(.minutes(10)))
struct PixelKernelTests {
    /// Samples from below black to above white, as the filter makes them.
    private static func samples(_ count: Int, _ random: inout SeededGenerator) -> [Int16] {
        (0..<count).map { _ in Int16.random(in: -3000...19_000, using: &random) }
    }

    @Test("Weighted sums of rows are the same with and without AVX2", arguments: UInt64(0)..<50)
    func rows(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (count, pairCount) = (Int.random(in: 1...700, using: &random), Int.random(in: 1...12, using: &random))
        let room = (count + 15) / 16 * 16
        let source = Self.samples(2 * room * pairCount, &random)
        let weights = (0..<pairCount).map { _ in
            let (first, second) = (Int16.random(in: -1500...3000, using: &random), Int16(700))
            return SIMD8(first, second, first, second, first, second, first, second)
        }
        var (fast, plain) = ([Int16](repeating: 1, count: room), [Int16](repeating: 2, count: room))
        unsafe source.withUnsafeBufferPointer { source in
            let pairs = unsafe (0..<pairCount).map { unsafe source.baseAddress! + 2 * room * $0 }
            unsafe PixelKernels.weighRows(pairs, weights: weights, pairCount: pairCount, count: count, into: &fast)
            unsafe PixelKernels.weighRowsPortably(
                pairs, weights: weights, pairCount: pairCount, count: count, into: &plain)
        }
        #expect(fast == plain)
    }

    @Test("Weighted sums of columns are the same with and without AVX2", arguments: UInt64(0)..<50)
    func columns(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (count, taps) = (Int.random(in: 1...300, using: &random), 8 * Int.random(in: 1...6, using: &random))
        let source = Self.samples(1000 + taps, &random)
        let starts = (0..<count).map { _ in Int.random(in: 7..<1000, using: &random) }
        let weights = (0..<count * taps).map { _ in Int16.random(in: -300...600, using: &random) }
        var (fast, plain) = ([Int16](repeating: 1, count: count + 3), [Int16](repeating: 2, count: count + 3))
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe weights.withUnsafeBufferPointer { weights in
                unsafe PixelKernels.weighColumns(
                    source, starts: starts, base: 7, weights: weights, taps: taps, into: &fast)
                unsafe PixelKernels.weighColumnsPortably(
                    source, starts: starts, base: 7, weights: weights, taps: taps, into: &plain)
            }
        }
        #expect(fast.prefix(count) == plain.prefix(count))
    }
}
