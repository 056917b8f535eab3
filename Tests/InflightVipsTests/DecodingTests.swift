import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("libvips decoder: files from other encoders", .timeLimit(.minutes(10)))
struct DecodingTests {
    @Test(
        "An AVIF of 8, 10 or 12 bits decodes correctly",
        arguments: [
            ("plain", AVIFFixtures.plain, 8), ("ten", AVIFFixtures.tenBits, 10),
            ("twelve", AVIFFixtures.twelveBits, 12),
        ])
    func avif(_ name: String, _ bytes: [UInt8], _ bits: Int) throws {
        let info = try info(bytes)
        #expect(info.format == .avif && info.bitsPerComponent == bits && !info.hasAlpha && info.frameCount == 1)
        #expect(info.storedWidth == Scene.width && info.storedHeight == Scene.height && !info.mayHaveMoreFrames)
        #expect(try decode(bytes).psnr(Scene.color) > 38)
        #expect(try decode(bytes).format == .rgbx)
        try validate(bytes)
    }

    @Test("8-bit and 10-bit HEIC decode correctly", arguments: [(HEICFixtures.plain, 8), (HEICFixtures.tenBits, 10)])
    func heic(_ bytes: [UInt8], _ bits: Int) throws {
        let info = try info(bytes)
        #expect(info.format == .heic && info.bitsPerComponent == bits && !info.hasAlpha)
        #expect(try decode(bytes).psnr(Scene.color) > 36)
        try validate(bytes)
    }

    @Test("A greyscale AVIF file decodes to RGB")
    func gray() throws {
        #expect(try info(AVIFFixtures.gray).colorModel == .gray)
        #expect(try decode(AVIFFixtures.gray).psnr(Scene.gray) > 38)
    }

    @Test("Alpha decodes straight or, on request, premultiplied", arguments: [AVIFFixtures.alpha, HEICFixtures.alpha])
    func alpha(_ bytes: [UInt8]) throws {
        #expect(try info(bytes).hasAlpha)
        let pixels = try decode(bytes)
        #expect(pixels.format == .rgba)
        #expect(pixels.psnr(Scene.withAlpha) > 34)
        var options = DecodeOptions()
        options.order = .bgra
        options.premultiplied = true
        #expect(try decode(bytes, options).format == .premultipliedBGRA)
    }

    @Test("TIFF variants decode with the right colours, depths and page counts")
    func tiff() throws {
        #expect(try decode(TIFFFixtures.lzw).psnr(Scene.color) == 100)
        #expect(try decode(TIFFFixtures.bigTiles).psnr(Scene.color) == 100)
        #expect(try decode(TIFFFixtures.jpeg).psnr(Scene.color) > 36)
        #expect(try decode(TIFFFixtures.palette).psnr(Scene.color) > 25)
        #expect(try info(TIFFFixtures.palette).colorModel == .indexed)
        let sixteen = try info(TIFFFixtures.sixteenBits)
        #expect(sixteen.bitsPerComponent == 16 && sixteen.colorModel == .rgb)
        #expect(try decode(TIFFFixtures.sixteenBits).psnr(Scene.color) == 100)
        #expect(try info(TIFFFixtures.bilevel).bitsPerComponent == 1)
        let bilevel = try decode(TIFFFixtures.bilevel)
        #expect(bilevel[15, 11] == SIMD4(255, 255, 255, 255) && bilevel[0, 0] == SIMD4(0, 0, 0, 255))
        #expect(try info(TIFFFixtures.pages).frameCount == 3)
        #expect(try decode(TIFFFixtures.pages).psnr(Scene.color) == 100)
    }

    @Test("A CMYK TIFF file decodes to RGB")
    func cmyk() throws {
        #expect(try info(TIFFFixtures.cmyk).colorModel == .cmyk)
        let pixels = try decode(TIFFFixtures.cmyk)
        #expect(pixels.format == .rgbx)
        // Without a profile the inks are unknown, so only check that light stays light and red stays red.
        #expect(pixels[15, 11].min() > 170 && pixels[0, 0].x < 80)
        #expect(pixels[15, 0].x > pixels[15, 0].y && pixels[0, 11].y > pixels[0, 11].x)
    }

    @Test("Floating-point samples are linear light and decode through the sRGB transfer function")
    func floats() throws {
        let pixels = try decode(TIFFFixtures.floats)
        // 235/255 of linear light is 246 in sRGB (IEC 61966-2-1).
        #expect((245...247).contains(Int(pixels[15, 0].x)))
    }

    @Test("A Display P3 profile is converted to sRGB", arguments: [AVIFFixtures.displayP3, HEICFixtures.displayP3])
    func profile(_ bytes: [UInt8]) throws {
        #expect(try info(bytes).profileName == "RGB built-in")
        #expect(try decode(bytes).psnr(Scene.color) > 34)
    }
}
