import InflightCore
import InflightPictures
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ColorTests {
    static let swapped = Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "swapped channels")

    @Test("an embedded profile is applied: one with red and blue exchanged exchanges them")
    func profiles() throws {
        let jpeg = Pieces.jpeg(
            Fixtures.rgbJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Self.swapped)
        let png = Pieces.png(Fixtures.rgbPNG, adding: Pieces.iccp(Self.swapped, name: "swapped"))
        for file in [jpeg, png] {
            #expect(try info(file).profileName?.hasPrefix("swapped") == true)
            let pixels = try decode(file)
            // The curve of 2.2 is not quite that of sRGB.
            #expect(
                pixels.likeness {
                    let color = Scene.color($0, $1)
                    return SIMD4(color[2], color[1], color[0], 255)
                } > 36)
        }
    }

    @Test("a profile in two parts is put together, whatever their order")
    func parts() throws {
        let half = Self.swapped.count / 2
        let signature = Array("ICC_PROFILE\0".utf8)
        let second = Pieces.jpeg(
            Fixtures.rgbJPEG, adding: 0xE2, signature + [1, 2] + Self.swapped[..<half])
        let file = Pieces.jpeg(second, adding: 0xE2, signature + [2, 2] + Self.swapped[half...])
        let pixels = try decode(file)
        #expect(pixels[15, 0][2] > 200 && pixels[15, 0][0] < 160)
    }

    @Test("a broken profile is ignored", arguments: [0, 3, 131, 132, 200, 300])
    func brokenProfile(_ length: Int) throws {
        let plain = try decode(Fixtures.baselineJPEG)
        let file = Pieces.jpeg(
            Fixtures.baselineJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Self.swapped[..<length])
        let pixels = try decode(file)
        #expect(pixels.likeness { plain[$0, $1] } == 100)
    }

    @Test("alpha is kept when colours are changed")
    func alpha() throws {
        let pixels = try decode(Pieces.png(Fixtures.rgbaPNG, adding: Pieces.iccp(Self.swapped, name: "swapped")))
        #expect(pixels[2, 5][3] == 0 && pixels[5, 5][3] == 128 && pixels[12, 5][3] == 255)
    }

    @Test("PNG: another gamma makes the picture lighter or darker, that of sRGB leaves it, and sRGB goes before it")
    func gamma() throws {
        let plain = try decode(Fixtures.rgbPNG)
        let usual = Pieces.chunk("gAMA", Pieces.big32(45455))
        let linear = Pieces.chunk("gAMA", Pieces.big32(100_000))
        let declared = Pieces.chunk("sRGB", [0])
        #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: usual)).likeness { plain[$0, $1] } == 100)
        #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: declared + usual)).likeness { plain[$0, $1] } == 100)
        let lighter = try decode(Pieces.png(Fixtures.rgbPNG, adding: linear))
        // Half of the light is 188 in sRGB.
        let (x, y) = (8, 6)
        #expect(Scene.color(x, y)[0] == 130 && (188...190).contains(lighter[x, y][0]))
    }
}
