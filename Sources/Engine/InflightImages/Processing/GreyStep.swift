import InflightConcurrency

/// Converts pixels to grey with the luminance weights of ITU-R BT.709, and keeps alpha.
struct GreyStep: ImageProcessing {
    var identity: String { "grey" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        // In units of 2^-15. With rounding of the sum, 255 stays 255.
        let (red, green, blue): (Int16, Int16, Int16) = (6_966, 23_436, 2_366)
        let (first, third) = pixels.format.order == .rgba ? (red, blue) : (blue, red)
        let outer = SIMD8<Int16>(first, third, first, third, first, third, first, third)
        let inner = SIMD8<Int16>(green, 0, green, 0, green, 0, green, 0)
        let width = pixels.width
        return try unsafe pixels.rows(to: pixels.format, cancellation: cancellation) { _, source, target in
            unsafe transformRow(width, source, target) { Self.grey($0, outer, inner) }
        }
    }

    @inline(__always)
    private static func grey(
        _ pixels: SIMD4<UInt32>, _ outer: SIMD8<Int16>, _ inner: SIMD8<Int16>
    ) -> SIMD4<UInt32> {
        let firstAndThird = unsafe unsafeBitCast(pixels & 0x00FF_00FF, to: SIMD8<Int16>.self)
        let second = unsafe unsafeBitCast((pixels &>> 8) & 0xFF, to: SIMD8<Int16>.self)
        let sum = PixelKernels.multiplyAddPairs(firstAndThird, outer) &+ PixelKernels.multiplyAddPairs(second, inner)
        let light = SIMD4<UInt32>(truncatingIfNeeded: (sum &+ 16_384) &>> 15)
        return light | light &<< 8 | light &<< 16 | pixels & 0xFF00_0000
    }
}
