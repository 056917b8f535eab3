import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightImages

/// Files that are decoded and encoded in one step, compared with those of two.
@Suite(.timeLimit(.minutes(10)))
struct ReencodingTests {
    /// A picture with fine lines, soft shades and a red disc on cyan, whose edges are in the chroma alone.
    private static func picture(width: Int, height: Int) -> PixelBuffer {
        PixelBuffer(width: width, height: height, format: .rgbx) { x, y in
            let (dx, dy) = (2 * x - width, 2 * y - height)
            if dx * dx + dy * dy < width * height / 3 { return SIMD4(205, 51, 51, 255) }
            if y < height / 4 { return SIMD4(repeating: x / 3 % 2 == 0 ? 230 : 30) | SIMD4(0, 0, 0, 255) }
            return SIMD4(UInt8(x * 90 / width), UInt8(100 + y * 90 / height), UInt8(110 + y * 90 / height), 255)
        }
    }

    private static let photo = file(width: 403, height: 301)

    private static func file(width: Int, height: Int) -> Bytes {
        var options = EncodeOptions(format: .jpeg)
        options.quality = 95
        do {
            return try registry.encode(picture(width: width, height: height), options: options)
        } catch {
            preconditionFailure("the picture cannot be encoded: \(error)")
        }
    }

    private struct Result {
        /// The file, and whether the codec made it in one step.
        var file: Bytes
        var isOneStep: Bool
        /// The pixels of the file, of that made in two steps, and those that both encode.
        var pixels, twoSteps, expected: PixelBuffer
    }

    private func reencode(
        _ bytes: Bytes, _ resize: Resize, _ encoding: EncodeOptions = EncodeOptions(format: .jpeg, quality: 90)
    ) throws -> Result {
        let decoding = DecodeOptions(resize: resize)
        let made = try registry.reencode(
            bytes, decoding: decoding, encoding: encoding, cancellation: CancellationFlag())
        let direct = try JPEGCodec().reencode(
            bytes, format: .jpeg, decoding: decoding, encoding: encoding, cancellation: CancellationFlag())
        let expected = try decode(bytes.array, decoding)
        let twoSteps = try registry.encode(expected, options: encoding)
        let result = Result(
            file: made.file, isOneStep: direct != nil, pixels: try decode(made.file.array),
            twoSteps: try decode(twoSteps.array), expected: expected)
        #expect(made.file == (direct ?? twoSteps))
        #expect(made.width == expected.width && made.height == expected.height)
        #expect(result.pixels.width == expected.width && result.pixels.height == expected.height)
        #expect(try made.original == registry.info(of: bytes))
        return result
    }

    private func checkIsAsGood(_ result: Result, _ place: SourceLocation = #_sourceLocation) {
        #expect(result.isOneStep, sourceLocation: place)
        let inOne = result.pixels.psnr { result.expected[$0, $1] }
        let inTwo = result.twoSteps.psnr { result.expected[$0, $1] }
        #expect(inOne > inTwo - 0.4, "\(inOne) dB, \(inTwo) dB in two steps", sourceLocation: place)
    }

    @Test(
        "A JPEG that becomes smaller is encoded as well in one step as in two",
        arguments: [
            Resize(width: 200, height: 150), Resize(width: 101, fit: .contain), Resize(height: 77),
            Resize(width: 64, height: 64, fit: .cover), Resize(width: 63, height: 91, fit: .cover, gravity: .topLeft),
            Resize(width: 350, height: 33, fit: .exact), Resize(width: 17, height: 9, fit: .fill),
            Resize(width: 1, height: 1, fit: .fill), Resize(width: 402, height: 300, fit: .exact),
        ])
    func sizes(_ resize: Resize) throws {
        checkIsAsGood(try reencode(Self.photo, resize))
    }

    @Test(
        "Each layout of a JPEG's planes is encoded as well in one step",
        arguments: DecodingTests.cases.filter {
            ImageFormat.detect(Bytes($0.bytes)) == .jpeg
        })
    func layouts(_ example: DecodingTests.Case) throws {
        let isYCC = !["grey", "RGB", "CMYK"].contains { example.name.hasPrefix($0) }
        for (width, height) in [(8, 6), (5, 3), (15, 11)] {
            let result = try reencode(Bytes(example.bytes), Resize(width: width, height: height, fit: .exact))
            #expect(result.isOneStep == isYCC)
            #expect(result.pixels.psnr { result.twoSteps[$0, $1] } > 30)
        }
    }

