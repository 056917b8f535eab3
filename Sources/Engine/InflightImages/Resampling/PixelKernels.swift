internal import CInflightImages

/// The inner loops of the resizer, written so that the compiler vectorises them with the baseline instructions of each
/// architecture (on x86-64 SSE2: `pmaddwd` for the weighted sums).
///
/// All pointers are to as many samples as the counts say, rounded up to the next 16, which the callers allocate.
enum PixelKernels {
    /// Returns the sums of adjacent products.
    @inline(__always)
    static func multiplyAddPairs(_ left: SIMD8<Int16>, _ right: SIMD8<Int16>) -> SIMD4<Int32> {
        let products = widened(left) &* widened(right)
        return products.evenHalf &+ products.oddHalf
    }

    /// Converts lane by lane. The library's conversion does the same, but in a large function it stays a call, and then
    /// the compiler does not emit `pmaddwd`.
    @inline(__always)
    private static func widened(_ v: SIMD8<Int16>) -> SIMD8<Int32> {
        SIMD8(
            Int32(v[0]), Int32(v[1]), Int32(v[2]), Int32(v[3]), Int32(v[4]), Int32(v[5]), Int32(v[6]), Int32(v[7]))
    }

    @inline(__always)
    static func widened(_ v: SIMD8<UInt8>) -> SIMD8<Int16> {
        SIMD8(
            Int16(v[0]), Int16(v[1]), Int16(v[2]), Int16(v[3]), Int16(v[4]), Int16(v[5]), Int16(v[6]), Int16(v[7]))
    }

    @inline(__always)
    private static func zipped(_ even: SIMD4<Int16>, _ odd: SIMD4<Int16>) -> SIMD8<Int16> {
        var result = SIMD8<Int16>()
        result.evenHalf = even
        result.oddHalf = odd
        return result
    }

    @inline(__always)
    private static func load(_ source: UnsafePointer<Int16>) -> SIMD8<Int16> {
        unsafe UnsafeRawPointer(source).loadUnaligned(as: SIMD8<Int16>.self)
    }

    @inline(__always)
    private static func store(_ vector: SIMD8<Int16>, _ target: UnsafeMutablePointer<Int16>) {
        unsafe UnsafeMutableRawPointer(target).storeBytes(of: vector, as: SIMD8<Int16>.self)
    }

    /// Converts bytes to samples with six fractional bits. Reads exactly `count` bytes.
    static func widen(_ source: UnsafePointer<UInt8>, count: Int, into target: UnsafeMutablePointer<Int16>) {
        var index = 0
        while index &+ 16 <= count {
            let bytes = unsafe UnsafeRawPointer(source + index).loadUnaligned(as: SIMD16<UInt8>.self)
            unsafe store(SIMD8<Int16>(truncatingIfNeeded: bytes.lowHalf) &<< 6, target + index)
            unsafe store(SIMD8<Int16>(truncatingIfNeeded: bytes.highHalf) &<< 6, target + index + 8)
            index &+= 16
        }
        while index < count {
            unsafe target[index] = Int16(source[index]) &<< 6
            index &+= 1
        }
    }

    /// Interleaves two rows of bytes into one of samples with six fractional bits: what ``widen(_:count:into:)`` and
    /// ``interleave(_:_:count:into:)`` do, in half the time. Reads exactly `count` bytes of each.
    static func interleaveBytes(
        _ first: UnsafePointer<UInt8>, _ second: UnsafePointer<UInt8>, count: Int,
        into target: UnsafeMutablePointer<Int16>
    ) {
        var index = 0
        while index &+ 16 <= count {
            let upper = unsafe UnsafeRawPointer(first + index).loadUnaligned(as: SIMD16<UInt8>.self)
            let lower = unsafe UnsafeRawPointer(second + index).loadUnaligned(as: SIMD16<UInt8>.self)
            let (a, b) = (
                SIMD8<Int16>(truncatingIfNeeded: upper.lowHalf) &<< 6,
                SIMD8<Int16>(truncatingIfNeeded: lower.lowHalf) &<< 6
            )
            let (c, d) = (
                SIMD8<Int16>(truncatingIfNeeded: upper.highHalf) &<< 6,
                SIMD8<Int16>(truncatingIfNeeded: lower.highHalf) &<< 6
            )
            unsafe store(zipped(a.lowHalf, b.lowHalf), target + 2 &* index)
            unsafe store(zipped(a.highHalf, b.highHalf), target + 2 &* index + 8)
            unsafe store(zipped(c.lowHalf, d.lowHalf), target + 2 &* index + 16)
            unsafe store(zipped(c.highHalf, d.highHalf), target + 2 &* index + 24)
            index &+= 16
        }
        while index < count {
            unsafe target[2 &* index] = Int16(first[index]) &<< 6
            unsafe target[2 &* index &+ 1] = Int16(second[index]) &<< 6
            index &+= 1
        }
    }

