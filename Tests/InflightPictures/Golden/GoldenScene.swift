package import InflightCore

/// The image in the golden fixtures, as a formula: gradients, a disk with a hard edge, a grey ramp, saturated colours.
/// It is large enough for the window of ``StructuralSimilarity`` and has no symmetry.
package enum GoldenScene {
    package static let width = 32
    package static let height = 24

    private static func isInDisk(_ x: Int, _ y: Int) -> Bool { (x - 21) * (x - 21) + (y - 9) * (y - 9) < 36 }

    /// Red, green and blue, from 0 to 255: whole numbers, as stored in eight bits.
    package static func color(_ x: Int, _ y: Int) -> SIMD3<Double> {
        if isInDisk(x, y) { return SIMD3(225, Double(60 + 3 * x), 30) }
        if (18..<22).contains(y) { return SIMD3(repeating: Double(20 + 7 * x)) }
        return SIMD3(Double(12 + 7 * x), Double(10 + 9 * y), Double(225 - 3 * (x + y)))
    }

    package static func gray(_ x: Int, _ y: Int) -> Double { isInDisk(x, y) ? 225 : Double(4 * x + 5 * y) }

    /// Returns `value`, from 0 to 255, as stored in 16 bits: with lower bits of its own.
    package static func deep(_ value: Double, _ x: Int, _ y: Int) -> Double {
        (value * 257 + Double(8 * ((x + y) % 16) - 60)) / 257
    }

    /// The colour of a pixel as stored in 16 bits.
    package static func deepColor(_ x: Int, _ y: Int) -> SIMD3<Double> {
        let color = color(x, y)
        return SIMD3(deep(color[0], x, y), deep(color[1], x, y), deep(color[2], x, y))
    }

    package static func alpha(_ x: Int, _ y: Int) -> Double { x < 4 ? 0 : Double(min(255, (x - 3) * 11)) }

    /// Cyan, magenta, yellow and black, from 0 for none to 255.
    package static func inks(_ x: Int, _ y: Int) -> SIMD4<Double> {
        SIMD4(Double(8 * x), Double(10 * y), Double(4 * (x + y)), Double(3 * x + (isInDisk(x, y) ? 90 : 0)))
    }

    package static func opaque(_ color: SIMD3<Double>) -> SIMD4<Double> { SIMD4(color, 255) }

    /// Returns the stored pixel displayed at `x`, `y`: as ``Scene/stored(_:_:_:)``, for this size.
    package static func stored(_ orientation: ImageInfo.Orientation, _ x: Int, _ y: Int) -> (Int, Int) {
        Scene.stored(orientation, x, y, width: width, height: height)
    }
}

/// The similarity of pixels to a reference in double precision.
package struct Nearness: CustomStringConvertible {
    /// The peak signal-to-noise ratio of all channels, colours multiplied by alpha; 100 if nothing differs.
    package var decibels: Double
    /// ``StructuralSimilarity`` of the luma (BT.601), multiplied by alpha.
    package var similarity: Double

    package var description: String { "\(decibels) dB, similarity \(similarity)" }
}

extension PixelBuffer {
    /// - Parameter reference: RGBA from 0 to 255, not rounded; straight, or premultiplied if these pixels are.
    package func nearness(_ reference: (Int, Int) -> SIMD4<Double>) -> Nearness {
        var squares = 0.0
        var lumas: [[Double]] = [[], []]
        let isMultiplied = format.alpha != .straight
        for y in 0..<height {
            for x in 0..<width {
                let bytes = self[x, y]
                var own = SIMD4(Double(bytes[0]), Double(bytes[1]), Double(bytes[2]), Double(bytes[3]))
                if format.order == .bgra { own = SIMD4(own[2], own[1], own[0], own[3]) }
                var other = reference(x, y)
                if !isMultiplied {
                    own = Self.multiplied(own)
                    other = Self.multiplied(other)
                }
                let difference = own - other
                squares += (difference * difference).sum()
                for (index, pixel) in [own, other].enumerated() {
                    lumas[index].append(0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])
                }
            }
        }
        return Nearness(
            decibels: Decibels.psnr(squares: squares, count: width * height * 4),
            similarity: StructuralSimilarity.mean(lumas[0], lumas[1], width: width))
    }

    private static func multiplied(_ pixel: SIMD4<Double>) -> SIMD4<Double> {
        let color = pixel * (pixel[3] / 255)
        return SIMD4(color[0], color[1], color[2], pixel[3])
    }
}
