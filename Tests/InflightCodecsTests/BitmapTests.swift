import InflightCodecs
import InflightCore
import Testing

@testable import InflightCodecs

@Suite("BMP and ICO, written by hand", .timeLimit(.minutes(10)))
struct BitmapTests {
    /// A file with a header of `size` bytes.
    private func bitmap(
        _ width: Int, _ height: Int, bits: Int, kind: Int = 0, size: Int = 40, fields: [UInt32] = [],
        colors: [[UInt8]] = [], used: Int? = nil, offset: Int? = nil, _ pixels: [UInt8]
    ) -> [UInt8] {
        func little(_ value: Int, _ count: Int = 4) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        var header = little(size) + little(width) + little(height) + little(1, 2) + little(bits, 2) + little(kind)
        header += little(0) + little(0) + little(0) + little(used ?? colors.count) + little(0)
        let masks = fields.flatMap { little(Int($0)) }
        if size == 40 {
            header += masks
        } else {
            header += masks + [UInt8](repeating: 0, count: size - 40 - masks.count)
        }
        header += colors.flatMap { [$0[2], $0[1], $0[0], 0] }
        return Array("BM".utf8) + little(0) + little(0) + little(offset ?? 14 + header.count) + header + pixels
    }

    private func rows(_ bytes: [UInt8]) throws -> [[[UInt8]]] {
        let pixels = try decode(bytes)
        return (0..<pixels.height).map { y in
            (0..<pixels.width).map { x in (0..<4).map { pixels.bytes[y * pixels.bytesPerRow + 4 * x + $0] } }
        }
    }

    private let colors: [[UInt8]] = [[1, 2, 3], [250, 0, 0], [0, 250, 0], [0, 0, 250]]
    private var opaque: [[UInt8]] { colors.map { $0 + [255] } }

    @Test("Run-length data supports runs, literals, skips and row ends at 4 and 8 bits")
    func runs() throws {
        let c = opaque
        // From the bottom: two of 1, literally 2 3 1 (padded); end of row; skip one right, one up; one of 3; end.
        let wide: [UInt8] = [2, 1, 0, 3, 2, 3, 1, 0, 0, 0, 0, 2, 1, 1, 1, 3, 0, 1]
        let expected = [
            [c[0], c[3], c[0], c[0], c[0]], [c[0], c[0], c[0], c[0], c[0]], [c[1], c[1], c[2], c[3], c[1]],
        ]
        #expect(try rows(bitmap(5, 3, bits: 8, kind: 1, colors: colors, wide)) == expected)
        let narrow: [UInt8] = [2, 0x11, 0, 3, 0x23, 0x10, 0, 0, 0, 2, 1, 1, 1, 0x30, 0, 1]
        #expect(try rows(bitmap(5, 3, bits: 4, kind: 2, colors: colors, narrow)) == expected)
        // A run of 4 bits alternates between two colours and may begin at an odd column.
        let turns: [UInt8] = [1, 0x10, 4, 0x23, 0, 1]
        #expect(try rows(bitmap(5, 1, bits: 4, kind: 2, colors: colors, turns)) == [[c[1], c[2], c[3], c[2], c[3]]])
    }

