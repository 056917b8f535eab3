/// Finds the part of an image to keep when cropping, by edges, saturated colours and skin colours.
///
/// Scores the pixels of a small copy. Of equally good positions, the one nearer to the middle wins. The measures are
/// usual ones (J. Wagner: smartcrop.js; libvips: `vips_smartcrop`, "attention"). The weights are ours, checked by eye
/// on the demo's images.
struct SmartCrop {
    private let width: Int
    private let height: Int
    /// The sums of the scores of all pixels left of and above a corner.
    private let sums: [Double]

    private static let longestSide = 96

    init(_ pixels: PixelBuffer) {
        let small = pixels.resized(
            to: Resize(width: Self.longestSide, height: Self.longestSide)
                .plan(sourceWidth: pixels.width, sourceHeight: pixels.height)
        ).flattened(onto: 255, 255, 255).converted(to: .rgbx)
        width = small.width
        height = small.height
        let scores = Self.scores(small)
        var sums = [Double](repeating: 0, count: (width + 1) * (height + 1))
        for y in 0..<height {
            var line = 0.0
            for x in 0..<width {
                line += Double(scores[y * width + x])
                sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + line
            }
        }
        self.sums = sums
    }

    /// Returns the best position of a part with these shares of both sides. Each coordinate is 0 … 1 of the remaining
    /// space.
    func place(widthShare: Double, heightShare: Double) -> (x: Double, y: Double) {
        let wide = max(1, min(width, Int((Double(width) * widthShare).rounded())))
        let high = max(1, min(height, Int((Double(height) * heightShare).rounded())))
        let (freeX, freeY) = (width - wide, height - high)
        var best = (score: -Double.infinity, x: 0.5, y: 0.5)
        for y in 0...freeY {
            for x in 0...freeX {
                let placeX = freeX == 0 ? 0.5 : Double(x) / Double(freeX)
                let placeY = freeY == 0 ? 0.5 : Double(y) / Double(freeY)
                let off = (placeX - 0.5) * (placeX - 0.5) + (placeY - 0.5) * (placeY - 0.5)
                let score = sum(x, y, wide, high) * (1 - 0.2 * off)
                if score > best.score { best = (score, placeX, placeY) }
            }
        }
        return (best.x, best.y)
    }

    private func sum(_ x: Int, _ y: Int, _ wide: Int, _ high: Int) -> Double {
        let row = width + 1
        let lower = sums[(y + high) * row + x + wide] - sums[(y + high) * row + x]
        return lower - sums[y * row + x + wide] + sums[y * row + x]
    }

    /// Returns a score for each pixel, at least 1, so that in a uniform image the middle is best.
    private static func scores(_ pixels: PixelBuffer) -> [Float] {
        let (width, height) = (pixels.width, pixels.height)
        var colors = [SIMD4<Float>](repeating: .zero, count: width * height)
        unsafe pixels.withUnsafeBytes { source in
            for y in 0..<height {
                for x in 0..<width {
                    colors[y * width + x] = unsafe PixelFloats.load(
                        source.baseAddress! + y * pixels.bytesPerRow + x * 4)
                }
            }
        }
        let light = colors.map { 0.2126 * $0[0] + 0.7152 * $0[1] + 0.0722 * $0[2] }
        return (0..<width * height).map { index in
            let (x, y) = (index % width, index / width)
            let left = light[index - (x > 0 ? 1 : 0)]
            let right = light[index + (x < width - 1 ? 1 : 0)]
            let above = light[index - (y > 0 ? width : 0)]
            let below = light[index + (y < height - 1 ? width : 0)]
            let edge = abs(4 * light[index] - left - right - above - below)
            let color = colors[index]
            let strongest = max(color[0], color[1], color[2])
            let saturation = strongest > 0 ? (strongest - min(color[0], color[1], color[2])) / strongest : 0
            // In very dark or very light pixels the colour is not visible.
            let isSeen = light[index] > 25 && light[index] < 235
            return 1 + edge + (isSeen ? 12 * saturation : 0) + (isSeen ? 40 * skin(color) : 0)
        }
    }

    /// Returns how near a colour is to skin, 0 … 1, by its direction alone, in which all skin tones agree.
    private static func skin(_ color: SIMD4<Float>) -> Float {
        let length = (color[0] * color[0] + color[1] * color[1] + color[2] * color[2]).squareRoot()
        guard length > 40 else { return 0 }
        let unit = color / length
        let off = unit - SIMD4(0.78, 0.57, 0.44, 0)
        let distance = (off[0] * off[0] + off[1] * off[1] + off[2] * off[2]).squareRoot()
        return max(0, 1 - distance / 0.15)
    }
}
