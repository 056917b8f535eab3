import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

@Suite("Partial images", .timeLimit(.minutes(10)))
struct PartialImageTests {
    /// Soft shapes with some noise, which compress to about one byte per pixel.
    private static let scene = PixelBuffer(width: 200, height: 150, format: .rgbx) { x, y in
        var state = UInt32(y * 200 + x) &* 2_654_435_769
        state = (state ^ state >> 15) &* 739_982_445
        state = (state ^ state >> 12) &* 695_872_825
        let noise = UInt8(state >> 20 & 31)
        return SIMD4(UInt8(x), UInt8(y) + 50, UInt8(x / 2 + y / 2), 0) &+ SIMD4(noise, noise, noise / 2, 255)
    }

    private static func file(_ format: ImageFormat, _ change: (inout EncodeOptions) -> Void = { _ in }) throws
        -> [UInt8]
    {
        var options = EncodeOptions(format: format)
        change(&options)
        return try registry.encode(scene, options: options).array
    }

    private static func part(
        _ bytes: ArraySlice<UInt8>, _ options: DecodeOptions = DecodeOptions(), beyond detail: Int = 0
    ) throws(LoadError) -> PartialImage? {
        try registry.decodePart(
            Bytes(Array(bytes)), options: options, beyond: detail, cancellation: CancellationFlag())?.0
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: @Sendable () throws -> [UInt8]
    }

    static let fromTheTop = [
        Case(testDescription: "JPEG") { try file(.jpeg) },
        Case(testDescription: "PNG") { try file(.png) },
        Case(testDescription: "lossy WebP") { try file(.webp) },
        Case(testDescription: "lossless WebP") { try file(.webp) { $0.isLossless = true } },
    ]

    @Test("A partial image equals the whole from the top down and is transparent below", arguments: fromTheTop)
    func rows(_ picture: Case) async throws {
        let file = try picture.file()
        let whole = try decode(file)
        var last = 0
        var shown = 0
        for step in 1...20 {
            let count = file.count * step / 20
            await Task.yield()
            guard let part = try Self.part(file[..<count]) else { continue }
            #expect(part.detail >= last && part.pixels.width == 200 && part.pixels.height == 150)
            #expect(!part.coversAll && part.pixels.format.alpha == .straight)
            last = part.detail
            shown += 1
            for y in stride(from: 0, to: 150, by: 5) {
                for x in stride(from: 0, to: 200, by: 9) {
                    #expect(part.pixels[x, y] == (y < part.detail ? whole[x, y] : .zero))
                }
            }
        }
        #expect(shown >= 10)
        #expect(last == 150)
    }

