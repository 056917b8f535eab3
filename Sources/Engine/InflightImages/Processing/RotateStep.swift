import Glibc
import InflightConcurrency

/// Rotates the image clockwise by any angle.
struct RotateStep: ImageProcessing {
    let degrees: Double

    var identity: String { "rotate(degrees: \(degrees))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard degrees.isFinite else {
            throw ProcessingError.invalid("Invalid processor \(identity). The angle must be finite.")
        }
        try cancellation.checkProcessing()
        var turn = degrees.truncatingRemainder(dividingBy: 360)
        if turn < 0 { turn += 360 }
        switch turn {
        case 0, 360: return pixels
        case 90: return pixels.oriented(.right)
        case 180: return pixels.oriented(.down)
        case 270: return pixels.oriented(.left)
        default: return try Rotation(pixels, degrees: turn).run(cancellation)
        }
    }
}

/// Computes each pixel of the result from the sixteen around its position in the source with a Catmull–Rom cubic (R.
/// Keys: Cubic Convolution Interpolation for Digital Image Processing, 1981). Pixels outside are transparent, for
/// smooth edges.
// Safe: reads only pixels whose position was checked, and writes all of its own memory.
@safe private struct Rotation {
    /// The source, opaque or premultiplied.
    let pixels: PixelBuffer
    let result: PixelBuffer.Format
    let cosine: Double
    let sine: Double
    let width: Int
    let height: Int

    init(_ pixels: PixelBuffer, degrees: Double) {
        var format = pixels.format
        if format.alpha == .opaque { format.alpha = .straight }
        result = format
        format.alpha = .premultiplied
        self.pixels = pixels.format.alpha == .straight ? pixels.converted(to: format) : pixels
        cosine = cos(degrees * .pi / 180)
        sine = sin(degrees * .pi / 180)
        let (wide, high) = (Double(pixels.width), Double(pixels.height))
        // An excess of up to a thousandth of a pixel is a rounding error and does not need its own column.
        width = max(1, Int((abs(wide * cosine) + abs(high * sine) - 0.001).rounded(.up)))
        height = max(1, Int((abs(wide * sine) + abs(high * cosine) - 0.001).rounded(.up)))
    }

    func run(_ cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try ProcessingError.checkSize(width: width, height: height, of: pixels)
        let isStraight = result.alpha == .straight
        let weights = Self.weights
        return try unsafe PixelBuffer(width: width, height: height, format: result) { memory throws(LoadError) in
            let output = memory.baseAddress!
            try unsafe weights.withUnsafeBufferPointer { weights throws(LoadError) in
                try unsafe pixels.withUnsafeBytes { source throws(LoadError) in
                    let input = source.baseAddress!
                    let band = max(1, 16_384 / width)
                    for y in 0..<height {
                        if y % band == 0 { try cancellation.checkProcessing() }
                        // Rotate back, and convert from pixel corners to pixel centres.
                        let (right, down) = (0.5 - Double(width) / 2, Double(y) + 0.5 - Double(height) / 2)
                        var sourceX = Self.fixed(right * cosine + down * sine + Double(pixels.width) / 2 - 0.5)
                        var sourceY = Self.fixed(down * cosine - right * sine + Double(pixels.height) / 2 - 0.5)
                        let (stepX, stepY) = (Self.fixed(cosine), Self.fixed(-sine))
                        for x in 0..<width {
                            let pixel = unsafe sample(input, sourceX, sourceY, weights.baseAddress!)
                            unsafe store(pixel, isStraight, output + (y &* width &+ x) &* 4)
                            sourceX &+= stepX
                            sourceY &+= stepY
                        }
                    }
                }
            }
        }
    }

    /// Returns a position with 32 fractional bits: off by less than 0.001 pixels at the end of a row of a million.
    private static func fixed(_ value: Double) -> Int { Int((value * 4_294_967_296).rounded()) }

    @inline(__always)
    private func store(_ pixel: SIMD4<UInt8>, _ isStraight: Bool, _ target: UnsafeMutableRawPointer) {
        if isStraight, pixel[3] != 255, pixel[3] != 0 {
            unsafe PixelFloats.store(PixelFloats.unpremultiplied(SIMD4<Float>(pixel)), to: target)
        } else {
            unsafe target.storeBytes(of: pixel, as: SIMD4<UInt8>.self)
        }
    }

    /// Returns the interpolated pixel, premultiplied.
    @inline(__always)
    private func sample(
        _ input: UnsafeRawPointer, _ x: Int, _ y: Int, _ weights: UnsafePointer<SIMD8<Int16>>
    ) -> SIMD4<UInt8> {
        let (left, top) = (x &>> 32, y &>> 32)
        let columns = unsafe weights + 2 &* ((x &>> 24) & 0xFF)
        let rows = unsafe weights[2 &* ((y &>> 24) & 0xFF)]
        let below = unsafe weights[2 &* ((y &>> 24) & 0xFF) &+ 1]
        guard left >= 1, top >= 1, left &+ 2 < pixels.width, top &+ 2 < pixels.height else {
            if left < -2 || top < -2 || left > pixels.width || top > pixels.height { return .zero }
            return unsafe edgeSample(input, left, top, columns, rows, below)
        }
        let row = unsafe input + ((top &- 1) &* pixels.bytesPerRow &+ (left &- 1) &* 4)
        func line(_ number: Int) -> SIMD4<Int32> {
            let four = unsafe (row + number &* pixels.bytesPerRow).loadUnaligned(as: SIMD16<UInt8>.self)
            return unsafe Self.weighted(four, columns[0], columns[1])
        }
        return Self.joined(line(0), line(1), line(2), line(3), rows, below)
    }

