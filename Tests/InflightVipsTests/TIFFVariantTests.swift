import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

/// Kinds of TIFF pages that few programs write, with the pixels that TIFF 6.0 defines for them.
@Suite("TIFF variants", .timeLimit(.minutes(10)))
struct TIFFVariantTests {
    // MARK: Colours

    /// The luma and chroma of a colour (TIFF 6.0 section 21, with the coefficients of ITU-R BT.601).
    private func ycbcr(_ color: SIMD4<UInt8>) -> [UInt8] {
        let (red, green, blue) = (Double(color.x), Double(color.y), Double(color.z))
        let luma = 0.299 * red + 0.587 * green + 0.114 * blue
        return [luma, 128 + (blue - luma) / 1.772, 128 + (red - luma) / 1.402].map {
            UInt8(max(0, min(255, $0.rounded())))
        }
    }

    @Test("YCbCr without subsampling becomes RGB: interleaved, in planes, with alpha in a plane, and in a tile")
    func ycbcr() throws {
        var pieces = TIFFPieces()
        pieces.photometric = 6
        pieces.pixels = TIFFPieces.bytes { ycbcr(Scene.color($0, $1)) }
        pieces.fields = [(530, [1, 1], false)]
        #expect(try decode(pieces.file).psnr(Scene.color) > 45)
        pieces.separate { x, y in ycbcr(Scene.color(x, y)).map { [$0] } }
        #expect(try decode(pieces.file).psnr(Scene.color) > 45)
        pieces.samples = 4
        pieces.omitted = []
        pieces.fields = [(530, [1, 1], false), (338, [2], false)]
        pieces.separate { x, y in (ycbcr(Scene.color(x, y)) + [Scene.withAlpha(x, y).w]).map { [$0] } }
        #expect(try decode(pieces.file).psnr(Scene.withAlpha) > 45)
        pieces.samples = 3
        pieces.omitted = [273, 278, 279]
        pieces.pixels = (0..<16).flatMap { y in
            (0..<16).flatMap { x in ycbcr(Scene.color(x, min(y, Scene.height - 1))) }
        }
        pieces.fields = [
            (530, [1, 1], false), (322, [16], false), (323, [16], false), (324, [8], true), (325, [768], true),
        ]
        #expect(try decode(pieces.file).psnr(Scene.color) > 45)
    }

