import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("JPEG XL decoding", .timeLimit(.minutes(10)))
struct JPEGXLTests {
    @Test("Colour, grey and alpha decode at 8, 10 and 12 bits and in floating point")
    func pixels() throws {
        #expect(try decode(JPEGXLFixtures.lossy).psnr(Scene.color) > 32)
        #expect(try decode(JPEGXLFixtures.alpha).psnr(Scene.withAlpha) == 100)
        #expect(try decode(JPEGXLFixtures.parts).psnr(Scene.color) == 100)
        #expect(try decode(JPEGXLFixtures.gray).psnr(Scene.gray) > 50)
        #expect(try decode(JPEGXLFixtures.tenBits).psnr(Scene.color) > 50)
        #expect(try decode(JPEGXLFixtures.twelveBits).psnr(Scene.color) > 50)
        #expect(try decode(JPEGXLFixtures.floats).psnr(Scene.color) > 50)
        let grayAlpha = try decode(JPEGXLFixtures.grayAlpha)
        #expect(grayAlpha.format == .rgba)
        #expect(
            grayAlpha.psnr { x, y in
                let (level, alpha) = (Scene.color(x, y).x, Scene.withAlpha(x, y).w)
                return SIMD4(level, level, level, alpha)
            } > 50)
        let black = try decode(JPEGXLFixtures.odd)
        #expect(black.width == 37 && black.height == 999 && black[18, 500] == SIMD4(0, 0, 0, 255))
    }

    @Test("The header gives size, depth, alpha and colour model, in codestreams and containers")
    func header() throws {
        let expected: [(String, [UInt8], Int, Bool, ImageInfo.ColorModel)] = [
            ("lossy", JPEGXLFixtures.lossy, 8, false, .rgb), ("alpha", JPEGXLFixtures.alpha, 8, true, .rgb),
            ("parts", JPEGXLFixtures.parts, 8, false, .rgb), ("gray", JPEGXLFixtures.gray, 8, false, .gray),
            ("gray alpha", JPEGXLFixtures.grayAlpha, 8, true, .gray), ("ten", JPEGXLFixtures.tenBits, 10, false, .rgb),
            ("twelve", JPEGXLFixtures.twelveBits, 12, false, .rgb), ("float", JPEGXLFixtures.floats, 32, false, .rgb),
        ]
        for (name, bytes, bits, hasAlpha, model) in expected {
            let info = try info(bytes)
            #expect(info.storedWidth == 16 && info.storedHeight == 12 && info.orientation == .up, "\(name)")
            #expect(info.bitsPerComponent == bits && info.hasAlpha == hasAlpha && info.colorModel == model, "\(name)")
            #expect(!info.mayHaveMoreFrames && info.frameCount == 1, "\(name)")
            try validate(bytes)
        }
        let odd = try info(JPEGXLFixtures.odd)
        #expect(odd.storedWidth == 999 && odd.storedHeight == 37 && odd.width == 37 && odd.orientation == .leftMirrored)
    }

    @Test("Validation reports a file truncated at any length as damaged")
    func cutShort() throws {
        for file in [JPEGXLFixtures.lossy, JPEGXLFixtures.alpha, JPEGXLFixtures.parts, JPEGXLFixtures.animation] {
            try VipsDecoder().validate(Bytes(file), format: .jpegXL)
            for length in 2..<file.count {
                let part = Bytes(Array(file[..<length]))
                #expect(
                    code { try VipsDecoder().validate(part, format: .jpegXL) } == .damaged, "\(length) of \(file.count)"
                )
            }
        }
    }

    @Test("Premultiplied alpha decodes to straight alpha")
    func multiplied() throws {
        #expect(try info(JPEGXLFixtures.premultiplied).hasAlpha)
        #expect(try decode(JPEGXLFixtures.premultiplied).psnr(Scene.withAlpha) > 45)
    }

    @Test("An animation decodes to its first frame, and its info says it may have more")
    func animation() throws {
        let info = try info(JPEGXLFixtures.animation)
        #expect(info.mayHaveMoreFrames && info.frameCount == 1)
        #expect(try decode(JPEGXLFixtures.animation).psnr(Scene.color) > 50)
    }

    @Test("Display P3 colours decode to sRGB")
    func wide() throws {
        let pixels = try decode(JPEGXLFixtures.displayP3)
        let plain = try decode(JPEGXLFixtures.parts)
        // A saturated red of the wider primaries is more saturated in sRGB; greys are the same.
        #expect(plain[15, 0] == SIMD4(235, 5, 140, 255) && pixels[15, 0].x >= 245)
    }

    @Test("A header of 68 kB, of which most is the names of channels, decodes")
    func longHeader() throws {
        var pieces = JPEGXLPieces()
        pieces.channels = Array(repeating: .thermal(nameLength: 1071), count: 64)
        pieces.isXYB = false
        pieces.frame = JPEGXLPieces.thermalFrame
        let pixels = try decode(pieces.file)
        #expect(pixels.width == 16 && pixels.height == 8 && pixels.psnr(Scene.color) == 100)
        // Each probe of a part asks for more, until the header is there.
        var length = 64
        while case .needsMoreBytes(let count) = try IsolatedFormats.probe(
            Bytes(Array(pieces.file[..<length])), format: .jpegXL, isComplete: false)
        {
            #expect(count > length)
            length = min(pieces.file.count, max(count, length * 2))
        }
        #expect(length > 68_000)
    }
}
