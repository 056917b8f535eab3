import InflightImages
import Testing

@Suite("Colour processors", .timeLimit(.minutes(10)))
struct ColorStepTests {
    static let formats = [
        PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA, PixelBuffer.Format(order: .bgra, alpha: .straight),
    ]

    /// The results for one colour in every format.
    private func becomes(_ processor: ImageProcessor, _ color: (Int, Int, Int)) throws -> Set<[Int]> {
        Set(
            try Self.formats.map { format in
                let pixels = Painted(3, 2) { _, _ in (color.0, color.1, color.2, 255) }.pixels(format)
                return Array(try pixels.processed(by: [processor])[2, 1])
            })
    }

    @Test(
        "Colour adjustments match the W3C filter functions",
        arguments: [
            // Calculated by hand from the matrices of Filter Effects Module Level 1.
            (.grey, (100, 150, 200), [143, 143, 143, 255]), (.grey, (255, 255, 255), [255, 255, 255, 255]),
            (.adjust(brightness: 1.5), (100, 180, 0), [150, 255, 0, 255]),
            (.adjust(contrast: 2), (100, 150, 255), [73, 173, 255, 255]),
            (.adjust(contrast: 0), (3, 90, 255), [128, 128, 128, 255]),
            (.adjust(saturation: 0), (100, 150, 200), [143, 143, 143, 255]),
            (.adjust(saturation: 2), (100, 150, 200), [57, 157, 255, 255]),
            (.adjust(), (12, 34, 56), [12, 34, 56, 255]),
            // Twice the brightness and half the contrast: nothing is clipped in between.
            (.adjust(brightness: 2, contrast: 0.5), (200, 100, 0), [255, 164, 64, 255]),
        ] as [(ImageProcessor, (Int, Int, Int), [Int])])
    func table(processor: ImageProcessor, color: (Int, Int, Int), expected: [Int]) throws {
        let seen = try becomes(processor, color)
        #expect(seen.allSatisfy { zip($0, expected).allSatisfy { abs($0 - $1) <= 1 } }, "\(processor): \(seen)")
    }

    @Test("Colour adjustments keep alpha, and premultiplied colours stay within it")
    func alpha() throws {
        let painted = Painted(2, 2) { _, _ in (240, 120, 40, 100) }
        let straight = try painted.pixels(.rgba).processed(by: [.adjust(brightness: 3)])
        #expect(straight[1, 1] == [255, 255, 120, 100])
        let premultiplied = try painted.pixels(.premultipliedBGRA).processed(by: [.adjust(brightness: 3)])
        #expect(premultiplied[1, 1][0] == 100 && premultiplied[1, 1][3] == 100)
        #expect(abs(premultiplied[1, 1][2] - 47) <= 2)
    }

    @Test("Flattening composites transparent pixels over the given colour")
    func flatten() throws {
        let painted = Painted(2, 2) { x, _ in (200, 0, 0, x == 0 ? 0 : 128) }
        for format in [PixelBuffer.Format.rgba, .premultipliedBGRA] {
            let flat = try painted.pixels(format).processed(by: [.flatten(on: PixelColor("#0000ff")!)])
            #expect(flat.format.alpha == .opaque)
            #expect(flat[0, 0] == [0, 0, 255, 255])
            #expect(abs(flat[1, 0][0] - 100) <= 1 && abs(flat[1, 0][2] - 127) <= 1)
        }
    }

    @Test(
        "Colours are parsed from hexadecimal digits and names, and malformed ones are rejected",
        arguments: [
            ("#ff8000", PixelColor(red: 255, green: 128, blue: 0)),
            ("FF8000", PixelColor(red: 255, green: 128, blue: 0)),
            ("#f80", PixelColor(red: 255, green: 136, blue: 0)), ("white", .white), ("black", .black),
            ("clear", .clear),
            ("#11223344", PixelColor(red: 17, green: 34, blue: 51, alpha: 68)), ("", nil), ("#", nil), ("##fff", nil),
            ("#ff80", nil), ("#gggggg", nil), ("#ff80000000", nil), ("ｆ00", nil),
        ] as [(String, PixelColor?)])
    func text(text: String, color: PixelColor?) {
        #expect(PixelColor(text) == color)
        if let color { #expect(PixelColor(color.description) == color) }
    }
}