    /// Returns one pixel with its colours multiplied by its alpha, with six fractional bits.
    @inline(__always)
    static func premultiplied(_ pixel: SIMD4<UInt8>) -> SIMD4<Int16> {
        var factor = SIMD4<UInt32>(repeating: UInt32(pixel[3]))
        factor[3] = 255
        // 16448 / 65536 approximates 64 / 255 closely enough to round every product of two bytes correctly.
        let products = SIMD4<UInt32>(truncatingIfNeeded: pixel) &* factor
        return SIMD4<Int16>(truncatingIfNeeded: (products &* 16448 &+ 32768) &>> 16)
    }

    static func widenPremultiplying(
        _ source: UnsafePointer<UInt8>, pixelCount: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        for index in 0..<pixelCount {
            let pixel = unsafe UnsafeRawPointer(source + 4 &* index).loadUnaligned(as: SIMD4<UInt8>.self)
            unsafe UnsafeMutableRawPointer(target + 4 &* index)
                .storeBytes(of: premultiplied(pixel), as: SIMD4<Int16>.self)
        }
    }

    /// Interleaves two rows into one, sample by sample.
    static func interleave(
        _ first: UnsafePointer<Int16>, _ second: UnsafePointer<Int16>, count: Int,
        into target: UnsafeMutablePointer<Int16>
    ) {
        var index = 0
        while index < count {
            let upper = unsafe load(first + index)
            let lower = unsafe load(second + index)
            unsafe store(zipped(upper.lowHalf, lower.lowHalf), target + 2 &* index)
            unsafe store(zipped(upper.highHalf, lower.highHalf), target + 2 &* index + 8)
            index &+= 8
        }
    }

    /// Computes the weighted sum of pairs of rows.
    static func weighRows(
        _ pairs: UnsafePointer<UnsafePointer<Int16>>, weights: UnsafePointer<SIMD8<Int16>>, pairCount: Int,
        count: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        let factors = unsafe UnsafeRawPointer(weights).assumingMemoryBound(to: Int16.self)
        if unsafe inflight_weigh_rows(pairs, factors, pairCount, count, ResampleAxis.weightBits, target) != 0 { return }
        unsafe weighRowsPortably(pairs, weights: weights, pairCount: pairCount, count: count, into: target)
    }

    /// Does the same on any processor.
    static func weighRowsPortably(
        _ pairs: UnsafePointer<UnsafePointer<Int16>>, weights: UnsafePointer<SIMD8<Int16>>, pairCount: Int,
        count: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        let bits = ResampleAxis.weightBits
        let half = SIMD4<Int32>(repeating: 1 << (bits - 1))
        var index = 0
        while index < count {
            var sums = (half, half, half, half)
            var pair = 0
            while pair < pairCount {
                let samples = unsafe pairs[pair] + 2 &* index
                let weight = unsafe weights[pair]
                sums.0 &+= unsafe multiplyAddPairs(load(samples), weight)
                sums.1 &+= unsafe multiplyAddPairs(load(samples + 8), weight)
                sums.2 &+= unsafe multiplyAddPairs(load(samples + 16), weight)
                sums.3 &+= unsafe multiplyAddPairs(load(samples + 24), weight)
                pair &+= 1
            }
            unsafe store(narrowed(sums.0 &>> bits, sums.1 &>> bits), target + index)
            unsafe store(narrowed(sums.2 &>> bits, sums.3 &>> bits), target + index + 8)
            index &+= 16
        }
    }

    @inline(__always)
    private static func narrowed(_ low: SIMD4<Int32>, _ high: SIMD4<Int32>) -> SIMD8<Int16> {
        SIMD8<Int16>(truncatingIfNeeded: SIMD8<Int32>(lowHalf: low, highHalf: high))
    }

