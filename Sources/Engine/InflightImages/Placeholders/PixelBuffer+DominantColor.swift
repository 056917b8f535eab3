extension PixelBuffer {
    /// The most frequent colour of the image, opaque; ``PixelColor/clear`` if all pixels are transparent.
    ///
    /// It is the alpha-weighted mean of the most frequent similar colours. Any thread may compute it. An image with a
    /// side above 100 pixels is downscaled first, which takes most of the time. Nothing is cached.
    public var dominantColor: PixelColor {
        let small = forPlaceholder
        // A histogram with eight steps per channel.
        var sums = [SIMD4<Float>](repeating: .zero, count: 512)
        unsafe small.withUnsafeBytes { memory in
            for y in 0..<small.height {
                for x in 0..<small.width {
                    let pixel = unsafe PixelFloats.load(memory.baseAddress! + (y * small.bytesPerRow + x * 4))
                    let step = (0..<3).reduce(0) { $0 << 3 | Int(pixel[$1]) >> 5 }
                    let alpha = pixel[3] / 255
                    sums[step] += SIMD4(pixel[0] * alpha, pixel[1] * alpha, pixel[2] * alpha, alpha)
                }
            }
        }
        // Count neighbours together, because similar colours may fall on both sides of a step's border.
        var best = SIMD4<Float>.zero
        for step in sums.indices where sums[step][3] > 0 {
            var together = SIMD4<Float>.zero
            for other in Self.neighbours(of: step) { together += sums[other] }
            if together[3] > best[3] { best = together }
        }
        guard best[3] > 0 else { return .clear }
        let color = PixelFloats.rounded(best / best[3])
        return PixelColor(red: color[0], green: color[1], blue: color[2])
    }

    /// Returns the step itself, and those that differ by one in one channel.
    private static func neighbours(of step: Int) -> [Int] {
        [step]
            + [0, 3, 6].flatMap { shift -> [Int] in
                let digit = step >> shift & 7
                return [digit - 1, digit + 1].filter { (0..<8).contains($0) }.map { step + ($0 - digit) << shift }
            }
    }
}