    @Test("An image that is turned, has a profile, or is resized otherwise is encoded in two steps")
    func twoSteps() throws {
        let half = Resize(width: 8, height: 6)
        let exif = Array("Exif\0\0".utf8) + Pieces.exif(orientation: 6)
        let turned = Pieces.jpeg(Fixtures.baselineJPEG, adding: 0xE1, exif)
        #expect(try !reencode(Bytes(turned), half).isOneStep)
        let profile = Array("ICC_PROFILE\0".utf8) + [1, 1] + ColorTests.swapped
        let swapped = Pieces.jpeg(Fixtures.baselineJPEG, adding: 0xE2, profile)
        #expect(try !reencode(Bytes(swapped), half).isOneStep)
        let other = [
            Resize(), Resize(width: 16), Resize(width: 8, light: .linear), Resize(width: 24, enlarges: true),
            Resize(width: 16, height: 6, fit: .exact), Resize(width: 9, height: 9, fit: .pad),
            Resize(width: 6, height: 6, fit: .cover, gravity: .interest),
        ]
        for resize in other {
            let made = try registry.reencode(
                Bytes(Fixtures.baselineJPEG), decoding: DecodeOptions(resize: resize),
                encoding: EncodeOptions(format: .jpeg), cancellation: CancellationFlag())
            let pixels = try decode(Fixtures.baselineJPEG, DecodeOptions(resize: resize))
            #expect(try made.file == registry.encode(pixels, options: EncodeOptions(format: .jpeg)))
            #expect(made.width == pixels.width && made.height == pixels.height)
        }
        #expect(try !reencode(Self.photo, half, EncodeOptions(format: .png)).isOneStep)
        #expect(try !reencode(Self.photo, half, EncodeOptions(format: .webp)).isOneStep)
    }

    @Test("Quality, scans and metadata are those of the options")
    func options() throws {
        let resize = Resize(width: 101, height: 75)
        var encoding = EncodeOptions(format: .jpeg, quality: 90)
        let usual = try reencode(Self.photo, resize, encoding)
        encoding.isProgressive = true
        encoding.metadata = ImageMetadata(exifBytes: Bytes(Pieces.exif(orientation: 6)))
        let other = try reencode(Self.photo, resize, encoding)
        #expect(other.isOneStep && other.file != usual.file)
        #expect(other.pixels.bytes == usual.pixels.bytes)
        #expect(try registry.info(of: other.file).isProgressive)
        #expect(try registry.metadata(of: other.file).exif?.fields.isEmpty == false)
        #expect(try registry.info(of: other.file).orientation == .up)
        encoding.quality = 30
        #expect(try reencode(Self.photo, resize, encoding).file.count < usual.file.count)
        encoding.quality = 101
        #expect(throws: LoadError.self) { try reencode(Self.photo, resize, encoding) }
    }

    private func code(_ bytes: Bytes, _ decoding: DecodeOptions, isCancelled: Bool = false) -> LoadError.Code? {
        let flag = CancellationFlag()
        if isCancelled { flag.cancel() }
        do throws(LoadError) {
            _ = try registry.reencode(
                bytes, decoding: decoding, encoding: EncodeOptions(format: .jpeg), cancellation: flag)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Damaged, truncated and too large images, and cancelled calls, fail as in two steps")
    func failures() throws {
        var decoding = DecodeOptions(resize: Resize(width: 101, height: 75))
        let bytes = Self.photo.array
        #expect(code(Self.photo, decoding) == nil)
        #expect(code(Self.photo, decoding, isCancelled: true) == .cancelled)
        for length in [2, 100, 700, bytes.count / 2, bytes.count - 40] {
            let part = Bytes(Array(bytes[..<length]))
            let expected = #expect(throws: LoadError.self) { try registry.decode(part, options: decoding) }
            #expect(code(part, decoding) == expected?.code, "\(length) bytes")
        }
        var damaged = bytes
        let middle = bytes.count / 2
        damaged.replaceSubrange(middle..<middle + 64, with: [UInt8](repeating: 0xFF, count: 64))
        #expect(code(Bytes(damaged), decoding) == .damaged)
        decoding.page = 1
        #expect(code(Self.photo, decoding) == .invalidRequest)
        decoding.page = 0
        decoding.maximumMemory = 1000
        #expect(code(Self.photo, decoding) == .tooMuchMemory)
        decoding.maximumPixels = 403 * 301 - 1
        #expect(code(Self.photo, decoding) == .tooManyPixels)
    }
}