    /// Computes, for one channel, each target sample from `taps` neighbours. `taps` is a multiple of eight.
    static func weighColumns(
        _ source: UnsafePointer<Int16>, starts: UnsafeBufferPointer<Int>, base: Int,
        weights: UnsafeBufferPointer<Int16>, taps: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        guard let factors = weights.baseAddress, let first = starts.baseAddress else { return }
        let status = unsafe inflight_weigh_columns(
            source - base, first, starts.count, factors, taps, ResampleAxis.weightBits, target)
        if status != 0 { return }
        unsafe weighColumnsPortably(source, starts: starts, base: base, weights: weights, taps: taps, into: target)
    }

    /// Does the same on any processor.
    static func weighColumnsPortably(
        _ source: UnsafePointer<Int16>, starts: UnsafeBufferPointer<Int>, base: Int,
        weights: UnsafeBufferPointer<Int16>, taps: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        // The lengths for reductions by up to four, as constants that the compiler unrolls.
        switch taps {
        case 8: unsafe weighColumns(source, starts, base, weights, 8, target)
        case 16: unsafe weighColumns(source, starts, base, weights, 16, target)
        case 24: unsafe weighColumns(source, starts, base, weights, 24, target)
        default: unsafe weighColumns(source, starts, base, weights, taps, target)
        }
    }

    @inline(__always)
    private static func weighColumns(
        _ source: UnsafePointer<Int16>, _ starts: UnsafeBufferPointer<Int>, _ base: Int,
        _ weights: UnsafeBufferPointer<Int16>, _ taps: Int, _ target: UnsafeMutablePointer<Int16>
    ) {
        guard let weights = weights.baseAddress, let first = starts.baseAddress else { return }
        let source = unsafe source - base
        let bits = ResampleAxis.weightBits
        let half = SIMD4<Int32>(repeating: 1 << (bits - 1))
        @inline(__always)
        func sum(_ index: Int) -> SIMD4<Int32> {
            let samples = unsafe source + first[index]
            let weight = unsafe weights + index &* taps
            var sum = SIMD4<Int32>()
            var tap = 0
            while tap < taps {
                sum &+= unsafe multiplyAddPairs(load(samples + tap), load(weight + tap))
                tap &+= 8
            }
            return sum
        }
        var index = 0
        while index &+ 4 <= starts.count {
            // Compute four horizontal sums by transposing.
            let ab = SIMD8(lowHalf: sum(index), highHalf: sum(index &+ 1))
            let cd = SIMD8(lowHalf: sum(index &+ 2), highHalf: sum(index &+ 3))
            let all = SIMD8(lowHalf: ab.evenHalf &+ ab.oddHalf, highHalf: cd.evenHalf &+ cd.oddHalf)
            let sums = (all.evenHalf &+ all.oddHalf &+ half) &>> bits
            unsafe UnsafeMutableRawPointer(target + index)
                .storeBytes(of: SIMD4<Int16>(truncatingIfNeeded: sums), as: SIMD4<Int16>.self)
            index &+= 4
        }
        while index < starts.count {
            let total = sum(index).wrappedSum()
            unsafe target[index] = Int16(truncatingIfNeeded: (total &+ half[0]) &>> bits)
            index &+= 1
        }
    }

    /// Computes, for four interleaved channels, each target pixel from `taps` neighbours. `taps` is even.
    static func weighPixels(
        _ source: UnsafePointer<Int16>, starts: UnsafeBufferPointer<Int>, base: Int,
        weights: UnsafeBufferPointer<Int16>, taps: Int, into target: UnsafeMutablePointer<Int16>
    ) {
        guard var weight = weights.baseAddress, let starts = starts.baseAddress
        else { return }
        let count = weights.count / taps
        let bits = ResampleAxis.weightBits
        let half = SIMD4<Int32>(repeating: 1 << (bits - 1))
        for index in 0..<count {
            let first = unsafe source + 4 &* (starts[index] &- base)
            var sum = half
            var tap = 0
            while tap < taps {
                let two = unsafe load(first + 4 &* tap)
                let factors = unsafe UnsafeRawPointer(weight + tap).loadUnaligned(as: SIMD2<Int16>.self)
                sum &+= multiplyAddPairs(
                    zipped(two.lowHalf, two.highHalf),
                    zipped(SIMD4(repeating: factors[0]), SIMD4(repeating: factors[1])))
                tap &+= 2
            }
            unsafe weight += taps
            unsafe UnsafeMutableRawPointer(target + 4 &* index)
                .storeBytes(of: SIMD4<Int16>(truncatingIfNeeded: sum &>> bits), as: SIMD4<Int16>.self)
        }
    }
}