    @Test("A smaller partial image is close to the whole, except at its lower edge")
    func smaller() throws {
        var options = DecodeOptions(resize: Resize(width: 50))
        options.premultiplied = true
        for picture in Self.fromTheTop {
            let file = try picture.file()
            let whole = try decode(file, options)
            let part = try #require(try Self.part(file[..<(file.count * 6 / 10)], options))
            #expect(part.pixels.width == 50 && part.pixels.height == 38)
            #expect(part.pixels.format.alpha == .premultiplied)
            for y in 0..<10 {
                for x in stride(from: 0, to: 50, by: 7) {
                    let difference =
                        SIMD4<Int>(truncatingIfNeeded: part.pixels[x, y])
                        &- SIMD4(truncatingIfNeeded: whole[x, y])
                    #expect((0..<4).allSatisfy { abs(difference[$0]) <= 12 }, "\(picture.testDescription) \(x) \(y)")
                }
            }
            for x in 0..<50 { #expect(part.pixels[x, 37] == .zero) }
        }
    }

    @Test("A partial progressive JPEG covers the whole image by 16 % of its bytes and keeps improving")
    func scans() async throws {
        let file = try Self.file(.jpeg) { $0.isProgressive = true }
        let whole = try decode(file)
        var last = (detail: 0, psnr: 0.0)
        var first: Int?
        var steps = 0
        for count in stride(from: file.count / 50, to: file.count, by: file.count / 50) {
            await Task.yield()
            guard let part = try Self.part(file[..<count], beyond: last.detail) else { continue }
            first = first ?? count
            #expect(part.coversAll && part.pixels.format.alpha == .opaque && part.detail > last.detail)
            let psnr = part.pixels.psnr { whole[$0, $1] }
            #expect(psnr > last.psnr)
            last = (part.detail, psnr)
            steps += 1
        }
        #expect(steps >= 5)
        #expect(last.psnr > 30)
        #expect(try #require(first) <= file.count * 16 / 100)
    }

    @Test("A partial interlaced PNG covers the whole image from its first pass")
    func passes() throws {
        let file = Pieces.pngWithSmallChunks(Fixtures.interlacedPNG, 16)
        let whole = try decode(file)
        var last = (detail: 0, psnr: 0.0)
        for count in 60..<file.count {
            guard let part = try Self.part(file[..<count]), part.detail > last.detail else { continue }
            #expect(part.coversAll && part.pixels.format.alpha == .straight)
            let psnr = part.pixels.psnr { whole[$0, $1] }
            #expect(psnr > last.psnr)
            last = (part.detail, psnr)
            #expect(part.pixels[15, 11][3] > 0)
        }
        #expect(last.detail == 7 && last.psnr == 100)
    }

    @Test("The complete first frame of an animation is a final partial image")
    func firstFrame() throws {
        for (file, name) in [(Fixtures.animatedGIF, "GIF"), (Fixtures.animatedWebP, "WebP")] {
            var isFinal = false
            for count in 1..<file.count {
                guard let part = try Self.part(file[..<count]), part.isFinal else { continue }
                if !isFinal { #expect(part.pixels.psnr(Scene.firstFrame) == 100, "\(name)") }
                isFinal = true
            }
            #expect(isFinal, "\(name)")
        }
    }

    @Test("Corrupt data yields a partial image up to the corruption")
    func damaged() throws {
        var file = try Self.file(.jpeg) { $0.isProgressive = true }
        let scans = file.indices.dropLast().filter { file[$0] == 0xFF && file[$0 + 1] == 0xDA }
        // A code that is in no table, in the third scan.
        for index in scans[2] + 40..<scans[2] + 60 { file[index] = 0xFE }
        let part = try #require(try Self.part(file[...]))
        #expect(part.detail >= 2 && part.detail < scans.count)
        var png = try Self.file(.png)
        png[png.count * 3 / 4] ^= 0x55
        let rows = try #require(try Self.part(png[...]))
        #expect(rows.detail > 50)
    }

    @Test("A prefix of any length decodes or fails without a crash, and the pixel limit applies")
    func everywhere() async throws {
        var options = DecodeOptions(resize: Resize(width: 7))
        for file in [
            Fixtures.baselineJPEG, Fixtures.progressiveJPEG, Fixtures.cmykJPEG, Fixtures.rgbaPNG,
            Fixtures.interlacedPNG, Fixtures.palettePNG, Fixtures.alphaWebP, Fixtures.lossyWebP,
            Fixtures.interlacedGIF, Fixtures.animatedGIF, Fixtures.rgbBMP,
        ] {
            await Task.yield()
            for count in 0...file.count {
                if let part = try? Self.part(file[..<count], options) {
                    #expect(part.pixels.width == 7 && part.detail > 0)
                }
            }
        }
        options.maximumPixels = 100
        #expect(throws: LoadError.self) { try Self.part(Fixtures.baselineJPEG[...], options) }
    }
}

extension Pieces {
    /// The same image with its data in more chunks.
    fileprivate static func pngWithSmallChunks(_ file: [UInt8], _ size: Int) -> [UInt8] {
        var result = Array(file[..<8])
        var position = 8
        while position + 12 <= file.count {
            let length = file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let content = file[position + 8..<position + 8 + length]
            let name = String(decoding: file[position + 4..<position + 8], as: UTF8.self)
            if name == "IDAT" {
                for start in stride(from: content.startIndex, to: content.endIndex, by: size) {
                    result += chunk(name, Array(content[start..<min(start + size, content.endIndex)]))
                }
            } else {
                result += file[position..<position + 12 + length]
            }
            position += 12 + length
        }
        return result
    }
}
