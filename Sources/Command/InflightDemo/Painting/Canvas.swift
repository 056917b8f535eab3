import Inflight

/// An image while it is painted. Positions are in units of its height: `v` runs from 0 at the top to 1, `u` from 0 to
/// ``aspect``.
struct Canvas {
    let width: Int
    let height: Int
    var pixels: [Color]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = [Color](repeating: .zero, count: width * height)
    }

    var aspect: Float { Float(width) / Float(height) }
    /// The size of a pixel.
    var pixel: Float { 1 / Float(height) }

    /// Paints each pixel with the result of `shade` for its position and its current colour.
    @inline(__always)
    mutating func paint(rows: Range<Int>? = nil, _ shade: (_ u: Float, _ v: Float, _ below: Color) -> Color) {
        let size = pixel
        for y in rows ?? 0..<height {
            let v = (Float(y) + 0.5) * size
            let start = y * width
            for x in 0..<width {
                pixels[start + x] = shade((Float(x) + 0.5) * size, v, pixels[start + x])
            }
        }
    }

    /// Returns the heights of a line, one for each column.
    @inline(__always)
    func heights(of line: (_ u: Float) -> Float) -> [Float] {
        (0..<width).map { line((Float($0) + 0.5) * pixel) }
    }

    /// Paints the area below a line, with a smoothed edge.
    /// - Parameter covers: Lines that are painted over this later, so that the area below them can be skipped.
    @inline(__always)
    mutating func paintBelow(
        _ tops: [Float], until bottom: Float = 1, covers: ArraySlice<[Float]> = [],
        _ shade: (_ u: Float, _ v: Float, _ depth: Float) -> Color
    ) {
        let size = pixel
        let ends = (0..<width).map { column in covers.reduce(bottom) { min($0, $1[column] + size) } }
        let first = max(0, Int((tops.min() ?? 0) * Float(height)) - 1)
        let last = min(height, Int((ends.max() ?? 1) * Float(height)) + 1)
        for y in min(first, last)..<last {
            let v = (Float(y) + 0.5) * size
            let start = y * width
            for x in 0..<width {
                let depth = v - tops[x]
                if depth < -size || v > ends[x] { continue }
                let cover = Math.clamped(depth / size + 0.5)
                let color = shade((Float(x) + 0.5) * size, v, max(0, depth))
                pixels[start + x] = pixels[start + x].mixed(with: color, cover)
            }
        }
    }

    /// Paints the pixels around a point.
    @inline(__always)
    mutating func paintAround(
        _ u: Float, _ v: Float, _ radius: Float, _ shade: (_ distance: Float, _ below: Color) -> Color
    ) {
        let scale = Float(height)
        let left = max(0, Int((u - radius) * scale))
        let right = min(width - 1, Int((u + radius) * scale) + 1)
        let top = max(0, Int((v - radius) * scale))
        let bottom = min(height - 1, Int((v + radius) * scale) + 1)
        guard left <= right, top <= bottom else { return }
        for y in top...bottom {
            let dv = (Float(y) + 0.5) / scale - v
            for x in left...right {
                let du = (Float(x) + 0.5) / scale - u
                let distance = (du * du + dv * dv).squareRoot()
                if distance <= radius { pixels[y * width + x] = shade(distance / radius, pixels[y * width + x]) }
            }
        }
    }

    /// Paints the pixels of a box.
    @inline(__always)
    mutating func paintBox(
        _ u: ClosedRange<Float>, _ v: ClosedRange<Float>, _ shade: (_ u: Float, _ v: Float, _ below: Color) -> Color
    ) {
        let scale = Float(height)
        let left = max(0, Int((u.lowerBound * scale).rounded()))
        let right = min(width, Int((u.upperBound * scale).rounded()))
        let top = max(0, Int((v.lowerBound * scale).rounded()))
        let bottom = min(height, Int((v.upperBound * scale).rounded()))
        guard left < right, top < bottom else { return }
        for y in top..<bottom {
            for x in left..<right {
                let index = y * width + x
                pixels[index] = shade((Float(x) + 0.5) / scale, (Float(y) + 0.5) / scale, pixels[index])
            }
        }
    }

    /// Returns the colour at a position; outside the image, the nearest one.
    @inline(__always)
    func color(_ u: Float, _ v: Float) -> Color {
        let x = min(width - 1, max(0, Int(u * Float(height))))
        let y = min(height - 1, max(0, Int(v * Float(height))))
        return pixels[y * width + x]
    }

    /// Returns the finished image: darker towards the corners, with a little grain, which also keeps gradients smooth.
    func developed(seed: UInt32) -> PixelBuffer {
        let middle = aspect / 2
        let reach = 1 / (middle * middle + 0.25)
        return unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            for y in 0..<height {
                let dv = (Float(y) + 0.5) * pixel - 0.5
                for x in 0..<width {
                    let du = (Float(x) + 0.5) * pixel - middle
                    let shade = 1 - 0.22 * (du * du + dv * dv) * reach
                    let grain = (Noise.hash(Int32(x), Int32(y), seed) - 0.5) * 4.5 + 0.5
                    let color = pixels[y * width + x] * (255 * shade) + grain
                    let place = (y * width + x) * 4
                    unsafe memory[place] = UInt8(max(0, min(255, color.x)))
                    unsafe memory[place + 1] = UInt8(max(0, min(255, color.y)))
                    unsafe memory[place + 2] = UInt8(max(0, min(255, color.z)))
                    unsafe memory[place + 3] = 255
                }
            }
        }
    }
}
