import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import InflightWorker
import Testing

@Suite("Isolated formats", .timeLimit(.minutes(10)))
struct IsolatedFormatsTests {
    private static let svg = Bytes(
        #"<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="lime"/></svg>"#
    )

    private func decode(_ bytes: Bytes, _ decoding: DecodeIsolation = .auto, drawsSVG: Bool = false) throws(LoadError)
        -> (PixelBuffer, ImageInfo)
    {
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = drawsSVG
        return try CodecRegistry.standard(decoding, decoder).decode(
            bytes, options: DecodeOptions(), cancellation: CancellationFlag())
    }

    @Test(
        "An isolated format decodes through the shipped decoder",
        arguments: [
            ("avif", AVIFFixtures.plain), ("heic", HEICFixtures.plain), ("jxl", JPEGXLFixtures.lossy),
            ("tiff", TIFFFixtures.lzw),
        ])
    func sandboxed(_ name: String, _ file: [UInt8]) throws {
        let (pixels, info) = try decode(Bytes(file))
        #expect(info.format.rawValue == name)
        #expect(pixels.width == Scene.width && pixels.height == Scene.height)
        #expect(pixels.psnr(Scene.color) > 30)
    }

    @Test("The decoder process rejects a truncated JPEG XL codestream")
    func cutShort() throws {
        let codecs = CodecRegistry.standard(.auto, DecoderConfiguration())
        let file = JPEGXLFixtures.lossy
        #expect(try codecs.validate(Bytes(file)).format == .jpegXL)
        let error = #expect(throws: LoadError.self) { try codecs.validate(Bytes(Array(file.dropLast(20)))) }
        #expect(error?.code == .damaged)
        // Without decoder processes, only the boxes are checked.
        _ = try CodecRegistry.standard(.inProcess, DecoderConfiguration()).validate(Bytes(Array(file.dropLast(20))))
    }

    @Test("The memory limit counts the alpha of a JPEG XL image, and refuses it before decoding")
    func largeJPEGXL() throws {
        let codecs = CodecRegistry.standard(.auto, DecoderConfiguration())
        func refusal(_ side: Int, _ channels: [JPEGXLPieces.Channel], _ frame: [UInt8]) -> LoadError.Code? {
            var pieces = JPEGXLPieces()
            (pieces.width, pieces.height) = (side, side)
            pieces.channels = channels
            pieces.frame = frame
            do throws(LoadError) {
                _ = try codecs.memoryNeeded(Bytes(pieces.file), options: DecodeOptions())
                return nil
            } catch {
                return error.code
            }
        }
        let transformed = JPEGXLPieces.transformedFrame
        #expect(refusal(7000, [], transformed) == nil)
        #expect(refusal(7000, [], JPEGXLPieces.integerFrame(channelCount: 0)) == .tooMuchMemory)
        #expect(refusal(4500, [.alpha], transformed) == nil)
        #expect(refusal(7000, [.alpha], transformed) == .tooMuchMemory)
        #expect(refusal(10_000, [.alpha], transformed) == .tooMuchMemory)
        #expect(refusal(5000, [.alpha, .alpha, .alpha], transformed) == .tooMuchMemory)
        // Without its frame's header, an image may need the most.
        #expect(refusal(7000, [], []) == .tooMuchMemory)
    }

    @Test("The memory of a drawing is that of the size at which it is rendered")
    func largeDrawing() throws {
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = true
        let codecs = CodecRegistry.standard(.auto, decoder)
        // The intrinsic size is 20 × 10. The lower bound was measured.
        var options = DecodeOptions(resize: Resize(width: 7000, height: 7000, fit: .fill))
        #expect((438_000_000..<600_000_000).contains(try codecs.memoryNeeded(Self.svg, options: options)))
        options.resize = Resize(width: 40)
        #expect(try codecs.memoryNeeded(Self.svg, options: options) < 1 << 20)
    }

