import InflightConcurrency

/// A Gaussian blur approximated by three successive box blurs on each axis, at a cost independent of the radius.
///
/// The boxes have fractional ends, so that their variance is exact (P. Gwosdek, S. Grewenig, A. Bruhn, J. Weickert:
/// Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011). Pixels beyond the edges repeat the
/// edge pixels.
///
/// Columns are blurred four at a time and written as rows, so that running the same step twice blurs both axes.
struct GaussianBlur {
    /// The number of pixels inside the box on each side of the middle one.
    private let reach: Int
    /// The weight of each pixel inside the box; ``endWeight`` is that of the two at its ends.
    private let weight: Float
    private let endWeight: Float

    /// - Parameter deviation: the standard deviation, above 0.
    init(deviation: Double) {
        // The variance of each of the three boxes.
        let variance = deviation * deviation / 3
        let reach = Int(((12 * variance + 1).squareRoot() - 1) / 2)
        let (l, length) = (Double(reach), Double(2 * reach + 1))
        let fraction = length * (l * (l + 1) - 3 * variance) / (6 * (variance - (l + 1) * (l + 1)))
        self.reach = reach
        weight = Float(1 / (length + 2 * fraction))
        endWeight = Float(fraction / (length + 2 * fraction))
    }

    /// Sixteen samples: four adjacent pixels.
    private typealias Lanes = SIMD16<Float>

    /// Returns the blurred image in the same format.
    func callAsFunction(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let (width, height) = (pixels.width, pixels.height)
        let isStraight = pixels.format.alpha == .straight
        // Intermediate samples have 16 bits, eight of them fractional.
        let middle = UnsafeMutablePointer<SIMD4<UInt16>>.allocate(capacity: width * height)
        defer { unsafe middle.deallocate() }
        try unsafe pixels.withUnsafeBytes { source throws(LoadError) in
            let input = source.baseAddress!
            try run(columns: width, rows: height, cancellation) { x, y, count in
                let row = unsafe input + (y &* pixels.bytesPerRow &+ x &* 4)
                if count == 4, !isStraight { return unsafe PixelFloats.loadFour(row) }
                return Self.lanes(count) { index in
                    let pixel = unsafe PixelFloats.load(row + index &* 4)
                    return isStraight ? PixelFloats.premultiplied(pixel) : pixel
                }
            } store: { x, y, pixel in
                let bits = unsafe unsafeBitCast(pixel * 256 + 8_388_608, to: SIMD4<UInt32>.self)
                unsafe middle[x &* height &+ y] = SIMD4<UInt16>(truncatingIfNeeded: bits)
            }
        }
        return try unsafe PixelBuffer(width: width, height: height, format: pixels.format) { memory throws(LoadError) in
            let output = memory.baseAddress!
            try run(columns: height, rows: width, cancellation) { x, y, count in
                let row = unsafe middle + (y &* height &+ x)
                return Self.lanes(count) { index in
                    let bits = SIMD4<UInt32>(truncatingIfNeeded: unsafe row[index]) | 0x4B00_0000
                    return (unsafe unsafeBitCast(bits, to: SIMD4<Float>.self) - 8_388_608) * (1 / 256)
                }
            } store: { x, y, pixel in
                let pixel = isStraight ? PixelFloats.unpremultiplied(pixel) : pixel
                unsafe PixelFloats.store(pixel, to: output + (x &* width &+ y) &* 4)
            }
        }
    }

    /// Returns up to four pixels; if there are fewer, the last one is repeated.
    @inline(__always)
    private static func lanes(_ count: Int, _ pixel: (Int) -> SIMD4<Float>) -> Lanes {
        Lanes(
            lowHalf: SIMD8(lowHalf: pixel(0), highHalf: pixel(min(1, count &- 1))),
            highHalf: SIMD8(lowHalf: pixel(min(2, count &- 1)), highHalf: pixel(min(3, count &- 1))))
    }

