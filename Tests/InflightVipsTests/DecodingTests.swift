import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("What other programs wrote looks as they meant it", .timeLimit(.minutes(10)))
struct DecodingTests {
    @Test(
        "AVIF, of 8, 10 and 12 bits",
        arguments: [
            ("plain", AVIFFixtures.plain, 8), ("ten", AVIFFixtures.tenBits, 10),
            ("twelve", AVIFFixtures.twelveBits, 12),
        ])
    func avif(_ name: String, _ bytes: [UInt8], _ bits: Int) throws {
        let info = try info(bytes)
        #expect(info.format == .avif && info.bitsPerComponent == bits && !info.hasAlpha && info.frameCount == 1)
        #expect(info.storedWidth == Scene.width && info.storedHeight == Scene.height && !info.mayHaveMoreFrames)
        #expect(try decode(bytes).likeness(Scene.color) > 38)
        #expect(try decode(bytes).format == .rgbx)
        try validate(bytes)
    }

    @Test("HEIC, of 8 and 10 bits", arguments: [(HEICFixtures.plain, 8), (HEICFixtures.tenBits, 10)])
    func heic(_ bytes: [UInt8], _ bits: Int) throws {
        let info = try info(bytes)
        #expect(info.format == .heic && info.bitsPerComponent == bits && !info.hasAlpha)
        #expect(try decode(bytes).likeness(Scene.color) > 36)
        try validate(bytes)
    }

    @Test("grey becomes red, green and blue")
    func gray() throws {
        #expect(try info(AVIFFixtures.gray).colorModel == .gray)
        #expect(try decode(AVIFFixtures.gray).likeness(Scene.gray) > 38)
    }

    @Test("alpha stays straight", arguments: [AVIFFixtures.alpha, HEICFixtures.alpha])
    func alpha(_ bytes: [UInt8]) throws {
        #expect(try info(bytes).hasAlpha)
        let pixels = try decode(bytes)
        #expect(pixels.format == .rgba)
        #expect(pixels.likeness(Scene.withAlpha) > 34)
        var options = DecodeOptions()
        options.order = .bgra
        options.premultiplied = true
        #expect(try decode(bytes, options).format == .premultipliedBGRA)
    }

    @Test("TIFF, of every kind that its fixtures have")
    func tiff() throws {
        #expect(try decode(TIFFFixtures.lzw).likeness(Scene.color) == 100)
        #expect(try decode(TIFFFixtures.bigTiles).likeness(Scene.color) == 100)
        #expect(try decode(TIFFFixtures.jpeg).likeness(Scene.color) > 36)
        #expect(try decode(TIFFFixtures.palette).likeness(Scene.color) > 25)
        #expect(try info(TIFFFixtures.palette).colorModel == .indexed)
        let sixteen = try info(TIFFFixtures.sixteenBits)
        #expect(sixteen.bitsPerComponent == 16 && sixteen.colorModel == .rgb)
        #expect(try decode(TIFFFixtures.sixteenBits).likeness(Scene.color) == 100)
        #expect(try info(TIFFFixtures.bilevel).bitsPerComponent == 1)
        let bilevel = try decode(TIFFFixtures.bilevel)
        #expect(bilevel[15, 11] == SIMD4(255, 255, 255, 255) && bilevel[0, 0] == SIMD4(0, 0, 0, 255))
        #expect(try info(TIFFFixtures.pages).frameCount == 3)
        #expect(try decode(TIFFFixtures.pages).likeness(Scene.color) == 100)
    }

    @Test("inks become colours")
    func cmyk() throws {
        #expect(try info(TIFFFixtures.cmyk).colorModel == .cmyk)
        let pixels = try decode(TIFFFixtures.cmyk)
        #expect(pixels.format == .rgbx)
        // Without a profile nobody knows which inks: light stays light, red stays red.
        #expect(pixels[15, 11].min() > 170 && pixels[0, 0].x < 80)
        #expect(pixels[15, 0].x > pixels[15, 0].y && pixels[0, 11].y > pixels[0, 11].x)
    }

    @Test("floating point is light, which sRGB's curve is laid over")
    func floats() throws {
        let pixels = try decode(TIFFFixtures.floats)
        // 235 of 255 parts of light are 246 in sRGB (IEC 61966-2-1).
        #expect((245...247).contains(Int(pixels[15, 0].x)))
    }

    @Test("a profile's colours become sRGB", arguments: [AVIFFixtures.displayP3, HEICFixtures.displayP3])
    func profile(_ bytes: [UInt8]) throws {
        #expect(try info(bytes).profileName == "RGB built-in")
        #expect(try decode(bytes).likeness(Scene.color) > 34)
    }
}
