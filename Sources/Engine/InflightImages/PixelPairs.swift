/// Transforms a row of pixels, four at once; the remaining ones one at a time.
@inline(__always)
func transformRow(
    _ width: Int, _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer,
    _ change: (SIMD4<UInt32>) -> SIMD4<UInt32>
) {
    var offset = 0
    while offset &+ 16 <= width &* 4 {
        let four = unsafe (source + offset).loadUnaligned(as: SIMD4<UInt32>.self)
        unsafe (target + offset).storeBytes(of: change(four), as: SIMD4<UInt32>.self)
        offset &+= 16
    }
    while offset < width &* 4 {
        let one = unsafe SIMD4(repeating: (source + offset).loadUnaligned(as: UInt32.self))
        unsafe (target + offset).storeBytes(of: change(one)[0], as: UInt32.self)
        offset &+= 4
    }
}

/// A colour spread for arithmetic on four pixels at once, in 16-bit lanes: the first and third channel in one vector,
/// the second and fourth in another.
struct PixelPairs {
    private let outer: SIMD8<UInt16>
    private let inner: SIMD8<UInt16>

    /// The first channel is in the lowest byte.
    init(_ color: UInt32) {
        outer = Self.halves(SIMD4(repeating: color & 0x00FF_00FF))
        inner = Self.halves(SIMD4(repeating: color >> 8 & 0x00FF_00FF))
    }

    /// Returns four pixels composited over this colour, opaque.
    @inline(__always)
    func under(_ pixels: SIMD4<UInt32>, isStraight: Bool) -> SIMD4<UInt32> {
        let alpha = Self.halves((pixels &>> 24) | (pixels &>> 8) & 0x00FF_0000)
        let factor = isStraight ? alpha : SIMD8(repeating: 255)
        func over(_ channels: SIMD8<UInt16>, _ ground: SIMD8<UInt16>) -> SIMD4<UInt32> {
            let over = channels &* factor
            // At most 255 × 255, unless a malformed premultiplied colour exceeds its alpha.
            let sum = over &+ pointwiseMin(ground &* (255 &- alpha), 65025 &- over)
            return unsafe unsafeBitCast(Self.dividedBy255(sum), to: SIMD4<UInt32>.self)
        }
        let first = over(Self.halves(pixels & 0x00FF_00FF), outer)
        let second = over(Self.halves((pixels &>> 8) & 0x00FF_00FF), inner)
        return first | second &<< 8 | 0xFF00_0000
    }

    /// Divides with rounding; exact for every product of two bytes.
    @inline(__always)
    private static func dividedBy255(_ product: SIMD8<UInt16>) -> SIMD8<UInt16> {
        let sum = product &+ 128
        return (sum &+ sum &>> 8) &>> 8
    }

    @inline(__always)
    private static func halves(_ words: SIMD4<UInt32>) -> SIMD8<UInt16> {
        unsafe unsafeBitCast(words, to: SIMD8<UInt16>.self)
    }
}
