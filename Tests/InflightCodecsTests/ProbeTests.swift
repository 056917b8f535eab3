import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ProbeTests {
    @Test("The header gives colour model, depth, alpha, frame count and whether it is progressive")
    func kinds() throws {
        let progressive = try info(Fixtures.progressiveJPEG)
        #expect(progressive.isProgressive && progressive.colorModel == .rgb && progressive.format == .jpeg)
        #expect(try !info(Fixtures.baselineJPEG).isProgressive)
        #expect(try info(Fixtures.grayJPEG).colorModel == .gray)
        #expect(try info(Fixtures.cmykJPEG).colorModel == .cmyk)
        let sixteen = try info(Fixtures.sixteenBitPNG)
        #expect(sixteen.bitsPerComponent == 16 && !sixteen.hasAlpha)
        #expect(try info(Fixtures.oneBitPNG).bitsPerComponent == 1)
        let palette = try info(Fixtures.transparentPalettePNG)
        #expect(palette.colorModel == .indexed && palette.hasAlpha)
        #expect(try info(Fixtures.interlacedPNG).isProgressive)
        #expect(try info(Fixtures.rgbaPNG).hasAlpha)
        #expect(try info(Fixtures.animatedWebP).frameCount == 2)
        #expect(try info(Fixtures.alphaWebP).hasAlpha)
        #expect(try !info(Fixtures.lossyWebP).hasAlpha)
        #expect(try info(Fixtures.animatedGIF).frameCount == 2)
        let gif = try info(Fixtures.interlacedGIF)
        #expect(gif.isProgressive && gif.frameCount == 1 && gif.colorModel == .indexed && !gif.hasAlpha)
        for (_, bytes) in Fixtures.all {
            let information = try info(bytes)
            #expect(information.width == Scene.width && information.height == Scene.height)
        }
    }

    @Test("An animated PNG reports its frame count and decodes to its default image")
    func animatedPNG() throws {
        let control = Pieces.chunk("acTL", Pieces.big32(7) + Pieces.big32(0))
        let file = Pieces.png(Fixtures.rgbPNG, adding: control)
        #expect(try info(file).frameCount == 7)
        #expect(try decode(file).psnr(Scene.color) == 100)
    }

    @Test("Probing a header of very many blocks takes fewer than 20 probes")
    func longHeader() throws {
        // A comment in blocks of one byte, after the header and a table of 256 colours.
        let comment = [0x21, 0xFE] + [UInt8](repeating: 1, count: 200_000) + [0]
        let file = Array(Fixtures.animatedGIF[..<781]) + comment + Fixtures.animatedGIF[781...]
        let bytes = Bytes(file)
        #expect(try registry.validate(bytes).frameCount == 2)
        var looks = 0
        var length = 60_000
        while length < file.count {
            looks += 1
            let part = unsafe bytes.withUnsafeBytes { unsafe Bytes(copying: .init(rebasing: $0[..<length])) }
            guard case .needsMoreBytes(let count) = try registry.probe(part, isComplete: false) else { break }
            // More bytes arrive in steps of 1,000.
            length = max(length + 1000, count)
        }
        #expect(looks < 20)
    }

    @Test("A profile name contains no control characters")
    func profileName() throws {
        let profile = Pieces.profile(order: [0, 1, 2], gamma: 1.8, name: "Odd \u{1B}[31mname")
        let file = Pieces.jpeg(
            Fixtures.baselineJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + profile)
        #expect(try info(file).profileName == "Odd [31mname")
    }

    @Test("A lossless or 12-bit JPEG is unsupported, not damaged")
    func unsupportedJPEG() throws {
        let start = try #require(
            Fixtures.baselineJPEG.indices.first {
                Fixtures.baselineJPEG[$0] == 0xFF && Fixtures.baselineJPEG[$0 + 1] == 0xC0
            })
        var lossless = Fixtures.baselineJPEG
        lossless[start + 1] = 0xC3
        let error = #expect(throws: LoadError.self) { try decode(lossless) }
        #expect(error?.code == .unsupportedFormat)
        var twelve = Fixtures.baselineJPEG
        twelve[start + 4] = 12
        let other = #expect(throws: LoadError.self) { try decode(twelve) }
        #expect(other?.code == .unsupportedFormat)
    }
}
