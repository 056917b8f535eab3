import InflightConcurrency

/// A Gaussian blur as three box blurs, one after the other, on each axis: near enough to the bell, at a cost that does
/// not depend on the radius.
///
/// The boxes have a fraction at their ends, so that their variance is exact (P. Gwosdek, S. Grewenig, A. Bruhn,
/// J. Weickert: Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011). Beyond the edges the
/// picture goes on as at the edge.
///
/// Columns are blurred four at a time, and written as rows, so that the same step done twice blurs both axes.
struct GaussianBlur {
    /// Pixels inside the box on each side of the middle one.
    private let reach: Int
    /// The weight of each, and of those two at the ends.
    private let weight: Float
    private let endWeight: Float

    /// - Parameter deviation: above 0.
    init(deviation: Double) {
        // Of each of the three.
        let variance = deviation * deviation / 3
        let reach = Int(((12 * variance + 1).squareRoot() - 1) / 2)
        let (l, length) = (Double(reach), Double(2 * reach + 1))
        let fraction = length * (l * (l + 1) - 3 * variance) / (6 * (variance - (l + 1) * (l + 1)))
        self.reach = reach
        weight = Float(1 / (length + 2 * fraction))
        endWeight = Float(fraction / (length + 2 * fraction))
    }

    /// Sixteen samples: four pixels beside one another.
    private typealias Lanes = SIMD16<Float>

    /// Gives the picture blurred, in the same format.
    func callAsFunction(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let (width, height) = (pixels.width, pixels.height)
        let isStraight = pixels.format.alpha == .straight
        // Between the axes: as many samples of 16 bits, eight of them behind the point.
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

    /// Of fewer than four pixels the last one is repeated.
    @inline(__always)
    private static func lanes(_ count: Int, _ pixel: (Int) -> SIMD4<Float>) -> Lanes {
        Lanes(
            lowHalf: SIMD8(lowHalf: pixel(0), highHalf: pixel(min(1, count &- 1))),
            highHalf: SIMD8(lowHalf: pixel(min(2, count &- 1)), highHalf: pixel(min(3, count &- 1))))
    }

    /// Blurs along the columns of what `load` gives for up to four of them in a row.
    ///
    /// The three boxes follow one another at the distance that each needs, so that what one writes is still at hand when
    /// the next one reads it.
    @inline(__always)
    private func run(
        columns: Int, rows: Int, _ cancellation: CancellationFlag, load: (Int, Int, Int) -> Lanes,
        store: (Int, Int, SIMD4<Float>) -> Void
    ) throws(LoadError) {
        // Room for what lies beyond both ends.
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

    /// One box on its way down.
    // Safe: the pointers never leave, and have room for the margin at both ends.
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

        /// Goes on as far as the rows allow that there are now, and says how far that is.
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
            throw ProcessingError.invalid("\(identity) cannot be. Give a radius from 0 to 1000 pixels.")
        }
        try cancellation.checkProcessing()
        if radius == 0 { return pixels }
        return try GaussianBlur(deviation: radius)(pixels, cancellation: cancellation)
    }
}

/// What a blur takes away, added.
struct SharpenStep: ImageProcessing {
    let amount: Double
    let radius: Double

    var identity: String { "sharpen(amount: \(amount), radius: \(radius))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard amount >= 0, amount <= 10, radius >= 0, radius <= 1000 else {
            throw ProcessingError.invalid(
                "\(identity) cannot be. Give an amount from 0 to 10 and a radius from 0 to 1000 pixels.")
        }
        try cancellation.checkProcessing()
        if amount == 0 || radius == 0 { return pixels }
        let blurred = try GaussianBlur(deviation: radius)(pixels, cancellation: cancellation)
        let isPremultiplied = pixels.format.alpha == .premultiplied
        let (width, factor) = (pixels.width, Float(amount))
        // Alpha stays as it is: what is sharpened are the colours.
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