    @Test("Runs beyond the image are cropped, and runs that end too early are damaged")
    func wildRuns() throws {
        let c = opaque
        #expect(try rows(bitmap(2, 1, bits: 8, kind: 1, colors: colors, [255, 1, 0, 1])) == [[c[1], c[1]]])
        #expect(
            try rows(bitmap(2, 1, bits: 8, kind: 1, colors: colors, [0, 2, 255, 255, 9, 1, 0, 1])) == [[c[0], c[0]]])
        // Without an end marker, but with a full last row.
        #expect(try rows(bitmap(2, 1, bits: 8, kind: 1, colors: colors, [2, 3])) == [[c[3], c[3]]])
        for cut in [[], [1], [1, 3], [0, 5, 1, 2], [0, 2, 1], [2, 3, 0]] as [[UInt8]] {
            let file = bitmap(2, 2, bits: 8, kind: 1, colors: colors, cut)
            let error = try #require(throws: LoadError.self) { try decode(file) }
            #expect(error.code == .damaged)
            #expect(throws: LoadError.self) { try registry.validate(Bytes(file)) }
        }
    }

    @Test("Bit fields of any width are read at 16 and 32 bits")
    func fields() throws {
        #expect(
            try rows(bitmap(2, 1, bits: 16, [0xFF, 0x7F, 0x00, 0x7C])) == [[[255, 255, 255, 255], [255, 0, 0, 255]]])
        let rgb565 = bitmap(1, 1, bits: 16, kind: 3, fields: [0xF800, 0x07E0, 0x001F], [0xE0, 0x07, 0, 0])
        #expect(try rows(rgb565) == [[[0, 255, 0, 255]]])
        // Alpha in the long header; ten bits for each colour; a colour without bits.
        let argb = bitmap(
            1, 1, bits: 32, kind: 3, size: 56, fields: [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000], [10, 20, 30, 40])
        #expect(try rows(argb) == [[[10, 20, 30, 40]]] && info(argb).hasAlpha)
        let deep = bitmap(1, 1, bits: 32, kind: 3, fields: [0x3FF0_0000, 0x000F_FC00, 0x3FF], [0, 0xFC, 0x0F, 0x20])
        #expect(try rows(deep) == [[[128, 255, 0, 255]]] && info(deep).bitsPerComponent == 10)
        let lacking = bitmap(1, 1, bits: 32, kind: 3, fields: [0xFF, 0, 0xFF00], [7, 8, 9, 9])
        #expect(try rows(lacking) == [[[7, 0, 8, 255]]])
        // Without bit fields, the fourth byte has no meaning.
        #expect(try rows(bitmap(1, 1, bits: 32, [3, 2, 1, 0])) == [[[1, 2, 3, 255]]])
        for mask: UInt32 in [0x5, 0xF0F] {
            let broken = bitmap(1, 1, bits: 32, kind: 3, fields: [mask, 0xFF00, 0xFF], [0, 0, 0, 0])
            #expect(throws: LoadError.self) { try decode(broken) }
        }
    }

    @Test("A bitmap without a file header is accepted only if its header fields are valid")
    func bare() throws {
        let c = opaque
        let file = Array(bitmap(3, 1, bits: 4, colors: colors, [0x12, 0x30, 0, 0])[14...])
        #expect(try rows(file) == [[c[1], c[2], c[3]]])
        #expect(try info(file).format == .bmp && registry.validate(Bytes(file)).storedWidth == 3)
        #expect(throws: LoadError.self) { try registry.validate(Bytes(Array(file.dropLast(3)))) }
        let old: [UInt8] = [12, 0, 0, 0, 1, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1, 0, 0, 0, 0, 0]
        #expect(try rows(old) == [[[1, 2, 3, 255]]])
        for (place, value) in [(0, 41), (1, 1), (12, 2), (14, 5), (15, 1), (16, 9), (19, 1)] as [(Int, UInt8)] {
            var other = file
            other[place] = value
            let error = #expect(throws: LoadError.self) { try registry.validate(Bytes(other)) }
            #expect(error?.code == .notAnImage, "byte \(place)")
        }
    }

    @Test("Colours missing from the palette are black, and pixels may begin inside the palette")
    func palettes() throws {
        let c = opaque
        #expect(try rows(bitmap(3, 1, bits: 8, colors: colors, [1, 3, 9, 0])) == [[c[1], c[3], [0, 0, 0, 255]]])
        // Palette entries beyond the start of the pixels are read from the bytes of the pixels, as in Pillow and
        // browsers.
        #expect(
            try rows(bitmap(2, 1, bits: 8, colors: colors, used: 70_000, offset: 70, [2, 4, 0, 0]))
                == [[c[2], [0, 4, 2, 255]]])
        #expect(try rows(bitmap(2, 1, bits: 8, colors: colors, offset: 58, [])) == [[c[0], c[0]]])
        #expect(try rows(bitmap(2, 1, bits: 8, colors: colors, offset: 66, [])) == [[[0, 0, 0, 255], c[0]]])
        // Some old programs declare that the pixels start at the end of the header. They cannot, so they follow the
        // palette.
        #expect(try rows(bitmap(2, 1, bits: 8, colors: colors, offset: 54, [2, 3, 0, 0])) == [[c[2], c[3]]])
        #expect(
            try rows(bitmap(3, 2, bits: 2, colors: colors, [0b0110_1100, 0, 0, 0, 0b0001_1000, 0, 0, 0]))
                == [[c[0], c[1], c[2]], [c[1], c[2], c[3]]])
        #expect(try rows(bitmap(3, 1, bits: 4, colors: colors, [0x12, 0x30, 0, 0])) == [[c[1], c[2], c[3]]])
    }

    @Test(
        "An invalid or unsupported combination of depth and compression is rejected",
        arguments: [
            (8, 4, .unsupportedFormat), (8, 5, .unsupportedFormat), (7, 0, .damaged), (8, 9, .unsupportedFormat),
            (24, 1, .damaged), (0, 0, .damaged),
        ] as [(Int, Int, LoadError.Code)])
    func refused(bits: Int, kind: Int, code: LoadError.Code) throws {
        let error = try #require(throws: LoadError.self) {
            try decode(bitmap(4, 4, bits: bits, kind: kind, [UInt8](repeating: 0, count: 99)))
        }
        #expect(error.code == code)
    }

    @Test(
        "A bitmap with an impossible or excessive size is rejected",
        arguments: [(0, 1), (1, 0), (-1, 1), (1, Int(Int32.min)), (30_000, 30_000), (0x46D2_0010, 0x746F_6C46)])
    func sizes(width: Int, height: Int) {
        let file = bitmap(width, height, bits: 24, [0, 0, 0, 0])
        #expect(throws: LoadError.self) { try decode(file) }
        #expect(throws: LoadError.self) { try registry.validate(Bytes(file)) }
        #expect(throws: LoadError.self) { try decode(icon([(1, 24, Array(file[14...]))])) }
    }

    /// An icon of these images, each with the side and bits that its entry declares.
    private func icon(_ pictures: [(side: UInt8, bits: UInt8, bytes: [UInt8])], type: UInt8 = 1) -> [UInt8] {
        var file: [UInt8] = [0, 0, type, 0, UInt8(pictures.count), 0]
        var offset = 6 + 16 * pictures.count
        for picture in pictures {
            let (count, place) = (picture.bytes.count, offset)
            file += [picture.side, picture.side, 0, 0, 1, 0, picture.bits, 0]
            file += [UInt8(count & 255), UInt8(count >> 8), 0, 0, UInt8(place & 255), UInt8(place >> 8), 0, 0]
            offset += count
        }
        return file + pictures.flatMap(\.bytes)
    }

    /// A bitmap as in an icon: without the file header, its height doubled for the mask.
    private func inside(_ width: Int, _ height: Int, bits: Int, colors: [[UInt8]] = [], _ pixels: [UInt8]) -> [UInt8] {
        Array(bitmap(width, 2 * height, bits: bits, colors: colors, pixels)[14...])
    }

    @Test("An icon or cursor decodes its largest image, among equals the one with most bits")
    func largest() throws {
        let small = inside(1, 1, bits: 24, [9, 9, 9, 0, 0, 0, 0, 0])
        let grey = inside(2, 1, bits: 8, colors: colors, [1, 2, 0, 0, 0, 0, 0, 0])
        let full = inside(2, 1, bits: 24, [0, 0, 200, 0, 200, 0, 0, 0, 0x40, 0, 0, 0])
        for type: UInt8 in [1, 2] {
            let file = icon([(1, 24, small), (2, 24, full), (2, 8, grey)], type: type)
            // The mask hides the second pixel.
            #expect(try rows(file) == [[[200, 0, 0, 255], [0, 0, 0, 0]]])
            #expect(try info(file).format == .ico && info(file).storedWidth == 2 && info(file).frameCount == 1)
        }
        #expect(try info(icon([(0, 32, full), (255, 32, small)])).storedWidth == 2, "0 stands for 256")
    }

    @Test("Of equal icons whose entries have no depth, as those of cursors, the one with more colours is chosen")
    func colorCounts() throws {
        let grey = inside(2, 1, bits: 8, colors: colors, [1, 2, 0, 0, 0, 0, 0, 0])
        let full = inside(2, 1, bits: 24, [0, 0, 200, 0, 200, 0, 0, 0, 0x40, 0, 0, 0])
        for type: UInt8 in [1, 2] {
            // For cursors, the field of the depth is the hot spot.
            let depth: (grey: UInt8, full: UInt8) = type == 1 ? (0, 0) : (31, 1)
            for isFirst in [false, true] {
                let pictures = [(side: 2 as UInt8, bits: depth.grey, bytes: grey), (2, depth.full, full)]
                var file = icon(isFirst ? pictures.reversed() : pictures, type: type)
                file[6 + (isFirst ? 16 : 0) + 2] = 16
                #expect(try rows(file) == [[[200, 0, 0, 255], [0, 0, 0, 0]]], "type \(type)")
            }
        }
    }

    @Test("An icon whose reserved byte is 255, as .NET writes it, is recognised")
    func reservedByte() throws {
        var file = icon([(2, 24, inside(2, 1, bits: 24, [0, 0, 200, 0, 200, 0, 0, 0, 0x40, 0, 0, 0]))])
        file[9] = 255
        #expect(try rows(file) == [[[200, 0, 0, 255], [0, 0, 0, 0]]])
        for value: UInt8 in [1, 128, 254] {
            file[9] = value
            #expect(ImageFormat.detect(Bytes(file)) == nil)
        }
    }

    @Test("The alpha of an icon applies unless it is zero everywhere, then the mask does")
    func iconAlpha() throws {
        let clear = inside(2, 1, bits: 32, [1, 2, 3, 128, 4, 5, 6, 255, 0x80, 0, 0, 0])
        #expect(try rows(icon([(2, 32, clear)])) == [[[3, 2, 1, 128], [6, 5, 4, 255]]])
        let old = inside(2, 1, bits: 32, [1, 2, 3, 0, 4, 5, 6, 0, 0x80, 0, 0, 0])
        #expect(try rows(icon([(2, 32, old)])) == [[[0, 0, 0, 0], [6, 5, 4, 255]]])
        // Without a mask, only images of 32 bits are complete.
        #expect(try rows(icon([(2, 32, Array(clear.dropLast(4)))])) == [[[3, 2, 1, 128], [6, 5, 4, 255]]])
        let masked = inside(1, 1, bits: 24, [9, 9, 9, 0])
        #expect(throws: LoadError.self) { try decode(icon([(1, 24, masked)])) }
    }

    @Test("An icon with an invalid directory is rejected")
    func lies() {
        var own = icon([(1, 24, inside(1, 1, bits: 24, [9, 9, 9, 0, 0, 0, 0, 0]))])
        own[18] = 3
        let far = icon([(1, 24, [])]) + [0, 0, 0, 0]
        for file in [
            icon([]), own, far, icon([(1, 24, [40, 0, 0, 0])]), icon([(1, 32, Array(Fixtures.rgbPNG.prefix(40)))]),
        ] {
            #expect(throws: LoadError.self) { try decode(file) }
        }
    }
}
