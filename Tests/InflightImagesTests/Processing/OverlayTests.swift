import InflightConcurrency
import InflightImages
import InflightTestSupport
import Testing

@Suite("Overlay, watermark and tint", .timeLimit(.minutes(10)))
struct OverlayTests {
    static let formats: [PixelBuffer.Format] = [
        .rgbx, .rgba, .premultipliedBGRA, PixelBuffer.Format(order: .bgra, alpha: .straight),
        PixelBuffer.Format(order: .rgba, alpha: .premultiplied),
    ]

    /// The formulas of W3C Compositing and Blending Level 1 as they stand there, on straight components 0 … 1.
    private static func reference(
        _ blend: ImageProcessor.Blend, _ top: [Double], over back: [Double], opacity: Double = 1
    ) -> [Double] {
        let (topAlpha, backAlpha) = (top[3] * opacity, back[3])
        let alpha = topAlpha + backAlpha * (1 - topAlpha)
        guard alpha > 0 else { return [0, 0, 0, 0] }
        let colors = (0..<3).map { channel in
            let (source, backdrop) = (top[channel], back[channel])
            let mix =
                switch blend {
                case .normal: source
                case .multiply: source * backdrop
                case .screen: source + backdrop - source * backdrop
                case .overlay:
                    backdrop <= 0.5 ? 2 * source * backdrop : 1 - 2 * (1 - source) * (1 - backdrop)
                case .darken: min(source, backdrop)
                case .lighten: max(source, backdrop)
                }
            let color =
                topAlpha * (1 - backAlpha) * source + topAlpha * backAlpha * mix
                + (1 - topAlpha) * backAlpha * backdrop
            return color / alpha
        }
        return colors + [alpha]
    }

    private static let samples = [0, 1, 51, 127, 128, 200, 254, 255]

    @Test("Opaque colours are blended exactly as the W3C defines", arguments: ImageProcessor.Blend.allCases)
    func opaque(blend: ImageProcessor.Blend) throws {
        let count = Self.samples.count
        let back = Painted(count, count) { x, y in (Self.samples[x], Self.samples[y], 77, 255) }
        let top = Painted(count, count) { x, y in (Self.samples[y], 90, Self.samples[x], 255) }
        let seen = try back.pixels(.rgbx).overlaid(with: top.pixels(.rgbx), blend: blend)
        for y in 0..<count {
            for x in 0..<count {
                let (one, two) = (top.color(x, y), back.color(x, y))
                let expected = Self.reference(blend, Self.unit(one), over: Self.unit(two))
                #expect(seen[x, y] == expected.map { Int(($0 * 255).rounded()) }, "\(one) over \(two)")
            }
        }
    }

