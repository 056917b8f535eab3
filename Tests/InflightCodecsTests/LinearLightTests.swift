import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

@Suite("Decoding at a size in linear light", .timeLimit(.minutes(10)))
struct LinearLightTests {
    private static let resize = Resize(width: 7, height: 5, fit: .fill, light: .linear)

    @Test("Decoding at a size in linear light equals resizing the decoded image", arguments: DecodingTests.cases)
    func everyCodec(_ example: DecodingTests.Case) throws {
        let whole = try decode(example.bytes)
        let expected = whole.resized(to: Self.resize.plan(sourceWidth: whole.width, sourceHeight: whole.height))
        let pixels = try decode(example.bytes, DecodeOptions(resize: Self.resize))
        #expect(pixels.bytes == expected.bytes && pixels.format == expected.format)
        var usual = Self.resize
        usual.light = .encoded
        #expect(try decode(example.bytes, DecodeOptions(resize: usual)).bytes != pixels.bytes)
    }

    @Test("A checkerboard becomes 188 in linear light and 128 otherwise", arguments: [ImageFormat.jpeg, .png, .webp])
    func chequer(_ format: ImageFormat) throws {
        let chequer = PixelBuffer(width: 64, height: 64, format: .rgbx) { x, y in
            (x + y) % 2 == 0 ? SIMD4(0, 0, 0, 255) : SIMD4(255, 255, 255, 255)
        }
        var encoding = EncodeOptions(format: format, quality: format == .jpeg ? 100 : nil)
        encoding.isLossless = format == .webp
        let file = try registry.encode(chequer, options: encoding).array
        for (light, grey) in [(Resize.Light.linear, 188), (.encoded, 128)] {
            for side in [20, 8] {
                let resize = Resize(width: side, height: side, light: light)
                let middle = try decode(file, DecodeOptions(resize: resize))[side / 2, side / 2]
                #expect(abs(Int(middle.x) - grey) <= 1 && abs(Int(middle.z) - grey) <= 1, "\(light) \(middle)")
            }
        }
    }

    @Test("Profile colours are converted to sRGB before they are resized in linear light")
    func profiles() throws {
        let profile = Pieces.profile(order: [0, 1, 2], gamma: 1.0, name: "light")
        let files = [
            Pieces.jpeg(Fixtures.rgbJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + profile),
            Pieces.png(Fixtures.rgbPNG, adding: Pieces.iccp(profile, name: "swapped")),
            Pieces.webP(
                Pieces.webPCanvas(width: Scene.width, height: Scene.height, flags: 0x20) + Array("ICCP".utf8)
                    + Pieces.little32(profile.count) + profile + [UInt8](repeating: 0, count: profile.count % 2)
                    + Fixtures.lossyWebP[12...]),
        ]
        for file in files {
            let whole = try decode(file)
            #expect(whole.psnr(Scene.color) < 25, "its profile counts")
            let expected = whole.resized(to: Self.resize.plan(sourceWidth: whole.width, sourceHeight: whole.height))
            #expect(try decode(file, DecodeOptions(resize: Self.resize)).bytes == expected.bytes)
        }
    }

    @Test("Cropping by interest follows resizing in linear light")
    func interest() throws {
        let resize = Resize(width: 6, height: 3, fit: .cover, gravity: .interest, light: .linear)
        let scaled = try decode(
            Fixtures.oneBitPNG, DecodeOptions(resize: Resize(width: 6, height: 5, fit: .fill, light: .linear)))
        let pixels = try decode(Fixtures.oneBitPNG, DecodeOptions(resize: resize))
        #expect((0...2).contains { offset in pixels.psnr { scaled[$0, $1 + offset] } == 100 })
    }

    @Test("Animation frames are resized in linear light")
    func frames() async throws {
        for (name, gravity) in [("whole", Resize.Gravity.center), ("interest", .interest)] {
            let resize = Resize(width: 6, height: 4, fit: .cover, gravity: gravity, light: .linear)
            let image = try registry.animation(
                of: Bytes(Fixtures.animatedGIF), options: DecodeOptions(resize: resize))
            let whole = try registry.animation(of: Bytes(Fixtures.animatedGIF), options: DecodeOptions())
            let expected = try await whole.frame(at: 1).pixels.resized(
                to: Resize(width: 6, height: 5, fit: .exact, light: .linear).plan(sourceWidth: 16, sourceHeight: 12))
            let found = try await image.frame(at: 1).pixels
            #expect(
                (0...1).contains { offset in found.psnr { expected[$0, $1 + offset] } == 100 }, "\(name)")
        }
    }
}
