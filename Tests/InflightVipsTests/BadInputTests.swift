import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import InflightVips
import Testing

/// Sample images of each format, by name.
enum Pictures {
    static let all: [(name: String, bytes: [UInt8])] =
        AVIFFixtures.all.map { ("AVIF " + $0.name, $0.bytes) } + HEICFixtures.all.map { ("HEIC " + $0.name, $0.bytes) }
        + JPEGXLFixtures.all.map { ("JPEG XL " + $0.name, $0.bytes) }
        + TIFFFixtures.all.map { ("TIFF " + $0.name, $0.bytes) } + [("SVG", drawing)]

    static let drawing = Array(
        """
        <?xml version="1.0"?><!-- a drawing -->
        <svg xmlns="http://www.w3.org/2000/svg" width="16" height="12"><style><![CDATA[rect { fill: red }]]></style>
        <g><rect width="9" height="7"/><text x='1' y="9" font-size="5">a &gt; b</text></g></svg>
        """.utf8)

    static func bytes(_ name: String) throws -> [UInt8] {
        try #require(all.first { $0.name == name }).bytes
    }
}

@Suite("libvips decoder: malformed input", .timeLimit(.minutes(10)))
struct BadInputTests {
    @Test(
        "Each fixture passes validation, also with trailing bytes", arguments: Pictures.all.map(\.name))
    func whole(_ name: String) throws {
        let bytes = try Pictures.bytes(name)
        try validate(bytes)
        try validate(bytes + [1, 2, 3])
        try validate(bytes + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test("Validation rejects a truncated file, JPEG XL only within its header", arguments: Pictures.all.map(\.name))
    func truncated(_ name: String) async throws {
        let bytes = try Pictures.bytes(name)
        let format = try #require(ImageFormat.detect(Bytes(bytes)))
        for length in 0..<bytes.count {
            // Yields because the cooperative pool has few threads and other tests need them.
            await Task.yield()
            let part = Bytes(Array(bytes[..<length]))
            let found = code { try IsolatedFormats.validate(part, format: format) }
            // A bare codestream is validated by its header alone; in a container, a metadata box may follow the pixels.
            // A pointer to a page behind the end of the file ends the list of pages.
            let isLate =
                format == .jpegXL && length >= 12
                || format == .tiff && !IsolatedFormats.hasEndMarker(part, format: format)
            #expect(found == .damaged || (isLate && found == nil), "\(length) bytes")
        }
    }

    @Test("Decoding a truncated still image fails as damaged or unsupported", arguments: Pictures.all.map(\.name))
    func truncatedPixels(_ name: String) async throws {
        let bytes = try Pictures.bytes(name)
        let info = try info(bytes)
        guard !info.mayHaveMoreFrames, info.frameCount == 1, !name.hasSuffix("parts") else { return }
        for length in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 16)) {
            await Task.yield()
            let part = Bytes(Array(bytes[..<length]))
            let found = code {
                guard
                    case .info(let info) = try IsolatedFormats.probe(part, format: info.format, isComplete: true)
                else { return }
                _ = try VipsDecoder().decode(
                    part, format: info.format, info: info, options: DecodeOptions(), cancellation: CancellationFlag())
            }
            #expect(found == .damaged || found == .unsupportedFormat, "\(length) bytes")
        }
    }

    @Test(
        "Probing a prefix returns the info of the whole file or the number of bytes still needed",
        arguments: Pictures.all.map(\.name))
    func partial(_ name: String) async throws {
        let bytes = try Pictures.bytes(name)
        let whole = try info(bytes)
        var isTold = false
        for length in 0...bytes.count {
            await Task.yield()
            let part = Bytes(Array(bytes[..<length]))
            switch try IsolatedFormats.probe(part, format: whole.format, isComplete: false) {
            case .needsMoreBytes(let count):
                #expect(count > length && !isTold, "\(length) bytes")
            case .info(var told):
                isTold = true
                #expect(told.frameCount == whole.frameCount || told.mayHaveMoreFrames)
                told.frameCount = whole.frameCount
                told.mayHaveMoreFrames = whole.mayHaveMoreFrames
                #expect(told == whole, "\(length) bytes")
            }
        }
        #expect(isTold)
    }

    @Test("Random corruption crashes neither probing nor validation", arguments: Pictures.all.map(\.name))
    func changed(_ name: String) async throws {
        let bytes = try Pictures.bytes(name)
        let format = try #require(ImageFormat.detect(Bytes(bytes)))
        var generator = SeededGenerator(seed: 0x1F17)
        for turn in 0..<400 {
            await Task.yield()
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                changed[position] = UInt8.random(in: 0...255, using: &generator)
            }
            if turn % 4 == 0 { changed.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
            let data = Bytes(changed)
            _ = code { try IsolatedFormats.validate(data, format: format) }
            let part = try? IsolatedFormats.probe(data, format: format, isComplete: false)
            if case .needsMoreBytes(let count)? = part { #expect(count > data.count) }
            guard case .info(let info)? = try? IsolatedFormats.probe(data, format: format, isComplete: true) else {
                continue
            }
            #expect(info.storedWidth > 0 && info.storedHeight > 0 && info.frameCount > 0)
        }
    }

    @Test(
        "Decoding randomly corrupted bytes returns pixels of the probed size or throws",
        arguments: ["AVIF alpha", "HEIC plain", "JPEG XL alpha", "JPEG XL lossy", "TIFF lzw", "TIFF cmyk", "SVG"])
    func changedPixels(_ name: String) async throws {
        let bytes = try Pictures.bytes(name)
        let format = try info(bytes).format
        var generator = SeededGenerator(seed: 0x1F17)
        var options = DecodeOptions()
        options.maximumPixels = 100_000
        for _ in 0..<30 {
            await Task.yield()
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                changed[position] = UInt8.random(in: 0...255, using: &generator)
            }
            let data = Bytes(changed)
            guard case .info(let info)? = try? IsolatedFormats.probe(data, format: format, isComplete: true) else {
                continue
            }
            let pixels = try? VipsDecoder().decode(
                data, format: format, info: info, options: options, cancellation: CancellationFlag())
            if let pixels { #expect(pixels.width == info.width && pixels.height == info.height) }
        }
    }

    @Test("Decoding rejects bytes of another format, and unsupported formats")
    func loaders() throws {
        let info = try info(AVIFFixtures.plain)
        for bytes in [TIFFFixtures.lzw, JPEGXLFixtures.alpha, Pictures.drawing] {
            let found = code {
                _ = try VipsDecoder().decode(
                    Bytes(bytes), format: .avif, info: info, options: DecodeOptions(), cancellation: CancellationFlag())
            }
            #expect(found == .damaged || found == .unsupportedFormat)
        }
        for format in [ImageFormat.jpeg, .png, .pdf, .jpeg2000, .psd, ImageFormat(rawValue: "ppm")] {
            let found = code {
                _ = try VipsDecoder().decode(
                    Bytes(AVIFFixtures.plain), format: format, info: info, options: DecodeOptions(),
                    cancellation: CancellationFlag())
            }
            #expect(found == .unsupportedFormat)
        }
    }

    @Test("Decoding fails as damaged if the probed size differs from the actual size")
    func lyingHeader() throws {
        var info = try info(TIFFFixtures.lzw)
        info.storedWidth = 17
        let found = code {
            _ = try VipsDecoder().decode(
                Bytes(TIFFFixtures.lzw), format: .tiff, info: info, options: DecodeOptions(),
                cancellation: CancellationFlag())
        }
        #expect(found == .damaged)
    }
}
