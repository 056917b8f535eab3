import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

let registry = CodecRegistry(Codecs.standard)

func decode(_ bytes: [UInt8], _ options: DecodeOptions = DecodeOptions()) throws(LoadError) -> PixelBuffer {
    try registry.decode(Bytes(bytes), options: options, cancellation: CancellationFlag()).0
}

func info(_ bytes: [UInt8]) throws -> ImageInfo {
    guard case .info(let info) = try registry.probe(Bytes(bytes), isComplete: true) else {
        throw LoadError(.damaged, stage: .decode, message: "asked for more")
    }
    return info
}

@Suite(.timeLimit(.minutes(10)))
struct DecodingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        let least: Double
        let pixel: @Sendable (Int, Int) -> SIMD4<UInt8>
        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], _ least: Double, _ pixel: @escaping @Sendable (Int, Int) -> SIMD4<UInt8>)
        {
            self.name = name
            self.bytes = bytes
            self.least = least
            self.pixel = pixel
        }
    }

    static let cases: [Case] = [
        Case("baseline JPEG", Fixtures.baselineJPEG, 32, Scene.color),
        Case("progressive JPEG", Fixtures.progressiveJPEG, 32, Scene.color),
        Case("arithmetic JPEG", Fixtures.arithmeticJPEG, 32, Scene.color),
        Case("grey JPEG", Fixtures.grayJPEG, 40, Scene.gray),
        Case("RGB JPEG", Fixtures.rgbJPEG, 40, Scene.color),
        Case("JPEG with restarts", Fixtures.restartsJPEG, 38, Scene.color),
        Case("JPEG with a scan per component", Fixtures.planesJPEG, 32, Scene.color),
        Case("CMYK JPEG", Fixtures.cmykJPEG, 40, Scene.color),
        Case("RGB PNG", Fixtures.rgbPNG, 100, Scene.color),
        Case("RGBA PNG", Fixtures.rgbaPNG, 100, Scene.withAlpha),
        Case("palette PNG", Fixtures.palettePNG, 100, Scene.color),
        Case("palette PNG with a transparent colour", Fixtures.transparentPalettePNG, 100, Scene.firstPixelTransparent),
        Case("16-bit PNG", Fixtures.sixteenBitPNG, 100, Scene.color),
        Case("interlaced PNG", Fixtures.interlacedPNG, 100, Scene.withAlpha),
        Case("1-bit PNG", Fixtures.oneBitPNG, 100, Scene.checkered),
        Case("lossy WebP", Fixtures.lossyWebP, 32, Scene.color),
        Case("lossless WebP", Fixtures.losslessWebP, 100, Scene.color),
        Case("WebP with alpha", Fixtures.alphaWebP, 32, Scene.withAlpha),
        Case("animated WebP", Fixtures.animatedWebP, 100, Scene.firstFrame),
        Case("interlaced GIF", Fixtures.interlacedGIF, 100, Scene.color),
        Case("animated GIF", Fixtures.animatedGIF, 100, Scene.firstFrame),
        Case("24-bit BMP", Fixtures.rgbBMP, 100, Scene.color),
        Case("1-bit BMP", Fixtures.oneBitBMP, 100, Scene.checkered),
        Case("palette BMP", Fixtures.paletteBMP, 100, Scene.color),
        Case("BMP in runs", Fixtures.runsBMP, 100, Scene.color),
        Case("OS/2 BMP", Fixtures.os2BMP, 100, Scene.color),
        Case("BMP with bit fields", Fixtures.fieldsBMP, 36, Scene.color),
        Case("BMP with alpha", Fixtures.alphaBMP, 100, Scene.withAlpha),
        Case("BMP from the top", Fixtures.topDownBMP, 100, Scene.color),
        Case("icon with a PNG", Fixtures.pngICO, 100, Scene.withAlpha),
        Case("icon with a bitmap", Fixtures.bitmapICO, 100, Scene.withAlpha),
        Case("icon of 32 bits", Fixtures.deepICO, 100, Scene.withAlpha),
        Case("icon with a palette", Fixtures.paletteICO, 100, Scene.color),
    ]

    @Test("An image of each format decodes to the drawn scene", arguments: cases)
    func golden(_ example: Case) throws {
        let pixels = try decode(example.bytes)
        #expect(pixels.width == Scene.width && pixels.height == Scene.height)
        #expect(pixels.psnr(example.pixel) >= example.least)
        #expect(try (pixels.format.alpha == .straight) == info(example.bytes).hasAlpha)
    }

    @Test(
        "Decoding at a smaller size matches resizing the decoded image", arguments: cases)
    func smaller(_ example: Case) throws {
        let whole = try decode(example.bytes)
        for (width, height) in [(8, 6), (5, 4), (2, 2), (1, 1)] {
            let resize = Resize(width: width, height: height, fit: .fill)
            let small = try decode(example.bytes, DecodeOptions(resize: resize))
            let expected = whole.resized(
                to: resize.plan(sourceWidth: Scene.width, sourceHeight: Scene.height))
            #expect(small.width == width && small.height == height)
            // CMYK is converted after the resizing here, and before it there.
            #expect(small.psnr { expected[$0, $1] } >= (width < 5 ? 27 : 31))
        }
    }

    @Test("Decoding at a larger size matches resizing the decoded image", arguments: cases)
    func larger(_ example: Case) throws {
        let resize = Resize(width: 37, height: 31, fit: .fill, enlarges: true)
        let large = try decode(example.bytes, DecodeOptions(resize: resize))
        let expected = try decode(example.bytes).resized(to: resize.plan(sourceWidth: 16, sourceHeight: 12))
        #expect(large.psnr { expected[$0, $1] } >= 31)
    }

    @Test("A crop equals the same part of the whole image, scaled or not", arguments: cases)
    func crops(_ example: Case) throws {
        let whole = try decode(example.bytes)
        let square = try decode(example.bytes, DecodeOptions(resize: Resize(width: 12, height: 12, fit: .cover)))
        #expect(square.psnr { whole[$0 + 2, $1] } >= 100)
        let small = try decode(example.bytes, DecodeOptions(resize: Resize(width: 6, height: 6, fit: .cover)))
        let all = try decode(example.bytes, DecodeOptions(resize: Resize(width: 8, height: 6, fit: .fill)))
        #expect(small.psnr { all[$0 + 1, $1] } >= 60)
    }

    @Test("Decoding returns the requested byte order and alpha format")
    func formats() throws {
        var options = DecodeOptions()
        options.order = .bgra
        options.premultiplied = true
        let pixels = try decode(Fixtures.rgbaPNG, options)
        #expect(pixels.format == .premultipliedBGRA)
        let expected = Scene.withAlpha(5, 7)
        let half = { (value: UInt8) in UInt8((Double(value) * 128 / 255).rounded()) }
        #expect(pixels[5, 7] == SIMD4(half(expected[2]), half(expected[1]), half(expected[0]), 128))
        #expect(pixels[0, 0] == .zero)
        let opaque = try decode(Fixtures.rgbPNG, options)
        #expect(opaque.format == PixelBuffer.Format(order: .bgra, alpha: .opaque))
        #expect(opaque[3, 4] == SIMD4(Scene.color(3, 4)[2], Scene.color(3, 4)[1], Scene.color(3, 4)[0], 255))
    }

    @Test("A format without pages rejects any page except the first", arguments: cases)
    func pages(_ example: Case) throws {
        var options = DecodeOptions()
        options.page = 1
        let error = #expect(throws: LoadError.self) { try decode(example.bytes, options) }
        #expect(error?.code == .invalidRequest)
        let format = try #require(ImageFormat.detect(Bytes(example.bytes)))
        let codec = try #require(Codecs.standard.first { $0.decodableFormats.contains(format) })
        #expect(throws: LoadError.self) {
            try codec.decode(Bytes(example.bytes), format: format, options: options, cancellation: CancellationFlag())
        }
        #expect(throws: LoadError.self) { try registry.animation(of: Bytes(example.bytes), options: options) }
    }
}
