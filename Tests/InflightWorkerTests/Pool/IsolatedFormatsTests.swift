import Inflight
import InflightCore
import InflightPictures
import InflightWorker
import Testing

@Suite("Formats that are decoded in processes of their own", .timeLimit(.minutes(10)))
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
        "come through the shipped decoder, in its sandbox",
        arguments: [
            ("avif", AVIFFixtures.plain), ("heic", HEICFixtures.plain), ("jxl", JPEGXLFixtures.lossy),
            ("tiff", TIFFFixtures.lzw),
        ])
    func sandboxed(_ name: String, _ file: [UInt8]) throws {
        let (pixels, info) = try decode(Bytes(file))
        #expect(info.format.rawValue == name)
        #expect(pixels.width == Scene.width && pixels.height == Scene.height)
        #expect(pixels.likeness(Scene.color) > 30)
    }

    @Test("make drawings only where that is asked for")
    func drawings() throws {
        let (pixels, _) = try decode(Self.svg, drawsSVG: true)
        #expect(pixels.width == 20 && pixels.height == 10 && pixels[10, 5] == SIMD4(0, 255, 0, 255))
        let refusal = #expect(throws: LoadError.self) { try decode(Self.svg) }
        #expect(refusal?.code == .unsupportedFormat && refusal?.message.contains("--svg") == true)
    }

    @Test("make drawings at the size that is wanted, larger ones too")
    func largeDrawings() throws {
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = true
        let (pixels, _) = try CodecRegistry.standard(.auto, decoder).decode(
            Self.svg, options: DecodeOptions(resize: Resize(width: 60)), cancellation: CancellationFlag())
        #expect(pixels.width == 60 && pixels.height == 30)
    }

    @Test("write text in the fonts that there were when the decoder began")
    func text() throws {
        func ink(_ text: String) throws -> Int {
            let drawing = Bytes(
                #"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text y="15">\#(text)</text></svg>"#)
            let (pixels, _) = try decode(drawing, drawsSVG: true)
            return (0..<20).reduce(0) { sum, y in (0..<60).reduce(sum) { $0 + Int(pixels[$1, y][3]) } }
        }
        // A box in place of every letter takes the same ink for each; without any font there is none.
        #expect(try ink("....") * 3 <= ink("WWWW"))
    }

    @Test("are refused in a program that wants no other process, though their headers are read")
    func inProcess() throws {
        let refusal = #expect(throws: LoadError.self) { try decode(Bytes(AVIFFixtures.plain), .inProcess) }
        #expect(refusal?.code == .unsupportedFormat)
        let registry = CodecRegistry.standard(.inProcess)
        #expect(try registry.info(of: Bytes(AVIFFixtures.plain)).width == Scene.width)
        #expect(!registry.encodableFormats.contains(.avif))
    }

    @Test("are written there too, where they are written at all")
    func encoded() throws {
        let registry = CodecRegistry.standard()
        let scene = PixelBuffer(width: Scene.width, height: Scene.height, Scene.color)
        let file = try registry.encode(scene, options: EncodeOptions(format: .avif, quality: 95))
        let (pixels, info) = try decode(file)
        #expect(info.format == .avif && pixels.likeness(Scene.color) > 30)
    }

    @Test("any page of a TIFF file comes from the shipped decoder, and one that is not there is refused")
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
        // What the program lets pass, its decoder looks at itself.
        let pool = DecoderPool(suffix: "-vips")
        let error = #expect(throws: LoadError.self) {
            try pool.decode(file, format: .tiff, options: options, cancellation: CancellationFlag())
        }
        #expect(error?.code == .invalidRequest && error?.message.contains("from 1 to 2") == true)
    }
}
