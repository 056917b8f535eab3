#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One axis of a resize: which source samples make each target sample, and with which weights.
///
/// The filter is Lanczos with three lobes, stretched by the reduction so that nothing aliases, cut at the picture's
/// edges and normalised. Weights have 14 bits behind the point, and those of one target sample sum up to exactly one.
package struct ResampleAxis: Sendable {
    /// How the samples of the source axis lie on the picture.
    package enum Siting: Sendable {
        /// One sample for each pixel.
        case direct
        /// One sample for two pixels, which a decoder would first bring to `pixelCount` pixels with weights of three
        /// quarters and one quarter, as JPEG and WebP decoders do with chroma. That step is folded into the weights, so
        /// that it costs nothing.
        case halved(pixelCount: Int)
        /// The picture is so many samples long, which is less than there are: the last stands for a part of one.
        case partial(length: Double)
    }

    /// The bits behind the point of a weight.
    static let weightBits: Int32 = 14

    /// The samples that the source has on this axis.
    package let sourceCount: Int
    /// The samples that are made.
    package let targetCount: Int
    /// The weights of each target sample; a multiple of what was asked for.
    let taps: Int
    /// For each target sample the first source sample that its weights are for.
    let starts: [Int]
    /// `taps` weights for each target sample. Those for samples past the source's end are zero.
    let weights: [Int16]

    /// - Parameters:
    ///   - scaledCount: what the whole source is scaled to.
    ///   - kept: which of those samples are made.
    ///   - alignment: each start is a multiple of it.
    ///   - multiple: ``taps`` is a multiple of it.
    package init(
        sourceCount: Int, siting: Siting = .direct, scaledCount: Int, kept: Range<Int>,
        alignment: Int, multiple: Int
    ) {
        precondition(sourceCount > 0 && scaledCount > 0 && !kept.isEmpty && kept.upperBound <= scaledCount)
        let (pixelCount, length) =
            switch siting {
            case .direct: (sourceCount, Double(sourceCount))
            case .halved(let count): (count, Double(count))
            case .partial(let length): (sourceCount, length)
            }
        let ratio = length / Double(scaledCount)
        var rows: [(start: Int, weights: [Int16])] = []
        rows.reserveCapacity(kept.count)
        var taps = multiple
        for target in kept {
            var (start, exact) = Self.lanczos(target: target, ratio: ratio, count: pixelCount)
            if case .halved = siting {
                (start, exact) = Self.folded(start: start, weights: exact, count: sourceCount)
            }
            let row = Self.quantized(start: start, weights: exact, alignment: alignment)
            taps = max(taps, (row.weights.count + multiple - 1) / multiple * multiple)
            rows.append(row)
        }
        var weights = [Int16](repeating: 0, count: taps * rows.count)
        for (index, row) in rows.enumerated() {
            weights.replaceSubrange(index * taps..<index * taps + row.weights.count, with: row.weights)
        }
        self.sourceCount = sourceCount
        self.targetCount = rows.count
        self.taps = taps
        self.starts = rows.map(\.start)
        self.weights = weights
    }

    /// The source samples that have any part in the target.
    var neededRange: Range<Int> {
        let upper = starts.reduce(0) { max($0, $1) } + taps
        return starts.reduce(sourceCount) { min($0, $1) }..<min(upper, sourceCount)
    }

    /// The exact weights of one target sample, and the first source sample that they are for.
    private static func lanczos(target: Int, ratio: Double, count: Int) -> (Int, [Double]) {
        let stretch = max(1, ratio)
        let center = (Double(target) + 0.5) * ratio
        let lower = min(count - 1, max(0, Int((center - 3 * stretch + 0.5).rounded(.down))))
        let upper = max(lower + 1, min(count, Int((center + 3 * stretch + 0.5).rounded(.down))))
        var weights = (lower..<upper).map { kernel((Double($0) + 0.5 - center) / stretch) }
        let sum = weights.reduce(0, +)
        guard abs(sum) > 1e-6 else { return (lower, weights.indices.map { $0 == 0 ? 1 : 0 }) }
        for index in weights.indices { weights[index] /= sum }
        return (lower, weights)
    }

    private static func kernel(_ distance: Double) -> Double {
        let x = abs(distance) * .pi
        if x < 1e-9 { return 1 }
        if x >= 3 * .pi { return 0 }
        return 3 * sin(x) * sin(x / 3) / (x * x)
    }

    /// The weights for samples of which each stands for two pixels, from the weights for the pixels.
    private static func folded(start: Int, weights: [Double], count: Int) -> (Int, [Double]) {
        let first = max(0, start / 2 - 1)
        let last = min(count - 1, (start + weights.count - 1) / 2 + 1)
        var result = [Double](repeating: 0, count: last - first + 1)
        for (offset, weight) in weights.enumerated() {
            let pixel = start + offset
            let near = min(count - 1, pixel / 2)
            let far = min(count - 1, max(0, pixel % 2 == 0 ? near - 1 : near + 1))
            result[near - first] += weight * 0.75
            result[far - first] += weight * 0.25
        }
        return (first, result)
    }

    /// Whole weights: the rounding error of each is handed on to the next, so that their sum stays exact.
    private static func quantized(start: Int, weights: [Double], alignment: Int) -> (start: Int, weights: [Int16]) {
        var whole: [Int16] = []
        whole.reserveCapacity(weights.count)
        var sum = 0.0
        var handedOut = 0.0
        for weight in weights {
            sum += weight * Double(1 << weightBits)
            let next = sum.rounded()
            whole.append(Int16(min(32767, max(-32768, next - handedOut))))
            handedOut = next
        }
        let leading = whole.firstIndex { $0 != 0 } ?? 0
        let trailing = whole.lastIndex { $0 != 0 } ?? 0
        let first = start + leading
        let aligned = first / alignment * alignment
        return (aligned, [Int16](repeating: 0, count: first - aligned) + whole[leading...max(leading, trailing)])
    }
}
