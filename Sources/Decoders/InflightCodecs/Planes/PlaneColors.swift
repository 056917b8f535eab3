import InflightImages

/// Converts planes of the resizer's intermediate samples (scaled by ``RowResampler/one``, not clamped) to red, green,
/// blue and 255. Up to sixteen samples beyond each row may be read.
enum PlaneColors {
    /// Converts luma and chroma with the full range 0 … 255, as in JFIF (ITU-T T.871 section 7).
    static func fullRange(
        _ luma: UnsafePointer<Int16>, _ blue: UnsafePointer<Int16>, _ red: UnsafePointer<Int16>, width: Int,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        for index in stride(from: 0, to: width, by: 8) {
            // Five fractional bits, so that no sum exceeds 16 bits.
            let y = unsafe load(luma, index) &>> 1
            let b = unsafe (load(blue, index) &>> 1) &- 128 * 32
            let r = unsafe (load(red, index) &>> 1) &- 128 * 32
            // 1.402, 0.344136 and 0.714136, 1.772, as integers plus 65536ths.
            unsafe store(
                y &+ r &+ high(r, 26345), y &- high(b, 22554) &- r &+ high(r, 18734), y &+ b &+ b &- high(b, 14942),
                at: index, of: width, in: row)
        }
    }

    /// Converts luma of 16 … 235 and chroma of 16 … 240, as in WebP (RFC 6386 section 9.2, ITU-R BT.601).
    static func limitedRange(
        _ luma: UnsafePointer<Int16>, _ blue: UnsafePointer<Int16>, _ red: UnsafePointer<Int16>, width: Int,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        for index in stride(from: 0, to: width, by: 8) {
            let offset = unsafe (load(luma, index) &>> 1) &- 16 * 32
            let y = offset &+ high(offset, 10773)
            let b = unsafe (load(blue, index) &>> 1) &- 128 * 32
            let r = unsafe (load(red, index) &>> 1) &- 128 * 32
            // 1.164383, 1.596027, 0.391762 and 0.812968, 2.017232, as integers plus 65536ths.
            unsafe store(
                y &+ r &+ r &- high(r, 26475), y &- high(b, 25675) &- r &+ high(r, 12257), y &+ b &+ b &+ high(b, 1129),
                at: index, of: width, in: row)
        }
    }

    static func rgb(
        _ red: UnsafePointer<Int16>, _ green: UnsafePointer<Int16>, _ blue: UnsafePointer<Int16>, width: Int,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        for index in stride(from: 0, to: width, by: 8) {
            unsafe store(
                load(red, index) &>> 1, load(green, index) &>> 1, load(blue, index) &>> 1, at: index, of: width, in: row
            )
        }
    }

    static func gray(_ plane: UnsafePointer<Int16>, width: Int, into row: UnsafeMutablePointer<UInt8>) {
        unsafe rgb(plane, plane, plane, width: width, into: row)
    }

    /// Writes a plane as bytes of its own. Up to fifteen bytes beyond the row are written.
    static func bytes(_ plane: UnsafePointer<Int16>, width: Int, into row: UnsafeMutablePointer<UInt8>) {
        for index in stride(from: 0, to: width, by: 16) {
            let samples = unsafe SIMD16(lowHalf: load(plane, index), highHalf: load(plane, index &+ 8))
            let limited = ((samples &+ 32) &>> 6).clamped(lowerBound: .zero, upperBound: .init(repeating: 255))
            unsafe UnsafeMutableRawPointer(row + index)
                .storeBytes(of: SIMD16<UInt8>(truncatingIfNeeded: limited), as: SIMD16<UInt8>.self)
        }
    }

    /// Writes a plane to the fourth byte of each pixel.
    static func fourth(_ plane: UnsafePointer<Int16>, width: Int, into row: UnsafeMutablePointer<UInt8>) {
        for index in 0..<width {
            unsafe row[4 &* index &+ 3] = UInt8(min(max((plane[index] &+ 32) &>> 6, 0), 255))
        }
    }

    @inline(__always)
    private static func load(_ source: UnsafePointer<Int16>, _ index: Int) -> SIMD8<Int16> {
        unsafe UnsafeRawPointer(source + index).loadUnaligned(as: SIMD8<Int16>.self)
    }

    /// Returns the upper half of the product.
    @inline(__always)
    private static func high(_ vector: SIMD8<Int16>, _ factor: Int16) -> SIMD8<Int16> {
        let product = SIMD8<Int32>(truncatingIfNeeded: vector) &* Int32(factor)
        return SIMD8<Int16>(truncatingIfNeeded: product &>> 16)
    }

    @inline(__always)
    private static func limited(_ vector: SIMD8<Int16>) -> SIMD8<Int16> {
        ((vector &+ 16) &>> 5).clamped(lowerBound: .zero, upperBound: .init(repeating: 255))
    }

    /// Writes eight pixels from colours with five fractional bits, or as many as the row still has.
    @inline(__always)
    private static func store(
        _ red: SIMD8<Int16>, _ green: SIMD8<Int16>, _ blue: SIMD8<Int16>, at index: Int, of width: Int,
        in row: UnsafeMutablePointer<UInt8>
    ) {
        let lower = limited(red) | (limited(green) &<< 8)
        let upper = limited(blue) | SIMD8(repeating: Int16(bitPattern: 0xFF00))
        var pixels = SIMD16<Int16>()
        pixels.evenHalf = lower
        pixels.oddHalf = upper
        let target = unsafe UnsafeMutableRawPointer(row + 4 &* index)
        if index &+ 8 <= width {
            unsafe target.storeBytes(of: pixels, as: SIMD16<Int16>.self)
        } else {
            unsafe withUnsafeBytes(of: pixels) {
                unsafe target.copyMemory(from: $0.baseAddress!, byteCount: 4 &* (width &- index))
            }
        }
    }
}
