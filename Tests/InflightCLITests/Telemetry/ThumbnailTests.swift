import Inflight
import InflightConcurrency
import InflightCore
import Testing

@testable import InflightCLI

@Suite("Thumbnails for the report", .timeLimit(.minutes(10)))
struct ThumbnailTests {
    private let maker = ThumbnailRenderer(codecs: TestImages.codecs, cancellation: CancellationFlag())

    private func size(_ bytes: [UInt8]?) throws -> [Int] {
        let info = try TestImages.codecs.info(of: Bytes(try #require(bytes)))
        return [info.width, info.height]
    }

    @Test("--verify decodes row by row, so that 100 million pixels need less than 20 MB")
    func verification() throws {
        // A PNG's header up to its pixels: 10,000 × 10,000, 8 bits, red, green and blue.
        let size: [UInt8] = [0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10, 8, 2, 0, 0, 0]
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
        let file = Bytes(signature + Array("IHDR".utf8) + size + [0, 0, 0, 0, 0, 0, 0, 0] + Array("IDAT".utf8))
        let codecs = CodecRegistry.standard()
        #expect(try codecs.memoryNeeded(file, options: DecodeOptions()) >= 300_000_000)
        #expect(try codecs.memoryToVerify(file, options: DecodeOptions()) < 20_000_000)
    }

    @Test(
        "A thumbnail has at most 48 pixels per side, keeps its aspect ratio and is not enlarged",
        arguments: [([480, 240], [48, 24]), ([300, 600], [24, 48]), ([20, 10], [20, 10]), ([5000, 3], [48, 1])])
    func size(_ source: [Int], _ wanted: [Int]) throws {
        let pixels = TestImages.pixels(source[0], source[1])
        #expect(try size(maker.thumbnail(of: .pixels(pixels))) == wanted)
    }

    @Test("A thumbnail of a file is a WebP image of reduced size", arguments: [ImageFormat.jpeg, .png, .webp])
    func files(_ format: ImageFormat) throws {
        let file = try TestImages.make(format, 200, 100)
        let small = maker.thumbnail(of: .file(file, format, pixels: 20_000))
        #expect(try size(small) == [48, 24])
        #expect(ImageFormat.detect(Bytes(try #require(small))) == .webp)
    }

    @Test("No thumbnail is made of a damaged file, of one larger than declared, or after the run ended")
    func none() throws {
        let file = try TestImages.make(.png, 200, 100)
        #expect(maker.thumbnail(of: .file(Bytes("no picture"), .png, pixels: 20_000)) == nil)
        #expect(maker.thumbnail(of: .file(file, .png, pixels: 19_999)) == nil)
        let ended = CancellationFlag()
        ended.cancel()
        let late = ThumbnailRenderer(codecs: TestImages.codecs, cancellation: ended)
        #expect(late.thumbnail(of: .file(file, .png, pixels: 20_000)) == nil)
        #expect(late.thumbnail(of: .pixels(TestImages.pixels(50, 50))) == nil)
    }

    @Test("A thumbnail uses whichever format has an encoder", arguments: [ImageFormat.jpeg, .png])
    func formats(_ format: ImageFormat) throws {
        let codec = try #require(TestImages.codecs.decoder(of: format))
        let maker = ThumbnailRenderer(codecs: CodecRegistry([codec]), cancellation: CancellationFlag())
        let small = try #require(maker.thumbnail(of: .pixels(TestImages.pixels(100, 100, isTransparent: true))))
        #expect(ImageFormat.detect(Bytes(small)) == format)
    }

    /// Whether the budget allows one more thumbnail, for each pixel count in turn.
    private func taken(_ budget: inout ThumbnailBudget, decoding counts: Int...) -> [Bool] {
        counts.map { budget.takes(decoding: $0) }
    }

    @Test("The thumbnail budget serves the first images, and a failed one returns its slot")
    func places() {
        var budget = ThumbnailBudget(pictures: 2)
        #expect(taken(&budget, decoding: 0, 0, 0) == [true, true, false])
        budget.made(nil)
        budget.made(300)
        #expect(taken(&budget, decoding: 0, 0) == [true, false])
    }

    @Test("The thumbnail budget limits bytes, except for thumbnails being made")
    func bytes() {
        var budget = ThumbnailBudget(pictures: 10, bytes: 500)
        #expect(taken(&budget, decoding: 0, 0) == [true, true])
        budget.made(499)
        #expect(taken(&budget, decoding: 0) == [true])
        budget.made(2)
        #expect(taken(&budget, decoding: 0) == [false])
    }

    @Test("The thumbnail budget limits decoded pixels and skips large files")
    func pixels() {
        var budget = ThumbnailBudget(pictures: 10, pixels: 100, pixelsOfOne: 60)
        #expect(taken(&budget, decoding: 61, 60, 41, 40, 1, 0) == [false, true, false, true, false, true])
        #expect(budget == ThumbnailBudget(pictures: 7, pixels: 0, pixelsOfOne: 60))
    }
}