    /// Interpolates like `sample`, if some of the sixteen pixels lie outside and count as transparent.
    private func edgeSample(
        _ input: UnsafeRawPointer, _ left: Int, _ top: Int, _ columns: UnsafePointer<SIMD8<Int16>>,
        _ rows: SIMD8<Int16>, _ below: SIMD8<Int16>
    ) -> SIMD4<UInt8> {
        func line(_ number: Int) -> SIMD4<Int32> {
            let y = top + number - 1
            guard y >= 0, y < pixels.height else { return .zero }
            var four = SIMD16<UInt8>.zero
            for index in 0..<4 {
                let x = left + index - 1
                guard x >= 0, x < pixels.width else { continue }
                let pixel = unsafe (input + (y * pixels.bytesPerRow + x * 4)).loadUnaligned(as: SIMD4<UInt8>.self)
                for channel in 0..<4 { four[4 * index + channel] = pixel[channel] }
            }
            return unsafe Self.weighted(four, columns[0], columns[1])
        }
        return Self.joined(line(0), line(1), line(2), line(3), rows, below)
    }

    /// Returns the weighted sum of four pixels. Weights have twelve fractional bits, and the sums keep six.
    @inline(__always)
    private static func weighted(
        _ four: SIMD16<UInt8>, _ first: SIMD8<Int16>, _ second: SIMD8<Int16>
    ) -> SIMD4<Int32> {
        // Interleave pixels in pairs, channel by channel, as `multiplyAddPairs` expects.
        let left = PixelKernels.widened(zipped(four.lowHalf.lowHalf, four.lowHalf.highHalf))
        let right = PixelKernels.widened(zipped(four.highHalf.lowHalf, four.highHalf.highHalf))
        let sum = PixelKernels.multiplyAddPairs(left, first) &+ PixelKernels.multiplyAddPairs(right, second)
        return (sum &+ 32) &>> 6
    }

    @inline(__always)
    private static func zipped(_ even: SIMD4<UInt8>, _ odd: SIMD4<UInt8>) -> SIMD8<UInt8> {
        var result = SIMD8<UInt8>()
        result.evenHalf = even
        result.oddHalf = odd
        return result
    }

    /// Returns the weighted sum of four lines.
    @inline(__always)
    private static func joined(
        _ first: SIMD4<Int32>, _ second: SIMD4<Int32>, _ third: SIMD4<Int32>, _ fourth: SIMD4<Int32>,
        _ upper: SIMD8<Int16>, _ lower: SIMD8<Int16>
    ) -> SIMD4<UInt8> {
        func pairs(_ even: SIMD4<Int32>, _ odd: SIMD4<Int32>) -> SIMD8<Int16> {
            var result = SIMD8<Int16>()
            result.evenHalf = SIMD4(truncatingIfNeeded: even)
            result.oddHalf = SIMD4(truncatingIfNeeded: odd)
            return result
        }
        let sum =
            PixelKernels.multiplyAddPairs(pairs(first, second), upper)
            &+ PixelKernels.multiplyAddPairs(pairs(third, fourth), lower)
        var pixel = (sum &+ (1 << 17)) &>> 18
        // The cubic overshoots at edges, so clamp alpha to its range and colours to alpha.
        pixel.replace(with: 0, where: pixel .< 0)
        let alpha = min(pixel[3], 255)
        pixel.replace(with: alpha, where: pixel .> alpha)
        return SIMD4<UInt8>(truncatingIfNeeded: pixel)
    }

    /// The weights at 256 positions between two pixels: of the first two of four, repeated, then of the last two.
    private static let weights: [SIMD8<Int16>] = (0..<256).flatMap { place -> [SIMD8<Int16>] in
        let t = Double(place) / 256
        let exact = [
            ((-0.5 * t + 1) * t - 0.5) * t, (1.5 * t - 2.5) * t * t + 1, ((-1.5 * t + 2) * t + 0.5) * t,
            (0.5 * t - 0.5) * t * t,
        ]
        var whole = exact.map { Int16(($0 * 4096).rounded()) }
        // Make the sum exactly one, so that a uniform image does not change.
        whole[t < 0.5 ? 1 : 2] += 4096 - whole.reduce(0, +)
        return [0, 2].map { index in
            SIMD8(
                lowHalf: SIMD4(whole[index], whole[index + 1], whole[index], whole[index + 1]),
                highHalf: SIMD4(whole[index], whole[index + 1], whole[index], whole[index + 1]))
        }
    }
}
