/// Converts intermediate samples to finished bytes.
extension PixelKernels {
    private static let round = SIMD4<Int32>(repeating: 32)

    @inline(__always)
    private static func load(_ source: UnsafePointer<Int16>, _ index: Int) -> SIMD4<Int16> {
        unsafe UnsafeRawPointer(source + 4 &* index).loadUnaligned(as: SIMD4<Int16>.self)
    }

    @inline(__always)
    private static func store(_ pixel: SIMD4<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ index: Int) {
        unsafe UnsafeMutableRawPointer(target + 4 &* index).storeBytes(of: pixel, as: SIMD4<UInt8>.self)
    }

    /// Converts to opaque pixels. The fourth byte is 255.
    static func narrow(
        _ source: UnsafePointer<Int16>, pixelCount: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        for index in 0..<pixelCount {
            var samples = unsafe load(source, index)
            samples[3] = 255 * RowResampler.one
            unsafe store(narrowed(samples), target, index)
        }
    }

    /// Converts premultiplied samples to straight alpha. If a pixel's alpha rounds to zero, all of it is zero.
    static func narrowUnpremultiplying(
        _ source: UnsafePointer<Int16>, pixelCount: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        for index in 0..<pixelCount {
            let samples = unsafe load(source, index)
            let alpha = min(samples[3], 255 * RowResampler.one)
            var pixel = SIMD4<UInt8>()
            if alpha >= 32 {
                let factor = 255 / Float(alpha)
                let colors = SIMD4<Float>(samples) * factor + 0.5
                pixel = SIMD4<UInt8>(colors.clamped(lowerBound: .zero, upperBound: .init(repeating: 255)))
                pixel[3] = UInt8(truncatingIfNeeded: (alpha &+ 32) &>> 6)
            }
            unsafe store(pixel, target, index)
        }
    }

    /// Converts premultiplied samples to premultiplied pixels. No colour exceeds its alpha.
    static func narrowPremultiplied(
        _ source: UnsafePointer<Int16>, pixelCount: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        for index in 0..<pixelCount {
            let pixel = narrowed(unsafe load(source, index))
            unsafe store(pointwiseMin(pixel, SIMD4(repeating: pixel[3])), target, index)
        }
    }

    @inline(__always)
    private static func narrowed(_ samples: SIMD4<Int16>) -> SIMD4<UInt8> {
        let rounded = (samples &+ 32) &>> 6
        return SIMD4<UInt8>(
            truncatingIfNeeded: rounded.clamped(lowerBound: .zero, upperBound: .init(repeating: 255)))
    }
}