    /// Blurs columns, whose pixels `load` returns for up to four adjacent columns.
    ///
    /// The three boxes follow each other at the minimum distance, so that the output of one is still in the CPU cache
    /// when the next reads it.
    @inline(__always)
    private func run(
        columns: Int, rows: Int, _ cancellation: CancellationFlag, load: (Int, Int, Int) -> Lanes,
        store: (Int, Int, SIMD4<Float>) -> Void
    ) throws(LoadError) {
        // The margin holds the pixels beyond both ends.
        let margin = reach + 1
        let room = rows + 2 * margin
        let memory = UnsafeMutablePointer<Lanes>.allocate(capacity: 4 * room)
        defer { unsafe memory.deallocate() }
        let source = unsafe memory + margin
        for x in stride(from: 0, to: columns, by: 4) {
            try cancellation.checkProcessing()
            let count = min(4, columns - x)
            var first = unsafe Box(from: source, to: source + room, rows: rows, blur: self)
            var second = unsafe Box(from: source + room, to: source + 2 * room, rows: rows, blur: self)
            var third = unsafe Box(from: source + 2 * room, to: source + 3 * room, rows: rows, blur: self)
            let result = unsafe source + 3 * room
            for start in stride(from: 0, to: rows, by: 32) {
                let end = min(start + 32, rows)
                for y in start..<end { unsafe source[y] = load(x, y, count) }
                let stored = third.done
                third.advance(as: second.advance(as: first.advance(as: end)))
                for y in stored..<third.done {
                    let lanes = unsafe result[y]
                    store(x, y, lanes.lowHalf.lowHalf)
                    if count > 1 { store(x &+ 1, y, lanes.lowHalf.highHalf) }
                    if count > 2 { store(x &+ 2, y, lanes.highHalf.lowHalf) }
                    if count > 3 { store(x &+ 3, y, lanes.highHalf.highHalf) }
                }
            }
        }
    }

    /// The progress of one box blur down the columns.
    // Safe: the pointers never escape, and have room for the margin at both ends.
    @safe private struct Box {
        private let source: UnsafeMutablePointer<Lanes>
        private let target: UnsafeMutablePointer<Lanes>
        private let rows: Int
        private let blur: GaussianBlur
        private var sum = Lanes.zero
        private(set) var done = 0

        @inline(__always)
        init(
            from source: UnsafeMutablePointer<Lanes>, to target: UnsafeMutablePointer<Lanes>, rows: Int,
            blur: GaussianBlur
        ) {
            unsafe self.source = unsafe source
            unsafe self.target = unsafe target
            self.rows = rows
            self.blur = blur
        }

        /// Advances as far as the available rows allow, and returns the end of the finished rows.
        @inline(__always) @discardableResult
        mutating func advance(as available: Int) -> Int {
            let (reach, margin) = (blur.reach, blur.reach + 1)
            let end = available == rows ? rows : max(0, available - margin)
            if available == rows, done < rows {
                for i in 0..<margin { unsafe source[rows + i] = source[rows - 1] }
            }
            guard end > done else { return done }
            if done == 0 {
                for i in 1...margin { unsafe source[-i] = source[0] }
                for i in -reach...reach { sum += unsafe source[i] }
            }
            var sum = sum
            let (weight, endWeight) = (blur.weight, blur.endWeight)
            for y in done..<end {
                let entering = unsafe source[y &+ margin]
                let ends = unsafe source[y &- margin] + entering
                unsafe target[y] = sum * weight + ends * endWeight
                sum += unsafe entering - source[y &- reach]
            }
            self.sum = sum
            done = end
            return end
        }
    }
}

struct BlurStep: ImageProcessing {
    let radius: Double

    var identity: String { "blur(radius: \(radius))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard radius >= 0, radius <= 1000 else {
            throw ProcessingError.invalid("Invalid processor \(identity). The radius must be from 0 to 1000 pixels.")
        }
        try cancellation.checkProcessing()
        if radius == 0 { return pixels }
        return try GaussianBlur(deviation: radius)(pixels, cancellation: cancellation)
    }
}

/// An unsharp mask: adds the difference between the image and its blur.
struct SharpenStep: ImageProcessing {
    let amount: Double
    let radius: Double

    var identity: String { "sharpen(amount: \(amount), radius: \(radius))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard amount >= 0, amount <= 10, radius >= 0, radius <= 1000 else {
            throw ProcessingError.invalid(
                "Invalid processor \(identity). The amount must be from 0 to 10, the radius from 0 to 1000 pixels.")
        }
        try cancellation.checkProcessing()
        if amount == 0 || radius == 0 { return pixels }
        let blurred = try GaussianBlur(deviation: radius)(pixels, cancellation: cancellation)
        let isPremultiplied = pixels.format.alpha == .premultiplied
        let (width, factor) = (pixels.width, Float(amount))
        // Sharpening changes colours only and keeps alpha.
        let channels = SIMD4<Float>(factor, factor, factor, 0)
        return try unsafe blurred.withUnsafeBytes { other throws(LoadError) in
            let blurredRows = other.baseAddress!
            return try unsafe pixels.rows(to: pixels.format, cancellation: cancellation) { y, source, target in
                let row = unsafe blurredRows + y &* blurred.bytesPerRow
                for offset in stride(from: 0, to: width &* 4, by: 4) {
                    let pixel = unsafe PixelFloats.load(source + offset)
                    var sum = unsafe pixel + (pixel - PixelFloats.load(row + offset)) * channels
                    let full = isPremultiplied ? pixel[3] : 255
                    sum.replace(with: full, where: sum .> full)
                    unsafe PixelFloats.store(sum, to: target + offset)
                }
            }
        }
    }
}
