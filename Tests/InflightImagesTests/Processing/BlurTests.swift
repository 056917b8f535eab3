import Foundation
import InflightImages
import Testing

@Suite("Blur and sharpening", .timeLimit(.minutes(10)))
struct BlurTests {
    /// A Gaussian blur by definition, in double precision: every pixel within five deviations, edges repeated.
    private func reference(_ painted: Painted, deviation: Double) -> [[Double]] {
        let reach = Int((deviation * 5).rounded(.up))
        var weights = (-reach...reach).map { exp(-Double($0 * $0) / (2 * deviation * deviation)) }
        let sum = weights.reduce(0, +)
        weights = weights.map { $0 / sum }
        let (width, height) = (painted.width, painted.height)
        let colors = (0..<width * height).map { index -> [Double] in
            let (red, green, blue, _) = painted.color(index % width, index / width)
            return [Double(red), Double(green), Double(blue)]
        }
        func along(_ source: [[Double]], _ step: (Int, Int, Int) -> Int) -> [[Double]] {
            (0..<width * height).map { index in
                var total = [0.0, 0, 0]
                for (offset, weight) in zip(-reach...reach, weights) {
                    let other = source[step(index % width, index / width, offset)]
                    for channel in 0..<3 { total[channel] += other[channel] * weight }
                }
                return total
            }
        }
        let rows = along(colors) { x, y, offset in y * width + max(0, min(width - 1, x + offset)) }
        return along(rows) { x, y, offset in max(0, min(height - 1, y + offset)) * width + x }
    }

    @Test("A blur approximates the Gaussian", arguments: [0.5, 1, 2, 4, 9.3])
    func gaussian(deviation: Double) throws {
        let painted = Painted.scene(61, 47)
        let expected = reference(painted, deviation: deviation)
        let blurred = try painted.pixels().processed(by: [.blur(radius: deviation)])
        let psnr = blurred.psnr { x, y, channel in expected[y * 61 + x][channel] }
        #expect(psnr > 42, "\(psnr) dB")
    }

    @Test("A blur keeps a uniform colour at any radius and size")
    func even() throws {
        for radius in [0.3, 3, 40, 1000] {
            for (width, height) in [(1, 1), (2, 9), (31, 5)] {
                let pixels = Painted(width, height) { _, _ in (255, 7, 128, 255) }.pixels()
                let blurred = try pixels.processed(by: [.blur(radius: radius)])
                for y in 0..<height {
                    for x in 0..<width { #expect(blurred[x, y] == [255, 7, 128, 255]) }
                }
            }
        }
    }

    @Test("A blur is symmetric under flips and quarter turns")
    func symmetry() throws {
        let pixels = Painted.scene(33, 33).pixels()
        let blurred = try pixels.processed(by: [.blur(radius: 3)])
        let mirrored = try pixels.processed(by: [.flip(.horizontal), .blur(radius: 3), .flip(.horizontal)])
        let turned = try pixels.processed(by: [.rotate(degrees: 90), .blur(radius: 3), .rotate(degrees: 270)])
        for y in 0..<33 {
            for x in 0..<33 {
                #expect(zip(blurred[x, y], mirrored[x, y]).allSatisfy { abs($0 - $1) <= 1 })
                #expect(zip(blurred[x, y], turned[x, y]).allSatisfy { abs($0 - $1) <= 1 })
            }
        }
    }

    @Test("A blur does not bleed colour from transparent pixels")
    func bleeding() throws {
        // Fully transparent red beside opaque green.
        let painted = Painted(20, 4) { x, _ in x < 10 ? (255, 0, 0, 0) : (0, 200, 0, 255) }
        let blurred = try painted.pixels(.rgba).processed(by: [.blur(radius: 2)])
        for x in 0..<20 where blurred[x, 1][3] > 0 {
            #expect(blurred[x, 1][0] == 0)
            #expect(abs(blurred[x, 1][1] - 200) <= 1 + 255 / (2 * blurred[x, 1][3]))
        }
        #expect(abs(blurred[9, 1][3] + blurred[10, 1][3] - 255) <= 2)
        let premultiplied = try painted.pixels(.premultipliedBGRA).processed(by: [.blur(radius: 2)])
        for x in 0..<20 { #expect(premultiplied[x, 1][1] <= premultiplied[x, 1][3]) }
    }

    @Test("Sharpening steepens edges and keeps uniform areas and alpha")
    func sharpen() throws {
        let painted = Painted(30, 8) { x, _ in x < 15 ? (60, 60, 60, 200) : (180, 180, 180, 200) }
        for format in [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA] {
            let pixels = painted.pixels(format)
            let sharp = try pixels.processed(by: [.sharpen(amount: 0.5, radius: 1)])
            #expect(sharp[0, 4] == pixels[0, 4] && sharp[29, 4] == pixels[29, 4])
            #expect(sharp[14, 4][0] < pixels[14, 4][0] - 5 && sharp[15, 4][0] > pixels[15, 4][0] + 5)
            #expect(sharp[14, 4][3] == pixels[14, 4][3])
        }
    }
}
