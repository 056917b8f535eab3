/// One axis of a resize: the source samples and weights for each target sample.
///
/// The filter is Lanczos with three lobes, stretched by the reduction to prevent aliasing, clipped at the image's edges
/// and normalised. Weights have 14 fractional bits, and those of one target sample sum to exactly one.
// Safe: its memory has the stated counts, is not written after `init`, and is freed with the object.
@safe package final class ResampleAxis: Sendable {
    /// The positions of the source axis's samples on the image.
    package enum Siting: Hashable, Sendable {
        /// One sample per pixel.
        case direct
        /// One sample per `ratio` pixels, upsampled to `pixelCount` pixels as JPEG and WebP decoders do with chroma:
        /// with weights of 3/4 and 1/4 if the ratio is two, otherwise by repetition. The step is folded into the
        /// weights, at no cost.
        case subsampled(ratio: Int, pixelCount: Int)
        /// The image is `length` samples long, fewer than there are, because the last sample is a partial one.
        case partial(length: Double)
    }

    /// The number of fractional bits of a weight.
    static let weightBits: Int32 = 14

    /// The number of source samples on this axis.
    package let sourceCount: Int
    /// The number of target samples.
    package let targetCount: Int
    /// The number of weights per target sample, a multiple of `multiple`.
    let taps: Int
    /// The first weighted source sample of each target sample.
    // Memory, because an array would be retained for each row. Safe: not written after `init`.
    nonisolated(unsafe) let starts: UnsafeBufferPointer<Int>
    /// The weights, `taps` per target sample. Those for samples past the source's end are zero.
    // Safe: as above.
    nonisolated(unsafe) let weights: UnsafeBufferPointer<Int16>
    /// The source samples that contribute to the target.
    let neededRange: Range<Int>

    /// - Parameters:
    ///   - scaledCount: the size to which the whole source is scaled.
    ///   - kept: the target pixels to compute samples for, of those `scaledCount`.
    ///   - pixelsPerSample: the number of target pixels that each target sample covers: 2 for chroma at half the
    ///     resolution. The last sample covers those that are left.
    ///   - alignment: each start is a multiple of it.
    ///   - multiple: ``taps`` is a multiple of it.
    package init(
        sourceCount: Int, siting: Siting = .direct, scaledCount: Int, kept: Range<Int>, pixelsPerSample: Int = 1,
        alignment: Int, multiple: Int
    ) {
        precondition(sourceCount > 0 && scaledCount > 0 && !kept.isEmpty && kept.upperBound <= scaledCount)
        let targetCount = (kept.count + pixelsPerSample - 1) / pixelsPerSample
        let (pixelCount, length) =
            switch siting {
            case .direct: (sourceCount, Double(sourceCount))
            case .subsampled(_, let count): (count, Double(count))
            case .partial(let length): (sourceCount, length)
            }
        let ratio = length / Double(scaledCount)
        let fold = if case .subsampled(let ratio, _) = siting { ratio } else { 1 }
        // The maximum for one target sample, including the padding from aligning its start.
        let maximumPixels = Int(2 * LanczosKernel.lobes * max(1, ratio * Double(pixelsPerSample))) + 2
        let most = ((fold > 1 ? maximumPixels / fold + 4 : maximumPixels) + alignment + multiple) / multiple * multiple
        var starts = [Int](repeating: 0, count: targetCount)
        var wide = [Int16](repeating: 0, count: targetCount * most)
        var exact = [Double](repeating: 0, count: maximumPixels)
        var folded = [Double](repeating: 0, count: maximumPixels + 4)
        var taps = 0
        let kernel = LanczosKernel()
        for index in 0..<targetCount {
            let pixels = kept.dropFirst(index * pixelsPerSample).prefix(pixelsPerSample)
            let center = (Double(pixels.lowerBound) + 0.5 * Double(pixels.count)) * ratio
            let stretch = max(1, ratio * Double(pixels.count))
            let reach = LanczosKernel.lobes * stretch
            var first = min(pixelCount - 1, max(0, Int((center - reach + 0.5).rounded(.down))))
            var count = max(1, min(pixelCount, Int((center + reach + 0.5).rounded(.down))) - first)
            Self.fill(&exact, count, kernel, start: (Double(first) + 0.5 - center) / stretch, step: 1 / stretch)
            if fold > 1 {
                (first, count) = Self.fold(exact, first, count, ratio: fold, into: &folded, sourceCount: sourceCount)
            }
            starts[index] = first / alignment * alignment
            let shift = first - starts[index]
            let used = Self.quantize(fold > 1 ? folded : exact, count, into: &wide, at: index * most + shift)
            taps = max(taps, shift + used)
        }
        taps = (taps + multiple - 1) / multiple * multiple
        if taps < most {
            var narrow = [Int16](repeating: 0, count: targetCount * taps)
            for index in starts.indices {
                for tap in 0..<taps { narrow[index * taps + tap] = wide[index * most + tap] }
            }
            wide = narrow
        }
        self.sourceCount = sourceCount
        self.targetCount = targetCount
        self.taps = taps
        unsafe self.starts = Self.copy(starts)
        unsafe weights = Self.copy(wide)
        let upper = starts.reduce(0) { max($0, $1) } + taps
        neededRange = starts.reduce(sourceCount) { min($0, $1) }..<min(upper, sourceCount)
    }

    deinit {
        unsafe starts.deallocate()
        unsafe weights.deallocate()
    }

    private static func copy<Number: FixedWidthInteger>(_ numbers: [Number]) -> UnsafeBufferPointer<Number> {
        let memory = UnsafeMutableBufferPointer<Number>.allocate(capacity: numbers.count)
        _ = unsafe memory.initialize(from: numbers)
        return UnsafeBufferPointer(memory)
    }

    /// Fills in normalised weights at equal distances.
    private static func fill(
        _ weights: inout [Double], _ count: Int, _ kernel: LanczosKernel, start: Double, step: Double
    ) {
        var sum = 0.0
        for index in 0..<count {
            let weight = kernel(start + Double(index) * step)
            weights[index] = weight
            sum += weight
        }
        guard abs(sum) > 1e-6 else {
            for index in 0..<count { weights[index] = index == 0 ? 1 : 0 }
            return
        }
        let factor = 1 / sum
        for index in 0..<count { weights[index] *= factor }
    }

    /// Returns the weights for samples that each cover several pixels, from the weights for the pixels.
    private static func fold(
        _ pixels: [Double], _ start: Int, _ count: Int, ratio: Int, into samples: inout [Double], sourceCount: Int
    ) -> (first: Int, count: Int) {
        let last = sourceCount - 1
        let first = max(0, min(last, start / ratio) - 1)
        let end = min(last, (start + count - 1) / ratio + 1) + 1
        for index in 0..<end - first { samples[index] = 0 }
        for offset in 0..<count {
            let pixel = start + offset
            let near = min(last, pixel / ratio)
            let far = ratio != 2 ? near : min(last, max(0, pixel % 2 == 0 ? near - 1 : near + 1))
            samples[near - first] += pixels[offset] * 0.75
            samples[far - first] += pixels[offset] * 0.25
        }
        return (first, end - first)
    }

    /// Quantises weights. Each rounding error carries over to the next weight, so that the sum stays exact. Returns the
    /// count up to the last weight that is not zero.
    private static func quantize(_ exact: [Double], _ count: Int, into whole: inout [Int16], at position: Int) -> Int {
        var sum = 0.0
        var handedOut = 0
        var used = 1
        for index in 0..<count {
            sum += exact[index] * Double(1 << weightBits)
            // Rounded to the nearest; the sums are far from the type's limits.
            let next = Int(sum + 65536.5) - 65536
            let weight = next - handedOut
            handedOut = next
            whole[position + index] = Int16(clamping: weight)
            if weight != 0 { used = index + 1 }
        }
        return used
    }
}