    @Test("Every format of both images gives the same colours, and keeps that of the lower one")
    func formats() throws {
        let alphas = [0, 3, 128, 255]
        let back = Painted(16, 8) { x, y in (x * 16, 200, y * 30, alphas[x % 4]) }
        let top = Painted(16, 8) { x, y in (250, y * 32, 40, alphas[x / 4]) }
        for blend in ImageProcessor.Blend.allCases {
            for format in Self.formats {
                for other in Self.formats {
                    let seen = try back.pixels(format).overlaid(with: top.pixels(other), opacity: 0.6, blend: blend)
                    #expect(seen.format == format)
                    for y in 0..<8 {
                        for x in 0..<16 {
                            var (one, two) = (Self.unit(top.color(x, y)), Self.unit(back.color(x, y)))
                            if other.alpha == .opaque { one[3] = 1 }
                            if format.alpha == .opaque { two[3] = 1 }
                            let expected = Self.reference(blend, one, over: two, opacity: 0.6)
                            // Premultiplied, so that a rounded colour counts by its visibility.
                            let actual = Self.premultiplied(seen[x, y], format)
                            for channel in 0..<4 {
                                let wanted = expected[channel] * (channel == 3 ? 1 : expected[3]) * 255
                                #expect(abs(actual[channel] - wanted) <= 2.6, "\(blend) \(format) \(other) \(x),\(y)")
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("Gravity and margin place the overlay, and its part outside is dropped")
    func places() throws {
        let back = Painted(10, 8) { _, _ in (0, 0, 0, 255) }.pixels()
        let top = Painted(3, 2) { _, _ in (255, 255, 255, 255) }.pixels()
        let table: [(Resize.Gravity, Int, x: Range<Int>, y: Range<Int>)] = [
            (.topLeft, 0, 0..<3, 0..<2), (.bottomRight, 1, 6..<9, 5..<7), (.center, 0, 3..<6, 3..<5),
            (.top, 2, 3..<6, 2..<4), (.left, 1, 1..<4, 3..<5), (.interest, 0, 3..<6, 3..<5),
            (.topLeft, 9, 9..<10, 8..<8), (.bottomRight, 9, 0..<1, 0..<0), (.topRight, 4, 3..<6, 4..<6),
        ]
        for (gravity, margin, x, y) in table {
            let seen = try back.processed(by: [.overlay(top, name: "white", gravity: gravity, margin: margin)])
            for row in 0..<8 {
                for column in 0..<10 {
                    let isCovered = x.contains(column) && y.contains(row)
                    #expect(seen[column, row][0] == (isCovered ? 255 : 0), "\(gravity) \(margin): \(column), \(row)")
                }
            }
        }
    }

    @Test("Positions at the ends of the range of integers draw nothing, and do not overflow")
    func extremes() throws {
        let back = Painted(4, 4) { x, y in (x, y, 9, 255) }.pixels()
        let top = Painted(2, 2) { _, _ in (255, 255, 255, 255) }.pixels()
        for (x, y) in [(Int.max, 0), (Int.min, 0), (0, Int.max), (0, Int.min), (4, 0), (-2, 0), (0, -2), (0, 4)] {
            #expect(try back.overlaid(with: top, x: x, y: y).hasSameColors(as: back))
        }
        #expect(try back.overlaid(with: top, x: -1, y: 3)[0, 3] == [255, 255, 255, 255])
        #expect(try back.overlaid(with: top, opacity: 0).hasSameColors(as: back))
    }

    @Test("Parameters outside their ranges fail with invalidRequest when the processor runs")
    func invalid() {
        let image = Painted(4, 4) { _, _ in (1, 2, 3, 255) }.pixels()
        let processors: [ImageProcessor] = [
            .overlay(image, name: "x", opacity: -0.1), .overlay(image, name: "x", opacity: .nan),
            .overlay(image, name: "x", margin: -1), .overlay(image, name: "x", margin: Int.max),
            .watermark(image, name: "x", share: 0), .watermark(image, name: "x", share: 1.5),
            .watermark(image, name: "x", share: .nan),
        ]
        for processor in processors {
            let error = #expect(throws: LoadError.self) { try image.processed(by: [processor]) }
            #expect(error?.code == .invalidRequest && error?.stage == .process, "\(processor)")
        }
        #expect(throws: LoadError.self) { try image.overlaid(with: image, opacity: 2) }
    }

    @Test("A watermark takes at most its share of each side, and is never enlarged")
    func watermark() throws {
        let back = Painted(100, 40) { _, _ in (0, 0, 0, 255) }.pixels()
        let large = Painted(50, 50) { _, _ in (255, 255, 255, 255) }.pixels()
        let seen = try back.processed(by: [
            .watermark(large, name: "large", margin: 2, opacity: 1, share: 0.5)
        ])
        // Half the height is 20 pixels, 2 from the edges.
        #expect(seen[97, 37][0] == 255 && seen[78, 18][0] == 255)
        #expect(seen[98, 37][0] == 0 && seen[97, 38][0] == 0 && seen[77, 18][0] == 0 && seen[78, 17][0] == 0)
        let small = Painted(3, 3) { _, _ in (255, 255, 255, 255) }.pixels()
        let half = try back.processed(by: [.watermark(small, name: "small", margin: 0, opacity: 0.5)])
        #expect(half[97, 37] == [128, 128, 128, 255] && half[96, 37][0] == 0)
        let dot = Painted(1, 1) { _, _ in (0, 0, 0, 255) }.pixels()
        #expect(try dot.processed(by: [.watermark(large, name: "large", margin: 0, opacity: 1)])[0, 0][0] == 255)
    }

    @Test("A tint keeps alpha, and mixes the colour only where the image is visible")
    func tint() throws {
        let icon = Painted(4, 1) { x, _ in (10, 20, 30, [0, 64, 128, 255][x]) }
        for format in Self.formats where format.alpha != .opaque {
            let flat = try icon.pixels(format).processed(by: [.tint(PixelColor("#ff8000")!)])
            for x in 0..<4 {
                let alpha = [0, 64, 128, 255][x]
                #expect(flat[x, 0][3] == alpha)
                let seen = Self.premultiplied(flat[x, 0], format)
                for (channel, value) in [255, 128, 0].enumerated() {
                    #expect(abs(seen[channel] - Double(value * alpha) / 255) <= 1, "\(format) \(x)")
                }
            }
        }
        let photo = Painted(1, 1) { _, _ in (100, 200, 50, 255) }.pixels()
        let half = try photo.processed(by: [.tint(PixelColor(red: 255, green: 0, blue: 0, alpha: 51))])
        #expect(half[0, 0] == [131, 160, 40, 255])
        let multiplied = try photo.processed(by: [.tint(PixelColor("#ff8000")!, blend: .multiply)])
        #expect(multiplied[0, 0] == [100, 100, 0, 255])
    }

    @Test("Overlays differ by name, size and every parameter")
    func identities() {
        let one = Painted(2, 2) { _, _ in (1, 1, 1, 255) }.pixels()
        let two = Painted(3, 2) { _, _ in (1, 1, 1, 255) }.pixels()
        let all: [ImageProcessor] = [
            .overlay(one, name: "a"), .overlay(two, name: "a"), .overlay(one, name: "b"),
            .overlay(one, name: "a", gravity: .top), .overlay(one, name: "a", margin: 1),
            .overlay(one, name: "a", opacity: 0.5), .overlay(one, name: "a", blend: .screen),
            .watermark(one, name: "a"), .watermark(one, name: "a", share: 0.5), .tint(.black), .tint(.white),
            .tint(.black, blend: .screen),
        ]
        #expect(Set(all).count == all.count)
    }

    @Test("Overlay and tint pass every check of processors", arguments: ProcessorConformance.checks)
    func conformance(check: ConformanceCheck) async {
        let mark = Painted(7, 5) { x, y in (x * 30, y * 40, 200, x * 36) }.pixels(.rgba)
        let steps: [ImageProcessor] = [
            .overlay(mark, name: "mark", gravity: .bottomRight, margin: 1, opacity: 0.7, blend: .overlay),
            .watermark(mark, name: "mark"), .tint(PixelColor("#10203080")!, blend: .lighten),
        ]
        for step in steps {
            let failures = await ProcessorConformance { step }.run(check)
            #expect(failures.isEmpty, "\(step): \(failures)")
        }
    }

    private static func unit(_ color: (Int, Int, Int, Int)) -> [Double] {
        [color.0, color.1, color.2, color.3].map { Double($0) / 255 }
    }

    /// The pixel with premultiplied colours, 0 … 255.
    private static func premultiplied(_ pixel: [Int], _ format: PixelBuffer.Format) -> [Double] {
        let factor = format.alpha == .straight ? Double(pixel[3]) / 255 : 1
        return pixel.prefix(3).map { Double($0) * factor } + [Double(pixel[3])]
    }
}

extension PixelBuffer {
    fileprivate func hasSameColors(as other: PixelBuffer) -> Bool {
        (0..<height).allSatisfy { y in (0..<width).allSatisfy { x in self[x, y] == other[x, y] } }
    }
}