    @Test("A decode that needs more memory than a decoder process has is refused by that limit")
    func smallProcess() throws {
        var decoder = DecoderConfiguration()
        decoder.maximumMemory = 1 << 20
        let error = #expect(throws: LoadError.self) {
            var pieces = JPEGXLPieces()
            (pieces.width, pieces.height) = (1000, 1000)
            pieces.frame = JPEGXLPieces.transformedFrame
            _ = try CodecRegistry.standard(.auto, decoder).decode(
                Bytes(pieces.file), options: DecodeOptions(), cancellation: CancellationFlag())
        }
        #expect(error?.code == .tooMuchMemory && error?.message.contains("DecoderConfiguration.maximumMemory") == true)
    }

    @Test("A failure of a library is told in plain words; its own words are the underlying error")
    func plainWords() throws {
        let drawing = #"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">&gone;</svg>"#
        let error = #expect(throws: LoadError.self) { try decode(Bytes(Array(drawing.utf8)), drawsSVG: true) }
        #expect(error?.code == .damaged)
        #expect(
            error?.message
                == "The svg image is corrupt: it uses an entity that it does not declare. Use another copy of it.")
        let cause = error?.underlying.map { String(describing: $0) } ?? ""
        #expect(cause.contains("Entity 'gone' not defined"), "\(cause)")
    }

    @Test("Compressed SVG is rendered if enabled; malformed and oversized data is rejected")
    func compressedDrawings() throws {
        // Compressed by `gzip -9n`.
        let file = Base64.bytes(
            """
            H4sIAAAAAAACA3XMwQ2AIAxA0VWaDmAr3gywjCKQgBporOOrA3j+L9/2K8Jdy94dJpFzJlLVQafhaJEMM9MrEDSvkhwaRkghxyQO
            R0ZvW1jkJ8KWS3FYcg1I3n4f/wDTGZThbwAAAA==
            """)
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = true
        let codecs = CodecRegistry.standard(.auto, decoder)
        let (pixels, info) = try decode(Bytes(file), drawsSVG: true)
        #expect(info.format == .svg && pixels.width == 20 && pixels.height == 10)
        #expect(pixels[10, 5] == SIMD4(0, 255, 0, 255))
        #expect(try codecs.validate(Bytes(file)).format == .svg)
        func code(_ bytes: [UInt8], _ codecs: CodecRegistry) -> LoadError.Code? {
            #expect(throws: LoadError.self) { try codecs.validate(Bytes(bytes)) }?.code
        }
        #expect(code(file, .standard(.auto, DecoderConfiguration())) == .notAnImage)
        for length in 3..<file.count {
            #expect([.damaged, .notAnImage].contains(code(Array(file[..<length]), codecs)), "\(length) bytes")
            _ = try? codecs.probe(Bytes(Array(file[..<length])), isComplete: false)
        }
        var flipped = file
        flipped[file.count - 6] ^= 1
        #expect(code(flipped, codecs) == .damaged, "its checksum is wrong")
        // "Hello" is not an SVG document.
        #expect(code(Base64.bytes("H4sIAAAAAAACA/NIzcnJBwCCidH3BQAAAA=="), codecs) == .notAnImage)
        #expect(code(bomb, codecs) == .tooLarge)
    }

    /// A decompression bomb: the drawing without its end in a stored block, then 33 MiB of blanks as matches of 258
    /// bytes in fixed codes, eight of which take 13 bytes (RFC 1951 section 3.2).
    private var bomb: [UInt8] {
        let start: [UInt8] = Self.svg.array.dropLast(6) + [0x20]
        let stored: [UInt8] = [0] + Pieces.little16(start.count) + Pieces.little16(0xFFFF ^ start.count) + start
        let match: [UInt8] = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
        let bits: [UInt8] = [0, 1, 0] + [[UInt8]](repeating: match, count: 16).joined()
        var codes = [UInt8](repeating: 0, count: 26)
        for bit in 0..<208 { codes[bit / 8] |= bits[bit] << UInt8(bit % 8) }
        var file: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        file += stored
        file += codes[..<13]
        for _ in 0..<16_800 { file += codes[13...] }
        return file
    }

    @Test(
        "A drawing is recognised and rendered with a prefix, behind a long comment, and in UTF-16",
        arguments: ["", "prefix", "comment", "little", "big"])
    func recognised(_ kind: String) throws {
        let head = #"<?xml version="1.0"?>"#
        let drawing = String(decoding: Self.svg.array, as: UTF8.self)
        let text =
            switch kind {
            case "prefix":
                head
                    + drawing.replacing("<svg xmlns", with: "<a:svg xmlns:a").replacing("<rect", with: "<a:rect")
                    .replacing("</svg", with: "</a:svg")
            case "comment": head + "<!-- \(String(repeating: "licence ", count: 200)) -->" + drawing
            case "": drawing
            default: head.replacing("?>", with: " encoding='UTF-16'?>") + drawing.replacing("><", with: "><!-- ü😀 --><")
            }
        var file = Array(text.utf8)
        if kind == "little" || kind == "big" {
            file = ("\u{FEFF}" + text).utf16.flatMap { unit in
                let bytes = [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)]
                return kind == "big" ? bytes.reversed() : bytes
            }
        }
        let (pixels, info) = try decode(Bytes(file), drawsSVG: true)
        #expect(info.format == .svg && pixels.width == 20 && pixels.height == 10)
        #expect(pixels[10, 5] == SIMD4(0, 255, 0, 255))
        #expect(try CodecRegistry.standard().validate(Bytes(file)).width == 20)
        let error = #expect(throws: LoadError.self) {
            try CodecRegistry.standard().validate(
                Bytes(Array(file.dropLast(kind == "little" || kind == "big" ? 4 : 2))))
        }
        #expect(error?.code == .damaged)
    }

    @Test(
        "An embedded image is drawn by its content, whatever media type its URL declares",
        arguments: [
            // One red pixel each, as GIF, BMP and SVG.
            ("image/gif;base64", "R0lGODdhAQABAIEAAP8AAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="),
            ("image/png;base64", "R0lGODdhAQABAIEAAP8AAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="),
            (";base64", "R0lGODdhAQABAIEAAP8AAAAA&#10;AAAAAAAA ACwAAAAAAQABAAAIBAABBAQAOw%3D%3D"),
            (
                "image/bmp;base64",
                "Qk06AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAQAAADEDgAAxA4AAAAAAAAAAAAAAAD/AA=="
            ),
            (
                "image/svg+xml;base64",
                "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxIiBoZWlnaHQ9IjEiPjxyZWN0IHdpZHRoPSIxIiBo"
                    + "ZWlnaHQ9IjEiIGZpbGw9InJlZCIvPjwvc3ZnPg=="
            ),
            (
                "image/svg+xml",
                "%3Csvg xmlns='http://www.w3.org/2000/svg' width='8' height='8'%3E%3Crect width='8' height='8' "
                    + "fill='red'/%3E%3C/svg%3E"
            ),
        ])
    func embedded(_ type: String, _ data: String) throws {
        for name in ["href", "xlink:href"] {
            let drawing =
                "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='8' "
                + "height='8'><image width='8' height='8' \(name)=\" data:\(type),\(data)\"/></svg>"
            let (pixels, _) = try decode(Bytes(Array(drawing.utf8)), drawsSVG: true)
            #expect(pixels[4, 4] == SIMD4(255, 0, 0, 255), "\(name)")
        }
    }

    @Test("SVG is rendered only if enabled")
    func drawings() throws {
        let (pixels, _) = try decode(Self.svg, drawsSVG: true)
        #expect(pixels.width == 20 && pixels.height == 10 && pixels[10, 5] == SIMD4(0, 255, 0, 255))
        let refusal = #expect(throws: LoadError.self) { try decode(Self.svg) }
        #expect(refusal?.code == .unsupportedFormat && refusal?.message.contains("drawsSVG") == true)
    }

    @Test("SVG is rendered at the requested size, even above its intrinsic size")
    func largeDrawings() throws {
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = true
        let (pixels, _) = try CodecRegistry.standard(.auto, decoder).decode(
            Self.svg, options: DecodeOptions(resize: Resize(width: 60)), cancellation: CancellationFlag())
        #expect(pixels.width == 60 && pixels.height == 30)
    }

    @Test("SVG text is not rendered as placeholder boxes")
    func text() throws {
        func ink(_ text: String) throws -> Int {
            let drawing = Bytes(
                #"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text y="15">\#(text)</text></svg>"#)
            let (pixels, _) = try decode(drawing, drawsSVG: true)
            return (0..<20).reduce(0) { sum, y in (0..<60).reduce(sum) { $0 + Int(pixels[$1, y][3]) } }
        }
        // Placeholder boxes would need the same ink for each letter; without any font there would be none.
        #expect(try ink("....") * 3 <= ink("WWWW"))
    }

    @Test("In-process decoding rejects isolated formats but reads their headers")
    func inProcess() throws {
        let refusal = #expect(throws: LoadError.self) { try decode(Bytes(AVIFFixtures.plain), .inProcess) }
        #expect(refusal?.code == .unsupportedFormat)
        let registry = CodecRegistry.standard(.inProcess)
        #expect(try registry.info(of: Bytes(AVIFFixtures.plain)).width == Scene.width)
        #expect(!registry.encodableFormats.contains(.avif))
    }

    @Test("Without a decoder program, AVIF is not among the formats that are encoded")
    func noProgram() throws {
        var configuration = DecoderConfiguration()
        configuration.path = "/nowhere/inflight-decoder"
        for decoding in [DecodeIsolation.auto, .worker] {
            let registry = CodecRegistry.standard(decoding, configuration)
            #expect(!registry.encodableFormats.contains(.avif))
            #expect(registry.decodableFormats.contains(.avif))
        }
        // The other program does not encode it.
        let folder = TemporaryDirectory()
        folder.write("inflight-decoder", "")
        configuration.path = folder.appending("inflight-decoder")
        let status = unsafe chmod(folder.appending("inflight-decoder"), 0o755)
        #expect(status == 0)
        #expect(!CodecRegistry.standard(.auto, configuration).encodableFormats.contains(.avif))
        withExtendedLifetime(folder) {}
        #expect(CodecRegistry.standard().encodableFormats.contains(.avif))
    }

    @Test("An encoded AVIF file decodes again through the decoder process")
    func encoded() throws {
        let registry = CodecRegistry.standard()
        let scene = PixelBuffer(width: Scene.width, height: Scene.height, Scene.color)
        let file = try registry.encode(scene, options: EncodeOptions(format: .avif, quality: 95))
        let (pixels, info) = try decode(file)
        #expect(info.format == .avif && pixels.psnr(Scene.color) > 30)
    }

    @Test("TIFF tiles that take more memory than allowed are refused before they are allocated")
    func largeTiles() throws {
        var pieces = TIFFPieces()
        pieces.omitted = [273, 278, 279]
        pieces.fields = [
            (322, [1 << 20], true), (323, [1 << 20], true), (324, [8], true), (325, [pieces.pixels.count], true),
        ]
        let error = #expect(throws: LoadError.self) { try decode(Bytes(pieces.file)) }
        #expect(error?.code == .tooMuchMemory)
    }

    @Test("Each TIFF page decodes in the shipped decoder, and a page out of range is rejected")
    func pages() throws {
        var second = TIFFPieces()
        second.width = 8
        second.height = 24
        let file = Bytes(TIFFPieces.file([TIFFPieces(), second]))
        let codecs = CodecRegistry.standard()
        for (page, width) in [(0, 16), (1, 8)] {
            var options = DecodeOptions(resize: Resize(width: 4))
            options.page = page
            let (pixels, info) = try codecs.decode(file, options: options, cancellation: CancellationFlag())
            #expect(info.width == width && pixels.width == 4 && pixels.height == (page == 0 ? 3 : 12))
            #expect(try codecs.info(of: file, page: page).width == width)
        }
        var options = DecodeOptions()
        options.page = 2
        for decoding in [DecodeIsolation.auto, .worker] {
            let error = #expect(throws: LoadError.self) {
                try CodecRegistry.standard(decoding).decode(file, options: options, cancellation: CancellationFlag())
            }
            #expect(error?.code == .invalidRequest)
        }
        // The decoder process also checks pages that this process accepts.
        let pool = DecoderPool(suffix: "-vips")
        let error = #expect(throws: LoadError.self) {
            try pool.decode(file, format: .tiff, options: options, cancellation: CancellationFlag())
        }
        #expect(error?.code == .invalidRequest && error?.message.contains("from 1 to 2") == true)
    }
}
