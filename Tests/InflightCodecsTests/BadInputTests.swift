import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCodecs

@Suite(.timeLimit(.minutes(10)))
struct BadInputTests {
    private func code(_ body: () throws -> Void) -> LoadError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? LoadError)?.code
        }
    }

    @Test("Each fixture passes validation, also with trailing bytes")
    func whole() throws {
        for (_, bytes) in Fixtures.all {
            _ = try registry.validate(Bytes(bytes))
            _ = try registry.validate(Bytes(bytes + [1, 2, 3]))
        }
    }

    @Test("A truncated image is rejected at every length", arguments: Fixtures.all.map(\.name))
    func truncated(_ name: String) throws {
        let bytes = try #require(Fixtures.all.first { $0.name == name }).bytes
        // What a JPEG and a GIF lack without their end marker: `ImageEndTests`.
        let end = bytes.count - (name.contains("JPEG") ? 2 : name.contains("GIF") ? 1 : 0)
        for length in 0..<end {
            let part = Bytes(Array(bytes[..<length]))
            let found = code { _ = try registry.validate(part) }
            if name == "animatedGIF", found == nil, part[length - 1] == 0 { continue }
            #expect(found == (ImageFormat.detect(part) == nil ? .notAnImage : .damaged), "\(length) bytes")
            // Decoding may succeed with the first frame alone, and never crashes.
            let decoded = code {
                _ = try registry.decode(part, options: DecodeOptions(), cancellation: CancellationFlag())
            }
            if !name.contains("GIF"), !name.contains("animated") { #expect(decoded == found, "\(length) bytes") }
        }
    }

    @Test(
        "Probing a prefix returns the info of the whole file or the number of bytes still needed",
        arguments: Fixtures.all.map(\.name))
    func partial(_ name: String) throws {
        let bytes = try #require(Fixtures.all.first { $0.name == name }).bytes
        let whole = try info(bytes)
        var isTold = false
        for length in 0...bytes.count {
            switch try registry.probe(Bytes(Array(bytes[..<length])), isComplete: false) {
            case .needsMoreBytes(let count):
                #expect(count > length && !isTold)
            case .info(var told):
                isTold = true
                #expect(told.frameCount == whole.frameCount || told.mayHaveMoreFrames)
                told.frameCount = whole.frameCount
                told.mayHaveMoreFrames = false
                #expect(told == whole)
            }
        }
        #expect(isTold)
    }

    @Test("Random corruption never crashes a decoder", arguments: Fixtures.all.map(\.name))
    func changed(_ name: String) throws {
        let bytes = try #require(Fixtures.all.first { $0.name == name }).bytes
        var generator = SeededGenerator(seed: 0x1F17)
        var options = DecodeOptions()
        // A corrupt header may declare a large image, which this test does not need.
        options.maximumPixels = 300_000
        for turn in 0..<400 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                changed[position] = UInt8.random(in: 0...255, using: &generator)
            }
            options.resize = turn % 2 == 0 ? nil : Resize(width: 7, height: 5, fit: .fill)
            let data = Bytes(changed)
            _ = try? registry.validate(data)
            _ = try? registry.probe(data, isComplete: false)
            _ = try? registry.decode(data, options: options, cancellation: CancellationFlag())
        }
    }

    @Test("A wrong checksum makes a PNG damaged in a critical chunk; an optional chunk is ignored, as in browsers")
    func checksums() throws {
        let plain = try decode(Fixtures.rgbPNG)
        let optional: [(String, [UInt8])] = [
            ("tEXt", Array("a\0b".utf8)), ("gAMA", Pieces.big32(100_000)), ("sRGB", [0]), ("cICP", [12, 13, 0, 1]),
            ("tRNS", Pieces.big32(0) + Pieces.big16(0)), ("eXIf", Pieces.exif(orientation: 6)),
            ("acTL", Pieces.big32(2) + Pieces.big32(0)),
        ]
        let file = Pieces.png(Fixtures.rgbPNG, adding: optional.flatMap { Pieces.chunk($0.0, $0.1) })
        var position = 8
        while position < file.count {
            let length = file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            var broken = file
            broken[position + 8 + length] ^= 1
            let isCritical = broken[position + 4] & 0x20 == 0
            #expect(code { _ = try registry.validate(Bytes(broken)) } == (isCritical ? .damaged : nil))
            #expect(code { _ = try decode(broken) } == (isCritical ? .damaged : nil))
            position += length + 12
        }
        for (name, content) in optional {
            var chunk = Pieces.chunk(name, content)
            chunk[chunk.count - 1] ^= 1
            let broken = Pieces.png(Fixtures.rgbPNG, adding: chunk)
            #expect(try decode(broken).psnr { plain[$0, $1] } == 100, "\(name)")
            let header = try info(broken)
            #expect(!header.hasAlpha && header.orientation == .up && header.frameCount == 1, "\(name)")
        }
    }

    @Test("A JPEG with corrupt data is damaged; one with bytes between its segments is not")
    func corruptJPEG() throws {
        let restarts = Fixtures.restartsJPEG
        let marker = try #require(
            restarts.indices.dropLast().first { restarts[$0] == 0xFF && restarts[$0 + 1] == 0xD0 })
        var broken = restarts
        broken[marker + 1] = 0xD5
        #expect(code { _ = try decode(broken) } == .damaged)
        // After the first segment.
        let end = 4 + Int(restarts[4]) << 8 + Int(restarts[5])
        let loose = Array(restarts[..<end]) + [0x11, 0x22] + restarts[end...]
        _ = try decode(loose)
        _ = try registry.validate(Bytes(loose))
    }

    @Test("Damage is described in this library's words, with those of the format's library underneath")
    func messages() throws {
        func error(_ bytes: [UInt8]) throws -> LoadError {
            try #require(throws: LoadError.self) { try decode(bytes) }
        }
        let cut = Array(Fixtures.rgbPNG.dropLast(20))
        for (format, part) in [
            ("png", cut), ("jpeg", Array(Fixtures.baselineJPEG.dropLast(9))),
            ("gif", Array(Fixtures.animatedGIF.dropLast(300))),
        ] {
            #expect(try error(part).message == "The \(format) image is truncated. Fetch it again.")
        }
        var pixels = Fixtures.rgbPNG
        pixels.replaceSubrange(41..<66, with: [UInt8](repeating: 0x55, count: 25))
        let chunk = Pieces.chunk("IDAT", Array(pixels[41..<70]))
        let png = try error(pixels[..<33] + chunk + pixels[74...])
        #expect(png.message == "The png image is corrupt: invalid chunk or compressed data. Use another copy of it.")
        #expect(png.underlying != nil)
        var data = Fixtures.restartsJPEG
        let marker = try #require(data.indices.dropLast().first { data[$0] == 0xFF && data[$0 + 1] == 0xD0 })
        data[marker + 1] = 0xD5
        let jpeg = try error(data)
        #expect(jpeg.message == "The jpeg image is corrupt: invalid compressed data. Use another copy of it.")
        #expect(jpeg.underlying.map { "\($0)".contains("0xd5") } == true)
    }

    @Test("A JPEG metadata segment with an impossible length is ignored")
    func brokenRecords() throws {
        for marker: UInt8 in [0xE0, 0xE1, 0xE2, 0xEF, 0xFE] {
            for length: UInt8 in [0, 1] {
                let file =
                    Fixtures.baselineJPEG[..<2] + [0xFF, marker, 0, length] + Pieces.exif(orientation: 6)
                    + Fixtures.baselineJPEG[2...]
                #expect(try decode(Array(file)).psnr(Scene.color) > 32)
                #expect(try registry.validate(Bytes(Array(file))).orientation == .up)
            }
        }
        let table = Fixtures.baselineJPEG[..<2] + [0xFF, 0xDB, 0, 1] + Fixtures.baselineJPEG[2...]
        #expect(code { _ = try decode(Array(table)) } == .damaged)
    }

    @Test("A WebP with a second canvas header after its frame is damaged")
    func secondCanvas() throws {
        let frame = Fixtures.losslessWebP[12...]
        let canvas = Pieces.webPCanvas(width: 16, height: 12, flags: 0x08)
        _ = try decode(Pieces.webP(Pieces.webPCanvas(width: 16, height: 12, flags: 0) + frame))
        for (width, height) in [(1, 1), (1, 12), (16, 1), (5000, 12), (16, 12)] {
            let file = Pieces.webP(canvas + frame + Pieces.webPCanvas(width: width, height: height, flags: 0))
            #expect(code { _ = try decode(file) } == .damaged, "\(width) × \(height)")
            #expect(code { _ = try registry.validate(Bytes(file)) } == .damaged, "\(width) × \(height)")
        }
        let animated = Fixtures.animatedWebP[12...] + Pieces.webPCanvas(width: 1, height: 1, flags: 0)
        #expect(code { _ = try decode(Pieces.webP(Array(animated))) } == .damaged)
    }

    @Test("An image whose header declares too many pixels is rejected")
    func tooManyPixels() throws {
        let gif = Array("GIF89a".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x2C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0]
        let tiny = gif + [2, 1, 0x4C, 0, 0x3B, 0, 0, 0, 0]
        #expect(tiny.count <= 35)
        #expect(code { _ = try decode(tiny) } == .tooManyPixels)
        var frame = tiny
        frame.replaceSubrange(6..<10, with: [1, 0, 1, 0])
        #expect(code { _ = try decode(frame) } == .tooManyPixels)

        var header = Pieces.big32(100_000) + Pieces.big32(100_000)
        header += [8, 2, 0, 0, 0]
        let signature = Array(Fixtures.rgbPNG[..<8])
        let png = signature + Pieces.chunk("IHDR", header) + Pieces.chunk("IDAT", []) + Pieces.chunk("IEND", [])
        #expect(code { _ = try decode(png) } == .tooManyPixels)

        var jpeg = Fixtures.progressiveJPEG
        let frameHeader = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC2 })
        jpeg.replaceSubrange(frameHeader + 5..<frameHeader + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        #expect(code { _ = try decode(jpeg) } == .tooManyPixels)

        var options = DecodeOptions()
        options.maximumPixels = 16 * 12
        _ = try decode(Fixtures.baselineJPEG, options)
        options.maximumPixels = 16 * 12 - 1
        #expect(code { _ = try decode(Fixtures.baselineJPEG, options) } == .tooManyPixels)
        let most = Int(UInt32.max >> 1)
        let largest = signature + Pieces.chunk("IHDR", Pieces.big32(most) + Pieces.big32(most) + header[8...])
        options.maximumPixels = .max
        #expect(code { _ = try decode(largest + png[33...], options) } == .tooManyPixels)
        options = DecodeOptions(resize: Resize(width: 100_000, height: 100_000, fit: .fill, enlarges: true))
        #expect(code { _ = try decode(Fixtures.baselineJPEG, options) } == .tooManyPixels)
    }

    @Test("Failing to allocate memory is an error, not a crash")
    func noMemory() {
        for (width, height) in [(1 << 30, 1 << 30), (1 << 31, 1 << 31), (1 << 40, 1 << 40)] {
            #expect(code { _ = try PixelMemory(width: width, height: height) } == .tooManyPixels)
        }
    }

    @Test("Decoding throws cancelled if cancelled before it starts", arguments: Fixtures.all.map(\.name))
    func cancelled(_ name: String) throws {
        let bytes = try #require(Fixtures.all.first { $0.name == name }).bytes
        let flag = CancellationFlag()
        flag.cancel()
        #expect(
            code { _ = try registry.decode(Bytes(bytes), options: DecodeOptions(), cancellation: flag) } == .cancelled)
    }

    @Test("JPEG and PNG decoding throws cancelled if cancelled after the header is read")
    func cancelledInside() throws {
        let flag = CancellationFlag()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 * 12 * 4, alignment: 16)
        defer { unsafe memory.deallocate() }
        let plan = Resize.Plan(scaledWidth: 16, scaledHeight: 12, width: 16, height: 12)
        let small = Resize.Plan(scaledWidth: 4, scaledHeight: 3, width: 4, height: 3)
        for (bytes, plan) in [(Fixtures.progressiveJPEG, plan), (Fixtures.baselineJPEG, small)] {
            let inside = CancellationFlag()
            let found = code {
                try JPEGReader.with(Bytes(bytes), inside) { (reader) throws(LoadError) in
                    inside.cancel()
                    try unsafe JPEGDecoding(reader: reader, plan: plan, target: memory, transform: nil).run()
                }
            }
            #expect(found == .cancelled)
        }
        for bytes in [Fixtures.rgbPNG, Fixtures.interlacedPNG] {
            let header = try info(bytes)
            let found = code {
                try PNGReader.with(Bytes(bytes)) { (reader) throws(LoadError) in
                    flag.cancel()
                    try unsafe PNGDecoding(
                        reader: reader, info: header, transform: nil, plan: plan, target: memory, cancellation: flag
                    ).run()
                }
            }
            #expect(found == .cancelled)
        }
    }
}
