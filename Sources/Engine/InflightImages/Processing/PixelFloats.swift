import InflightConcurrency

/// Converts pixels of four bytes to four floats, 0 … 255, and back.
///
/// A float of 2^23 or more has no fractional bits. A byte in its lowest bits therefore converts with one addition,
/// without the checks and calls of the standard conversions.
enum PixelFloats {
    private static let magic: Float = 8_388_608

    @inline(__always)
    static func load(_ source: UnsafeRawPointer) -> SIMD4<Float> {
        let bytes = unsafe source.loadUnaligned(as: SIMD4<UInt8>.self)
        let bits = SIMD4<UInt32>(truncatingIfNeeded: bytes) | magic.bitPattern
        return unsafe unsafeBitCast(bits, to: SIMD4<Float>.self) - magic
    }

    /// Loads four adjacent pixels.
    @inline(__always)
    static func loadFour(_ source: UnsafeRawPointer) -> SIMD16<Float> {
        let bytes = unsafe source.loadUnaligned(as: SIMD16<UInt8>.self)
        let bits = SIMD16<UInt32>(truncatingIfNeeded: bytes) | magic.bitPattern
        return unsafe unsafeBitCast(bits, to: SIMD16<Float>.self) - magic
    }

    /// Stores a pixel, rounded to the nearest and clamped to 0 … 255.
    @inline(__always)
    static func store(_ pixel: SIMD4<Float>, to target: UnsafeMutableRawPointer) {
        unsafe target.storeBytes(of: rounded(pixel), as: SIMD4<UInt8>.self)
    }

    @inline(__always)
    static func rounded(_ pixel: SIMD4<Float>) -> SIMD4<UInt8> {
        var pixel = pixel
        pixel.replace(with: 0, where: pixel .< 0)
        pixel.replace(with: 255, where: pixel .> 255)
        let bits = unsafe unsafeBitCast(pixel + magic, to: SIMD4<UInt32>.self)
        return SIMD4<UInt8>(truncatingIfNeeded: bits)
    }

    /// Multiplies the colours of straight alpha by it.
    @inline(__always)
    static func premultiplied(_ pixel: SIMD4<Float>) -> SIMD4<Float> {
        let alpha = pixel[3]
        var factor = SIMD4<Float>(repeating: alpha * (1 / 255))
        factor[3] = 1
        return pixel * factor
    }

    /// Divides premultiplied colours by alpha; returns zeros if alpha is zero.
    @inline(__always)
    static func unpremultiplied(_ pixel: SIMD4<Float>) -> SIMD4<Float> {
        let alpha = pixel[3]
        guard alpha > 0 else { return .zero }
        var factor = SIMD4<Float>(repeating: 255 / alpha)
        factor[3] = 1
        return pixel * factor
    }
}

extension PixelBuffer {
    /// Returns an image built row by row, each pixel from the one at the same position: for processors.
    ///
    /// - Parameter fill: receives a row's number, its pixels here, and the memory for its pixels in the result.
    @inline(__always)
    func rows(
        to format: Format, cancellation: CancellationFlag,
        _ fill: (Int, UnsafeRawPointer, UnsafeMutableRawPointer) -> Void
    ) throws(LoadError) -> PixelBuffer {
        try cancellation.checkProcessing()
        return try unsafe PixelBuffer(width: width, height: height, format: format) { memory throws(LoadError) in
            let output = memory.baseAddress!
            try unsafe withUnsafeBytes { source throws(LoadError) in
                let input = source.baseAddress!
                let band = CancellationFlag.band(width: width)
                for y in 0..<height {
                    if y % band == 0 { try cancellation.checkProcessing() }
                    unsafe fill(y, input + y * bytesPerRow, output + y * width * 4)
                }
            }
        }
    }
}
