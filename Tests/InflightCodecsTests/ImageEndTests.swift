import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

/// Images without their end marker, and with something else in its place.
@Suite("Ends of images", .timeLimit(.minutes(10)))
struct ImageEndTests {
    private static func code(_ body: () throws -> Void) -> LoadError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? LoadError)?.code
        }
    }

    private static func part(_ bytes: [UInt8], _ resize: Resize? = nil) throws -> PartialImage? {
        try registry.decodePart(
            Bytes(bytes), options: DecodeOptions(resize: resize), cancellation: CancellationFlag())?.0
    }

    private static func verify(_ bytes: [UInt8]) throws {
        try registry.verify(Bytes(bytes), options: DecodeOptions(), cancellation: CancellationFlag())
    }

    /// A larger image, whose scans and rows are worth counting.
    private static let scene = PixelBuffer(width: 104, height: 83, format: .rgbx) { x, y in
        let noise = UInt8(truncatingIfNeeded: (x &* 7 &+ y &* 13) ^ (x &* y)) & 31
        return SIMD4(UInt8(2 * x), UInt8(2 * y) + 50, UInt8(x / 2 + y), 0) &+ SIMD4(noise, noise, noise / 2, 255)
    }

    private static func jpeg(progressive: Bool) throws -> [UInt8] {
        var options = EncodeOptions(format: .jpeg)
        options.isProgressive = progressive
        return try registry.encode(scene, options: options).array
    }

    // MARK: JPEG

    @Test(
        "Other parameters than 0, 63, 0 in the scan of a baseline JPEG are ignored, as in every viewer",
        arguments: [(1, 0), (0, 1), (2, 0x10), (2, 0x01), (1, 200)] as [(Int, UInt8)])
    func scanParameters(_ offset: Int, _ value: UInt8) throws {
        for original in [Fixtures.baselineJPEG, Fixtures.grayJPEG, Fixtures.restartsJPEG, Fixtures.planesJPEG] {
            var file = original
            for scan in original.indices.dropLast() where original[scan] == 0xFF && original[scan + 1] == 0xDA {
                file[scan + 5 + 2 * Int(original[scan + 4]) + (offset == 1 ? 1 : offset == 0 ? 0 : 2)] = value
            }
            #expect(file != original)
            for size in [nil, Resize(width: 5)] {
                let expected = try decode(original, DecodeOptions(resize: size))
                #expect(try decode(file, DecodeOptions(resize: size)).psnr { expected[$0, $1] } == 100)
            }
            _ = try registry.validate(Bytes(file))
            try Self.verify(file)
        }
    }

    private static let jpegs = Fixtures.all.filter { $0.name.contains("JPEG") }

    @Test(
        "A JPEG cut at any byte is whole if only its end marker is missing, and otherwise truncated",
        arguments: jpegs.map(\.name))
    func everyByte(_ name: String) throws {
        let whole = try #require(Self.jpegs.first { $0.name == name }).bytes
        let pixels = try decode(whole)
        // An arithmetic coder may omit its last zeros, so that nothing tells the end of the data but the marker.
        let end = name == "arithmeticJPEG" ? whole.count : whole.count - 2
        for length in 4...whole.count {
            let file = Array(whole[..<length])
            let expected: LoadError.Code? = length < end ? .damaged : nil
            #expect(Self.code { _ = try registry.validate(Bytes(file)) } == expected, "\(length) bytes")
            #expect(Self.code { try Self.verify(file) } == expected, "\(length) bytes")
            #expect(Self.code { _ = try decode(file, DecodeOptions(resize: Resize(width: 5))) } == expected)
            if length >= end { #expect(try decode(file).psnr { pixels[$0, $1] } == 100) }
            _ = try? Self.part(file)
        }
    }

    @Test("A JPEG with a vendor's trailer instead of its end marker is whole", arguments: jpegs.map(\.name))
    func trailers(_ name: String) throws {
        let whole = try #require(Self.jpegs.first { $0.name == name }).bytes
        guard name != "arithmeticJPEG" else { return }
        let pixels = try decode(whole)
        for trailer in [
            Array("Image_UTC_Data1573741337021SEFHe\0\0\0SEFT".utf8), [UInt8](repeating: 0, count: 500),
            Fixtures.grayJPEG, [0xFF, 0x3C, 0, 9, 1, 2], [0xFF, 0xC4, 0, 4, 0x11, 1], [0xFF, 0xDA, 0, 2], [0xFF],
            [0xFF, 0xFF, 0xFF], [0xFF, 0xC0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0], [0xFF, 0xE1, 0xFF, 0xFF, 1],
            [0xFF, 0xDB, 0, 3, 0],
        ] {
            let file = Array(whole.dropLast(2)) + trailer
            #expect(Self.code { _ = try registry.validate(Bytes(file)) } == nil, "\(trailer.prefix(4))")
            #expect(Self.code { try Self.verify(file) } == nil, "\(trailer.prefix(4))")
            let found = try? decode(file)
            #expect(found.map { $0.psnr { pixels[$0, $1] } } == 100, "\(trailer.prefix(4))")
        }
    }

    @Test("A partial JPEG without its end marker lacks no row and no scan")
    func nothingLost() throws {
        for progressive in [false, true] {
            let whole = try Self.jpeg(progressive: progressive)
            let pixels = try decode(whole)
            let part = try #require(try Self.part(Array(whole.dropLast(2))))
            #expect(part.pixels.psnr { pixels[$0, $1] } == 100)
            #expect(part.coversAll || part.detail == 83)
        }
    }

    @Test("A truncated JPEG shows each row whose data are there, except the one whose colours depend on the next")
    func rows() throws {
        let whole = try Self.jpeg(progressive: false)
        let pixels = try decode(whole)
        var last = 0
        for length in stride(from: whole.count / 3, to: whole.count - 2, by: 41) {
            guard let part = try Self.part(Array(whole[..<length])) else { continue }
            #expect(part.detail >= last)
            last = part.detail
            #expect(part.detail % 16 == 15 || part.detail == 83)
            for y in 0..<83 {
                #expect(part.pixels[50, y] == (y < part.detail ? pixels[50, y] : .zero), "\(length), row \(y)")
            }
        }
        #expect(last >= 79)
    }

    @Test("A truncated progressive JPEG improves within its last scan")
    func lastScan() throws {
        let whole = try Self.jpeg(progressive: true)
        let pixels = try decode(whole)
        let scan = try #require(whole.indices.dropLast().last { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA })
        let before = try #require(try Self.part(Array(whole[..<scan])))
        let middle = try #require(try Self.part(Array(whole[..<((scan + whole.count) / 2)])))
        let sharpness = middle.pixels.psnr { pixels[$0, $1] }
        #expect(sharpness > before.pixels.psnr { pixels[$0, $1] } && sharpness < 100)
    }

    // MARK: GIF

    @Test("A GIF without its trailer, or with other bytes in its place, is whole")
    func gifTrailers() async throws {
        for fixture in [Fixtures.animatedGIF, Fixtures.interlacedGIF] {
            let pixels = try decode(fixture)
            let frames = try registry.animation(of: Bytes(fixture)).frameCount
            for end in [[], [0, 0, 0, 0], [0x0D, 0x0A], [0, 0x3B], [0x3B, 1, 2]] as [[UInt8]] {
                let file = Array(fixture.dropLast()) + end
                _ = try registry.validate(Bytes(file))
                #expect(try decode(file).psnr { pixels[$0, $1] } == 100)
                let animation = try registry.animation(of: Bytes(file))
                #expect(animation.frameCount == frames)
                _ = try await animation.frame(at: frames - 1)
            }
        }
    }

    @Test("A GIF cut at any byte is whole between two frames, and otherwise truncated")
    func everyByteOfGIF() throws {
        for (file, frames) in [(Fixtures.animatedGIF, 2), (Fixtures.interlacedGIF, 1)] {
            var wholes = 0
            for length in 6..<file.count {
                let part = Array(file[..<length])
                let found = Self.code { _ = try registry.validate(Bytes(part)) }
                #expect(found == nil || found == .damaged)
                if found == nil { wholes += 1 }
            }
            #expect(wholes == frames)
        }
    }

    @Test("A truncated GIF shows its rows up to the damage, an interlaced one its passes")
    func gifRows() throws {
        let whole = try decode(Fixtures.interlacedGIF)
        var last = 0
        for length in Fixtures.interlacedGIF.indices {
            guard let part = try Self.part(Array(Fixtures.interlacedGIF[..<length])) else { continue }
            #expect(part.detail >= last && part.pixels.width == 16 && part.pixels.height == 12)
            last = part.detail
            // The first row, and rows of later passes once they are there.
            #expect((0..<16).allSatisfy { part.pixels[$0, 0] == whole[$0, 0] })
            if part.detail == 12 { #expect(part.pixels.psnr { whole[$0, $1] } == 100) }
        }
        #expect(last == 12)
    }

    /// A GIF of one frame of 4 × 3 pixels, whose codes are written with a minimum of `size` bits.
    private static func gif(codeSize size: Int, indices: [Int]) -> [UInt8] {
        let clear = 1 << size
        var bits: [Bool] = []
        // A clear code before each pixel keeps the width of the codes.
        for code in indices.flatMap({ [clear, $0] }) + [clear + 1] {
            for bit in 0...size { bits.append(code >> bit & 1 == 1) }
        }
        let data = stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(0 as UInt8) { $0 | (start + $1 < bits.count && bits[start + $1] ? 1 << $1 : 0) }
        }
        let palette: [UInt8] = [0, 0, 0, 250, 0, 0, 0, 250, 0, 0, 0, 250]
        var file = Array("GIF89a".utf8) + Pieces.little16(4) + Pieces.little16(3) + [0x81, 0, 0] + palette
        file += [0x2C, 0, 0, 0, 0] + Pieces.little16(4) + Pieces.little16(3) + [0, UInt8(size)]
        return file + [UInt8(data.count)] + data + [0, 0x3B]
    }

    @Test("A GIF may have codes of any width that the format can hold", arguments: 1...11)
    func codeSizes(_ size: Int) throws {
        let indices = size == 1 ? [0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0] : [0, 1, 2, 3, 3, 2, 1, 0, 1, 1, 2, 2]
        let file = Self.gif(codeSize: size, indices: indices)
        let colors: [SIMD4<UInt8>] = [
            SIMD4(0, 0, 0, 255), SIMD4(250, 0, 0, 255), SIMD4(0, 250, 0, 255), SIMD4(0, 0, 250, 255),
        ]
        #expect(try decode(file).psnr { colors[indices[$1 * 4 + $0]] } == 100)
    }

    @Test("A GIF with wider codes, or without any, is damaged", arguments: [0, 12, 13, 200])
    func badCodeSizes(_ size: UInt8) throws {
        var file = Self.gif(codeSize: 2, indices: [0, 1, 2, 3, 3, 2, 1, 0, 1, 1, 2, 2])
        let start = try #require(file.firstIndex(of: 0x2C))
        file[start + 10] = size
        let error = #expect(throws: LoadError.self) { try decode(file) }
        #expect(error?.code == .damaged && error?.message.contains("code") == true)
    }
}
