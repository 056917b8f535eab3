import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("TIFF", .timeLimit(.minutes(10)))
struct TIFFTests {
    @Test("each orientation is applied once, in both byte orders", arguments: ImageOrientation.allCases)
    func orientation(_ orientation: ImageOrientation) throws {
        for isLittle in [true, false] {
            var pieces = TIFFPieces()
            pieces.isLittle = isLittle
            pieces.fields = [(274, [orientation.rawValue], false)]
            let info = try info(pieces.file)
            #expect(info.orientation == orientation)
            let pixels = try decode(pieces.file)
            #expect(pixels.width == info.width && pixels.height == info.height)
            #expect(
                pixels.likeness {
                    let (x, y) = Scene.stored(orientation, $0, $1)
                    return Scene.color(x, y)
                } == 100)
        }
    }

    @Test("straight alpha stays, multiplied alpha is made straight, and what else there is counts for nothing")
    func alpha() throws {
        var pieces = TIFFPieces()
        pieces.samples = 4
        func pixels(_ extra: Int, isMultiplied: Bool) throws -> PixelBuffer {
            pieces.fields = [(338, [extra], false)]
            pieces.pixels = TIFFPieces.bytes { x, y in
                let pixel = Scene.withAlpha(x, y)
                let factor = isMultiplied ? Int(pixel.w) : 255
                return (0..<3).map { UInt8((Int(pixel[$0]) * factor + 127) / 255) } + [pixel.w]
            }
            return try decode(pieces.file)
        }
        #expect(try pixels(2, isMultiplied: false).likeness(Scene.withAlpha) == 100)
        #expect(try pixels(1, isMultiplied: true).likeness(Scene.withAlpha) > 48)
        let unknown = try pixels(0, isMultiplied: false)
        #expect(unknown.format == .rgbx && unknown.likeness(Scene.color) == 100)
    }

    @Test("a size in linear light is what the whole gives when it is resized so: a chequer's grey is 188")
    func linearLight() throws {
        var pieces = TIFFPieces()
        pieces.pixels = TIFFPieces.bytes { x, y in [UInt8](repeating: (x + y) % 2 == 0 ? 0 : 255, count: 3) }
        for (light, grey) in [(Resize.Light.linear, 188), (.encoded, 128)] {
            let resize = Resize(width: 8, height: 6, light: light)
            let pixels = try decode(pieces.file, DecodeOptions(resize: resize))
            let expected = try decode(pieces.file).resized(to: resize.plan(sourceWidth: 16, sourceHeight: 12))
            #expect(pixels.bytes == expected.bytes)
            #expect(abs(Int(pixels[4, 3].x) - grey) <= 2)
        }
    }

    @Test("16 bits are rounded to 8, alpha too")
    func sixteen() throws {
        var pieces = TIFFPieces()
        pieces.bits = 16
        pieces.samples = 4
        pieces.fields = [(338, [2], false)]
        // Not quite half a step beyond what eight bits hold.
        pieces.pixels = TIFFPieces.bytes { x, y in
            (0..<4).flatMap { channel in
                let value = Int(Scene.withAlpha(x, y)[channel]) * 257
                return Pieces.little16(min(value + 127, 65535))
            }
        }
        #expect(try decode(pieces.file).likeness(Scene.withAlpha) > 70)
        pieces.pixels = TIFFPieces.bytes { x, y in
            (0..<4).flatMap { Pieces.little16(max(Int(Scene.withAlpha(x, y)[$0]) * 257 - 127, 0)) }
        }
        #expect(try decode(pieces.file).likeness(Scene.withAlpha) > 70)
    }

    @Test("a profile is applied to colours and greys, and one that is sRGB, or broken, changes nothing")
    func profile() throws {
        var pieces = TIFFPieces()
        pieces.profile = Pieces.profile(order: [1, 0, 2], gamma: 2.2, name: "red and green swapped")
        let swapped = try decode(pieces.file)
        #expect(
            swapped.likeness { x, y in
                let pixel = Scene.color(x, y)
                return SIMD4(pixel.y, pixel.x, pixel.z, 255)
            } > 32)
        pieces.profile = Pieces.profile(order: [0, 1, 2], gamma: 1.0, name: "light")
        let light = try decode(pieces.file)
        // 235 of 255 parts of light are 246 in sRGB (IEC 61966-2-1).
        #expect((245...247).contains(Int(light[15, 0].x)))
        pieces.profile = [UInt8](repeating: 9, count: 200)
        #expect(try decode(pieces.file).likeness(Scene.color) == 100)
    }

    @Test("pixels that cannot be unpacked are damage, and not shown as far as they go", arguments: [5, 7, 8, 32773])
    func packed(_ compression: Int) throws {
        var pieces = TIFFPieces()
        pieces.compression = compression
        pieces.pixels = [UInt8](repeating: 0x7F, count: 64)
        #expect(code { _ = try decode(pieces.file) } == .damaged)
    }

    @Test("any page is decoded, each with its own size and orientation")
    func pages() throws {
        var second = TIFFPieces()
        second.height = 6
        second.pixels = Array(second.pixels.prefix(16 * 6 * 3)).map { 255 - $0 }
        second.fields = [(274, [3], false)]
        let file = TIFFPieces.file([TIFFPieces(), second])
        var options = DecodeOptions()
        for page in 0..<2 {
            options.page = page
            let info = try IsolatedFormats.info(Bytes(file), format: .tiff, page: page)
            let pixels = try VipsDecoder().decode(
                Bytes(file), format: .tiff, info: info, options: options, cancellation: CancellationFlag())
            #expect(pixels.height == (page == 0 ? 12 : 6))
            #expect(
                pixels.likeness { x, y in
                    if page == 0 { return Scene.color(x, y) }
                    var color = 255 &- Scene.color(15 - x, 5 - y)
                    color.w = 255
                    return color
                } == 100)
        }
    }
}
