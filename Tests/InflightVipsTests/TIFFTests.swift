import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("TIFF decoding", .timeLimit(.minutes(10)))
struct TIFFTests {
    @Test("Each TIFF orientation is applied once, in both byte orders", arguments: ImageInfo.Orientation.allCases)
    func orientation(_ orientation: ImageInfo.Orientation) throws {
        for isLittle in [true, false] {
            var pieces = TIFFPieces()
            pieces.isLittle = isLittle
            pieces.fields = [(274, [orientation.rawValue], false)]
            let info = try info(pieces.file)
            #expect(info.orientation == orientation)
            let pixels = try decode(pieces.file)
            #expect(pixels.width == info.width && pixels.height == info.height)
            #expect(
                pixels.psnr {
                    let (x, y) = Scene.stored(orientation, $0, $1)
                    return Scene.color(x, y)
                } == 100)
        }
    }

    @Test("Straight alpha is kept, premultiplied alpha becomes straight, other samples are ignored")
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
        #expect(try pixels(2, isMultiplied: false).psnr(Scene.withAlpha) == 100)
        #expect(try pixels(1, isMultiplied: true).psnr(Scene.withAlpha) > 48)
        let unknown = try pixels(0, isMultiplied: false)
        #expect(unknown.format == .rgbx && unknown.psnr(Scene.color) == 100)
    }

    @Test("Decoding at a size in linear light equals resizing the decoded image: a checkerboard becomes 188")
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

    @Test("16-bit colours and alpha are rounded to 8 bits")
    func sixteen() throws {
        var pieces = TIFFPieces()
        pieces.bits = 16
        pieces.samples = 4
        pieces.fields = [(338, [2], false)]
        // Just under half a step above a value that eight bits can hold.
        pieces.pixels = TIFFPieces.bytes { x, y in
            (0..<4).flatMap { channel in
                let value = Int(Scene.withAlpha(x, y)[channel]) * 257
                return Pieces.little16(min(value + 127, 65535))
            }
        }
        #expect(try decode(pieces.file).psnr(Scene.withAlpha) > 70)
        pieces.pixels = TIFFPieces.bytes { x, y in
            (0..<4).flatMap { Pieces.little16(max(Int(Scene.withAlpha(x, y)[$0]) * 257 - 127, 0)) }
        }
        #expect(try decode(pieces.file).psnr(Scene.withAlpha) > 70)
    }

    @Test("A colour profile is applied, and a corrupt one is ignored")
    func profile() throws {
        var pieces = TIFFPieces()
        pieces.profile = Pieces.profile(order: [1, 0, 2], gamma: 2.2, name: "red and green swapped")
        let swapped = try decode(pieces.file)
        #expect(
            swapped.psnr { x, y in
                let pixel = Scene.color(x, y)
                return SIMD4(pixel.y, pixel.x, pixel.z, 255)
            } > 32)
        pieces.profile = Pieces.profile(order: [0, 1, 2], gamma: 1.0, name: "light")
        let light = try decode(pieces.file)
        // 235/255 of linear light is 246 in sRGB (IEC 61966-2-1).
        #expect((245...247).contains(Int(light[15, 0].x)))
        pieces.profile = [UInt8](repeating: 9, count: 200)
        #expect(try decode(pieces.file).psnr(Scene.color) == 100)
    }

    @Test("Corrupt compressed data fails as damaged instead of returning partial pixels", arguments: [5, 7, 8, 32773])
    func packed(_ compression: Int) throws {
        var pieces = TIFFPieces()
        pieces.compression = compression
        pieces.pixels = [UInt8](repeating: 0x7F, count: 64)
        #expect(code { _ = try decode(pieces.file) } == .damaged)
    }

    /// The scene in samples scaled to `bits` bits: whole bytes little-endian, others packed from the highest bit.
    private func samples(
        _ bits: Int, isSigned: Bool = false, _ pixel: (Int, Int) -> [UInt8]
    ) -> [UInt8] {
        (0..<Scene.height).flatMap { y -> [UInt8] in
            let row = (0..<Scene.width).flatMap { pixel($0, y) }.map { value -> Int in
                let wide = (Int(value) * (1 << bits - 1) + 127) / 255
                return isSigned ? wide ^ 1 << (bits - 1) : wide
            }
            if bits % 8 == 0 {
                return row.flatMap { value in (0..<bits / 8).map { UInt8(value >> (8 * $0) & 255) } }
            }
            let ones = row.flatMap { value in (0..<bits).reversed().map { UInt8(value >> $0 & 1) } }
            return stride(from: 0, to: ones.count, by: 8).map { start in
                (0..<8).reduce(0) { $0 << 1 | (start + $1 < ones.count ? ones[start + $1] : 0) }
            }
        }
    }

    private func color(_ x: Int, _ y: Int) -> [UInt8] { (0..<3).map { Scene.color(x, y)[$0] } }

    @Test(
        "Samples of each depth, signed or unsigned, span black to white", arguments: [8, 10, 12, 14, 16, 32])
    func depths(_ bits: Int) throws {
        for isSigned in [false, true] {
            var pieces = TIFFPieces()
            pieces.bits = bits
            pieces.fields = [(339, [Int](repeating: isSigned ? 2 : 1, count: 3), false)]
            pieces.pixels = samples(bits, isSigned: isSigned, color)
            #expect(try decode(pieces.file).psnr(Scene.color) > 55, "signed: \(isSigned)")
            try validate(pieces.file)
            pieces.samples = 1
            pieces.photometric = 0
            pieces.fields = [(339, [isSigned ? 2 : 1], false)]
            pieces.pixels = samples(bits, isSigned: isSigned) { x, y in [255 - Scene.gray(x, y).x] }
            #expect(try decode(pieces.file).psnr(Scene.gray) > 55, "signed: \(isSigned), inverted")
        }
    }

    @Test("The alpha channel is found among extra samples, interleaved or planar")
    func extraSamples() throws {
        for (photometric, extras, alpha) in [
            (2, [0, 2], 1), (2, [2, 0], 0), (2, [1, 0], 0), (1, [0, 2], 1), (1, [2, 0, 0, 0], 0), (2, [0, 0], nil),
        ] as [(Int, [Int], Int?)] {
            let drawn: (Int, Int) -> SIMD4<UInt8> = { x, y in
                var pixel = photometric == 1 ? Scene.gray(x, y) : Scene.color(x, y)
                if alpha != nil { pixel.w = Scene.withAlpha(x, y).w }
                return pixel
            }
            let pixel: (Int, Int) -> [UInt8] = { x, y in
                let seen = drawn(x, y)
                let factor = extras.first == 1 ? Int(seen.w) : 255
                let colors = (0..<(photometric == 1 ? 1 : 3)).map { UInt8((Int(seen[$0]) * factor + 127) / 255) }
                return colors + extras.indices.map { $0 == alpha ? seen.w : 77 }
            }
            var pieces = TIFFPieces()
            pieces.photometric = photometric
            pieces.samples = (photometric == 1 ? 1 : 3) + extras.count
            pieces.pixels = TIFFPieces.bytes(pixel)
            pieces.fields = [(338, extras, false)]
            #expect(try info(pieces.file).hasAlpha == (alpha != nil))
            #expect(try decode(pieces.file).psnr(drawn) > 45, "\(photometric) \(extras)")
            // The same in planes, one strip each.
            let size = Scene.width * Scene.height
            pieces.pixels = (0..<pieces.samples).flatMap { plane in TIFFPieces.bytes { [pixel($0, $1)[plane]] } }
            pieces.omitted = [273, 279]
            pieces.fields += [
                (273, (0..<pieces.samples).map { 8 + $0 * size }, true),
                (279, [Int](repeating: size, count: pieces.samples), true), (284, [2], false),
            ]
            #expect(try decode(pieces.file).psnr(drawn) > 45, "\(photometric) \(extras) in planes")
        }
    }

    @Test("Tiles in separate planes are assembled and cropped at the edges")
    func tiles() throws {
        var pieces = TIFFPieces()
        pieces.width = 15
        pieces.height = 11
        // Tile sides must be multiples of 16, so the one tile extends beyond both edges.
        pieces.pixels = (0..<3).flatMap { plane in
            (0..<16).flatMap { y in (0..<16).map { x in x < 16 && y < 12 ? Scene.color(x, y)[plane] : 99 } }
        }
        pieces.omitted = [273, 278, 279]
        pieces.fields = [
            (284, [2], false), (322, [16], false), (323, [16], false), (324, [8, 264, 520], true),
            (325, [256, 256, 256], true),
        ]
        #expect(try decode(pieces.file).psnr(Scene.color) == 100)
        try validate(pieces.file)
    }

    @Test("Three samples without a photometric tag are RGB, and one is grey")
    func noPhotometric() throws {
        var pieces = TIFFPieces()
        pieces.omitted = [262]
        #expect(try decode(pieces.file).psnr(Scene.color) == 100)
        pieces.samples = 1
        pieces.pixels = TIFFPieces.bytes { [Scene.gray($0, $1).x] }
        #expect(try info(pieces.file).colorModel == .gray)
        #expect(try decode(pieces.file).psnr(Scene.gray) == 100)
    }

    @Test("An unsupported compression or depth fails as unsupported, not damaged", arguments: [50_002, 34_663, 32_895])
    func unsupported(_ compression: Int) throws {
        var pieces = TIFFPieces()
        pieces.compression = compression
        #expect(code { _ = try decode(pieces.file) } == .unsupportedFormat)
        pieces.compression = 1
        pieces.bits = 24
        #expect(code { _ = try decode(pieces.file) } == .unsupportedFormat)
    }

    @Test("Each page decodes with its own size and orientation")
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
                pixels.psnr { x, y in
                    if page == 0 { return Scene.color(x, y) }
                    var color = 255 &- Scene.color(15 - x, 5 - y)
                    color.w = 255
                    return color
                } == 100)
        }
    }
}