    @Test(
        "The pixels of a unit of subsampled YCbCr share its chroma, also at the edges",
        arguments: [(1, 2), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)])
    func subsampled(_ across: Int, _ down: Int) throws {
        let (width, height) = (15, 11)
        func color(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
            var color = Scene.color(min(x, 14) / across * across, min(y, 10) / down * down)
            // Luma differs within a unit.
            color.y &+= UInt8((x + y) % 3)
            return color
        }
        var pieces = TIFFPieces()
        pieces.photometric = 6
        pieces.width = width
        pieces.height = height
        pieces.fields = [(530, [across, down], false)]
        pieces.pixels = stride(from: 0, to: height, by: down).flatMap { y in
            stride(from: 0, to: width, by: across).flatMap { x in
                (0..<down).flatMap { dy in (0..<across).map { dx in ycbcr(color(x + dx, y + dy))[0] } }
                    + ycbcr(color(x, y))[1...]
            }
        }
        let pixels = try decode(pieces.file)
        for y in 0..<height {
            for x in 0..<width {
                let expected = color(x, y)
                let own = ycbcr(expected)[0]
                let found = ycbcr(pixels[x, y])
                #expect(abs(Int(own) - Int(found[0])) <= 2, "\(x), \(y)")
                let chroma = ycbcr(color(x / across * across, y / down * down))
                #expect(abs(Int(chroma[1]) - Int(found[1])) <= 3 && abs(Int(chroma[2]) - Int(found[2])) <= 3)
            }
        }
    }

    @Test("The codes of black and white of YCbCr are those that the file names")
    func studioRange() throws {
        var pieces = TIFFPieces()
        pieces.photometric = 6
        pieces.fields = [(530, [1, 1], false), (532, [16, 235, 128, 240, 128, 240], true)]
        pieces.pixels = TIFFPieces.bytes { x, _ in [x == 0 ? 16 : x == 1 ? 235 : 10, 128, 128] }
        let pixels = try decode(pieces.file)
        #expect(pixels[0, 0] == SIMD4(0, 0, 0, 255) && pixels[1, 0] == SIMD4(255, 255, 255, 255))
        #expect(pixels[2, 0] == SIMD4(0, 0, 0, 255))
    }

    @Test("The codes of black and white of YCbCr without a tag are those of its depth")
    func deepYCbCr() throws {
        var pieces = TIFFPieces()
        pieces.photometric = 6
        pieces.bits = 16
        pieces.fields = [(530, [1, 1], false)]
        pieces.pixels = TIFFPieces.bytes { x, y in
            ycbcr(Scene.color(x, y)).flatMap { Pieces.little16(Int($0) * 257) }
        }
        #expect(try decode(pieces.file).psnr(Scene.color) > 45)
    }

    @Test("L*a*b* of 8 and 16 bits becomes sRGB, and its alpha is kept", arguments: [8, 16])
    func lab(_ bits: Int) throws {
        // White, mid-grey and the red of sRGB, in L* of 0 to 100 and a*, b* around zero.
        let colors: [[Double]] = [[100, 0, 0], [53.585, 0, 0], [53.241, 80.092, 67.203]]
        for alpha in [false, true] {
            var pieces = TIFFPieces()
            pieces.photometric = 8
            pieces.bits = bits
            pieces.samples = alpha ? 4 : 3
            if alpha { pieces.fields = [(338, [2], false)] }
            pieces.pixels = TIFFPieces.bytes { x, _ in
                let color = colors[x % 3]
                let full = Double(1 << bits - 1)
                let scale = Double(1 << (bits - 8))
                let values = [color[0] / 100 * full, color[1] * scale, color[2] * scale] + (alpha ? [full / 2] : [])
                return values.flatMap { value -> [UInt8] in
                    let code = Int(value.rounded())
                    return bits == 8 ? [UInt8(truncatingIfNeeded: code)] : Pieces.little16(code & 0xFFFF)
                }
            }
            let pixels = try decode(pieces.file)
            for (x, expected) in [SIMD4<UInt8>(255, 255, 255, 255), SIMD4(128, 128, 128, 255), SIMD4(255, 0, 0, 255)]
                .enumerated()
            {
                for c in 0..<3 { #expect(abs(Int(pixels[x, 0][c]) - Int(expected[c])) <= 3, "\(pixels[x, 0])") }
                #expect(alpha ? (127...128).contains(pixels[x, 0].w) : pixels[x, 0].w == 255)
            }
        }
    }

    @Test("Grey and alpha in planes of one strip each, 8 and 16 bits", arguments: [8, 16])
    func grayPlanes(_ bits: Int) throws {
        var pieces = TIFFPieces()
        pieces.photometric = 1
        pieces.bits = bits
        pieces.samples = 2
        pieces.fields = [(338, [2], false)]
        pieces.separate { x, y in
            [Scene.gray(x, y).x, Scene.withAlpha(x, y).w].map { bits == 8 ? [$0] : Pieces.little16(Int($0) * 257) }
        }
        let expected: (Int, Int) -> SIMD4<UInt8> = { x, y in
            var pixel = Scene.gray(x, y)
            pixel.w = Scene.withAlpha(x, y).w
            return pixel
        }
        #expect(try decode(pieces.file).psnr(expected) == 100)
    }

    // MARK: Depths

    /// Little-endian floats of values that are powers of two, or zero.
    private func float(_ value: Double, _ bits: Int) -> [UInt8] {
        switch bits {
        case 16: return Pieces.little16(Int(Float16(value).bitPattern))
        case 24:
            // A sign, 7 bits of exponent with a bias of 63, and 16 bits of fraction.
            let code = value == 0 ? 0 : (value.exponent + 63) << 16
            return [UInt8(code & 255), UInt8(code >> 8 & 255), UInt8(code >> 16)]
        default: return Pieces.little32(Int(Float(value).bitPattern))
        }
    }

    @Test(
        "Floats are linear light from 0 to 1 in grey and RGB, straight and premultiplied, interleaved and planar",
        arguments: [16, 24, 32])
    func floats(_ bits: Int) throws {
        // Codes of linear light in sRGB (IEC 61966-2-1).
        let codes: [(Double, UInt8)] = [(0, 0), (0.25, 137), (0.5, 188), (1, 255)]
        for (photometric, extra) in [(0, nil), (1, nil), (1, 1), (1, 2), (1, 0), (2, nil), (2, 1), (2, 2)]
            as [(Int, Int?)]
        {
            let colors = photometric == 2 ? 3 : 1
            let alpha = extra == 1 || extra == 2 ? 0.5 : 1
            for isSeparate in [false, true] where !isSeparate || colors + (extra == nil ? 0 : 1) > 1 {
                var pieces = TIFFPieces()
                pieces.photometric = photometric
                pieces.bits = bits
                pieces.samples = colors + (extra == nil ? 0 : 1)
                pieces.fields = [(339, [Int](repeating: 3, count: pieces.samples), false)]
                if let extra { pieces.fields.append((338, [extra], false)) }
                let pixel: (Int, Int) -> [[UInt8]] = { x, _ in
                    let samples = (0..<colors).map { color -> Double in
                        let value = codes[(x + color) % 4].0
                        return (photometric == 0 ? 1 - value : value) * (extra == 1 ? alpha : 1)
                    }
                    return (samples + (extra == nil ? [] : [alpha])).map { float($0, bits) }
                }
                // 0.75 is no power of two.
                if photometric == 0, bits == 24 { continue }
                pieces.pixels = TIFFPieces.bytes { pixel($0, $1).flatMap(\.self) }
                if isSeparate { pieces.separate(pixel) }
                let pixels = try decode(pieces.file)
                for x in 0..<4 {
                    for c in 0..<3 {
                        let expected = codes[(x + (colors == 3 ? c : 0)) % 4].1
                        #expect(
                            abs(Int(pixels[x, 0][c]) - Int(expected)) <= 1,
                            "\(photometric), \(extra ?? -1): \(pixels[x, 0])")
                    }
                    #expect(alpha == 1 ? pixels[x, 0].w == 255 : (127...128).contains(pixels[x, 0].w))
                }
            }
        }
    }

    @Test("Numbers outside 0 to 1, infinity and not-a-number become the nearest colours")
    func extremes() throws {
        var pieces = TIFFPieces()
        pieces.photometric = 1
        pieces.bits = 32
        pieces.samples = 1
        pieces.fields = [(339, [3], false)]
        let values: [Float] = [-1, 7, .infinity, -.infinity, .nan]
        pieces.pixels = TIFFPieces.bytes { x, _ in Pieces.little32(Int(values[x % 5].bitPattern)) }
        let pixels = try decode(pieces.file)
        #expect((0..<5).map { pixels[$0, 0].x } == [0, 255, 255, 0, 0])
    }

    @Test("Several samples of 1 to 7 bits, interleaved and planar", arguments: 1...7)
    func packed(_ bits: Int) throws {
        let most = 1 << bits - 1
        func code(_ value: UInt8) -> Int { (Int(value) * most + 127) / 255 }
        func level(_ code: Int) -> UInt8 { UInt8((code * 255 + most / 2) / most) }
        for (photometric, extras) in [(2, []), (2, [2]), (1, [2]), (1, [0]), (2, [0, 2])] as [(Int, [Int])] {
            let colors = photometric == 2 ? 3 : 1
            var pieces = TIFFPieces()
            pieces.photometric = photometric
            pieces.bits = bits
            pieces.samples = colors + extras.count
            if !extras.isEmpty { pieces.fields = [(338, extras, false)] }
            let pixel: (Int, Int) -> [Int] = { x, y in
                let color = photometric == 2 ? Scene.color(x, y) : Scene.gray(x, y)
                return (0..<colors).map { code(color[$0]) } + extras.map { $0 == 2 ? code(Scene.withAlpha(x, y).w) : 0 }
            }
            let expected: (Int, Int) -> SIMD4<UInt8> = { x, y in
                let codes = pixel(x, y)
                let alpha = extras.contains(2) ? level(codes[codes.count - 1]) : 255
                return SIMD4(
                    level(codes[0]), level(codes[colors == 3 ? 1 : 0]), level(codes[colors == 3 ? 2 : 0]), alpha)
            }
            pieces.pixels = TIFFPieces.packed(bits, pixel)
            #expect(try decode(pieces.file).psnr(expected) == 100, "\(photometric) \(extras)")
            let planes = (0..<pieces.samples).map { plane in TIFFPieces.packed(bits) { [pixel($0, $1)[plane]] } }
            pieces.pixels = planes.flatMap(\.self)
            pieces.omitted = [273, 279]
            pieces.fields += [
                (273, planes.indices.map { 8 + $0 * planes[0].count }, true), (279, planes.map(\.count), true),
                (284, [2], false),
            ]
            #expect(try decode(pieces.file).psnr(expected) == 100, "\(photometric) \(extras) in planes")
        }
    }

    @Test("A large strip is read row by row, uncompressed and in PackBits")
    func largeStrip() throws {
        let (width, height) = (1000, 700)
        func color(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
            SIMD4(UInt8(x & 255), UInt8(y & 255), UInt8((x + 3 * y) & 255), 255)
        }
        var pieces = TIFFPieces()
        pieces.width = width
        pieces.height = height
        pieces.pixels = (0..<height).flatMap { y in
            (0..<width).flatMap { x in (0..<3).map { color(x, y)[$0] } }
        }
        #expect(try decode(pieces.file).psnr(color) == 100)
        // Runs of 100 literal bytes.
        pieces.compression = 32_773
        pieces.pixels = stride(from: 0, to: pieces.pixels.count, by: 100).flatMap {
            [99] + pieces.pixels[$0..<$0 + 100]
        }
        #expect(try decode(pieces.file).psnr(color) == 100)
        pieces.pixels.removeLast(100 * 1000)
        #expect(code { _ = try decode(pieces.file) } == .damaged)
    }

    // MARK: Compressions

    @Test("ThunderScan decodes: 4 bits of grey as raw codes, as far as its data reaches")
    func thunderScan() throws {
        var pieces = TIFFPieces()
        pieces.photometric = 1
        pieces.bits = 4
        pieces.samples = 1
        pieces.compression = 32_809
        for lines in [12, 9] {
            pieces.pixels = Array(TIFFPieces.bytes { x, y in [0xC0 | UInt8((x + y) % 16)] }[..<(16 * lines)])
            let pixels = try decode(pieces.file)
            #expect(
                pixels.psnr { x, y in
                    let level = y < lines ? UInt8((x + y) % 16 * 17) : 0
                    return SIMD4(level, level, level, 255)
                } == 100, "\(lines) lines")
        }
    }

    @Test("Old-style JPEG decodes")
    func oldJPEG() throws {
        let scene = PixelBuffer(width: Scene.width, height: Scene.height, format: .rgbx, Scene.color)
        let jpeg = try JPEGCodec().encode(scene, options: EncodeOptions(format: .jpeg, quality: 100)).array
        var pieces = TIFFPieces()
        pieces.photometric = 6
        pieces.compression = 6
        pieces.pixels = jpeg
        pieces.fields = [(513, [8], true), (514, [jpeg.count], true)]
        #expect(try decode(pieces.file).psnr(Scene.color) > 30)
        try validate(pieces.file)
        pieces.pixels = [UInt8](repeating: 9, count: 400)
        #expect(code { _ = try decode(pieces.file) } == .damaged)
    }

    @Test("Lines of a fax that ends early are shown; data of which no line decodes is damaged")
    func fax() throws {
        // A line of 16 pixels in Modified Huffman coding (ITU-T T.4): no white, 16 black; then a whole byte.
        let black: [UInt8] = [0b0011_0101, 0b0000_0101, 0b1100_0000]
        var pieces = TIFFPieces()
        pieces.photometric = 0
        pieces.bits = 1
        pieces.samples = 1
        pieces.compression = 2
        for lines in [12, 5] {
            pieces.pixels = (0..<lines).flatMap { _ in black }
            let pixels = try decode(pieces.file)
            #expect(
                pixels.psnr { _, y in
                    y < lines ? SIMD4(0, 0, 0, 255) : SIMD4(255, 255, 255, 255)
                } == 100, "\(lines) lines")
        }
        pieces.pixels = [0, 0, 0, 0]
        #expect(code { _ = try decode(pieces.file) } == .damaged)
    }

    @Test("Group 3 data without the codes at the ends of lines decodes")
    func faxWithoutEnds() throws {
        // The codes of 12 lines of no white and 16 black pixels, one after the other.
        let line = "001101010000010111"
        let bits = Array(String(repeating: line, count: Scene.height).utf8).map { $0 - 48 }
        var pieces = TIFFPieces()
        pieces.photometric = 0
        pieces.bits = 1
        pieces.samples = 1
        pieces.compression = 3
        pieces.pixels = stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 << 1 | (start + $1 < bits.count ? bits[start + $1] : 0) }
        }
        #expect(try decode(pieces.file).psnr { _, _ in SIMD4(0, 0, 0, 255) } == 100)
    }

    @Test("Byte counts of strips may be missing, zero or too large")
    func byteCounts() throws {
        for count in [nil, 0, 1 << 24] {
            var pieces = TIFFPieces()
            pieces.omitted = [279]
            if let count { pieces.fields = [(279, [count], true)] }
            #expect(try decode(pieces.file).psnr(Scene.color) == 100, "\(count ?? -1)")
        }
    }

    // MARK: Refusals

    private func error(_ pieces: TIFFPieces) -> LoadError? {
        do {
            _ = try decode(pieces.file)
            return nil
        } catch {
            return error as? LoadError
        }
    }

    @Test("An unsupported page is refused by name, in plain words")
    func unsupported() throws {
        func check(_ name: String, _ change: (inout TIFFPieces) -> Void) {
            var pieces = TIFFPieces()
            change(&pieces)
            let error = error(pieces)
            #expect(
                error?.code == .unsupportedFormat && error?.message.contains(name) == true, "\(error?.message ?? name)")
            #expect(error?.message.contains("Convert it") == true)
        }
        check("floating-point samples of 64 bits") {
            $0.bits = 64
            $0.pixels = [UInt8](repeating: 0, count: 16 * 12 * 24)
            $0.fields = [(339, [3, 3, 3], false)]
        }
        check("integer samples of more than 16 bits") {
            $0.bits = 24
            $0.pixels = [UInt8](repeating: 0, count: 16 * 12 * 9)
        }
        check("complex samples") {
            $0.bits = 16
            $0.pixels = [UInt8](repeating: 0, count: 16 * 12 * 6)
            $0.fields = [(339, [5, 5, 5], false)]
        }
        check("compression scheme 50013") { $0.compression = 50_013 }
        check("JPEG 2000 compression") { $0.compression = 34_712 }
        check("inks other than CMYK") {
            $0.photometric = 5
            $0.samples = 4
            $0.pixels = [UInt8](repeating: 0, count: 16 * 12 * 4)
            $0.fields = [(332, [2], false)]
        }
        check("subsampled chroma in separate planes") {
            $0.photometric = 6
            $0.fields = [(530, [2, 2], false)]
            $0.separate { _, _ in [[1], [2], [3]] }
        }
        check("CCITT compression of other than one bit") {
            $0.compression = 4
            $0.bits = 1
        }
        check("raw data of a camera") {
            $0.photometric = 32_803
            $0.samples = 1
            $0.pixels = [UInt8](repeating: 0, count: 16 * 12)
        }
    }

    @Test("A corrupt page is refused in plain words, with the text of the library as the underlying error")
    func corrupt() throws {
        for compression in [5, 7, 8] {
            var pieces = TIFFPieces()
            pieces.compression = compression
            pieces.pixels = [UInt8](repeating: 0x7F, count: 64)
            let error = error(pieces)
            let message = error?.message ?? "none"
            #expect(error?.code == .damaged && message.contains("its compressed data is invalid"), "\(message)")
            #expect(error?.underlying != nil)
        }
    }

    @Test("Contradictory headers yield pixels of the declared size, or an error that is no crash")
    func contradictions() async {
        for photometric in [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 32_803, 32_844, 32_845, 60_000] {
            await Task.yield()
            for samples in [1, 2, 3, 4, 5] {
                for (bits, planes, format) in [
                    (1, 1, 1), (4, 2, 1), (8, 1, 1), (8, 2, 1), (8, 1, 2), (16, 1, 3), (16, 2, 1), (32, 1, 3),
                    (32, 2, 2), (64, 1, 3), (7, 1, 1),
                ] {
                    for compression in [1, 2, 4, 6, 7, 8, 34_676] {
                        var pieces = TIFFPieces()
                        pieces.photometric = photometric
                        pieces.samples = samples
                        pieces.bits = bits
                        pieces.compression = compression
                        pieces.fields = [
                            (284, [planes], false), (339, [Int](repeating: format, count: samples), false),
                        ]
                        let found = error(pieces)
                        let isKnown = found == nil || [.damaged, .unsupportedFormat].contains(found?.code)
                        #expect(
                            isKnown, "\(photometric), \(samples) samples of \(bits) bits: \(String(describing: found))")
                        if [2, 6, 8].contains(photometric), samples < 3 { #expect(found != nil) }
                        if photometric == 5, samples < 4 { #expect(found != nil) }
                    }
                }
            }
        }
    }
}
