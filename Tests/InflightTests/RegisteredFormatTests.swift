import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

extension ImageFormat {
    fileprivate static let ppm = ImageFormat(rawValue: "ppm")
}

/// Binary PPM with 8 bits per sample, as an external program would write its codec.
private struct PPMCodec: ImageCodec {
    var decodableFormats: Set<ImageFormat> { [.ppm] }
    var encodableFormats: Set<ImageFormat> { [] }
    var signatures: [FormatSignature] { [FormatSignature(.ppm, Array("P6\n".utf8))] }

    private func header(_ bytes: Bytes) -> (width: Int, height: Int, length: Int)? {
        let lines = String(decoding: (0..<min(64, bytes.count)).map { bytes[$0] }, as: UTF8.self)
            .split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false)
        guard lines.count == 4, lines[2] == "255" else { return nil }
        let numbers = lines[1].split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2, numbers.allSatisfy({ (1...10_000).contains($0) }) else { return nil }
        return (numbers[0], numbers[1], lines[1].utf8.count + 8)
    }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        if let (width, height, _) = header(bytes) {
            return .info(ImageInfo(format: .ppm, storedWidth: width, storedHeight: height))
        }
        if !isComplete, bytes.count < 64 { return .needsMoreBytes(64) }
        throw LoadError(.damaged, stage: .decode, message: "The PPM header is malformed. Write the file again.")
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        guard let (width, height, start) = header(bytes), bytes.count >= start + width * height * 3 else {
            throw LoadError(.damaged, stage: .decode, message: "The PPM file is truncated. Write it again.")
        }
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try validate(bytes, format: format)
        let (width, height, start) = header(bytes)!
        var pixels: [UInt8] = []
        for pixel in 0..<width * height { pixels += (0..<3).map { bytes[start + pixel * 3 + $0] } + [255] }
        return PixelBuffer(width: width, height: height, bytesPerRow: width * 4, format: .rgbx, bytes: Bytes(pixels))
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.cannotEncode, stage: .encode, message: "PPM is read only.")
    }
}

@Suite("Registered formats", .timeLimit(.minutes(5)))
struct RegisteredFormatTests {
    private let file = Array("P6\n2 1\n255\n".utf8) + [255, 0, 0, 0, 0, 255]

    @Test("The signature of a registered codec makes the pipeline recognise its format")
    func registeredCodec() async throws {
        var configuration = ImagePipeline.Configuration()
        configuration.codecs = .standard(.inProcess).adding(PPMCodec())
        let pipeline = try ImagePipeline(configuration: configuration)
        let url = "data:;base64," + Base64.encoded(file)
        let image = try await pipeline.image(for: ImageRequest(url))
        #expect(image.pixels.width == 2)
        #expect(image.pixels.height == 1)
        #expect(try await pipeline.info(for: ImageRequest(url)).info.format == .ppm)
        #expect(configuration.codecs.detect(Bytes(file)) == .ppm)
        #expect(CodecRegistry.standard(.inProcess).detect(Bytes(file)) == nil)
        await pipeline.shutdown(.finish)
    }

    @Test("Format detection waits for a signature that lies beyond 64 bytes")
    func longReach() throws {
        struct LateCodec: ImageCodec {
            let base = PPMCodec()
            var decodableFormats: Set<ImageFormat> { [.ppm] }
            var encodableFormats: Set<ImageFormat> { [] }
            var signatures: [FormatSignature] { [FormatSignature(.ppm, Array("late".utf8), at: 200)] }
            func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
                .info(ImageInfo(format: .ppm, storedWidth: 1, storedHeight: 1))
            }
            func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}
            func decode(
                _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
            ) throws(LoadError) -> PixelBuffer {
                try base.decode(bytes, format: format, options: options, cancellation: cancellation)
            }
            func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
                try base.encode(pixels, options: options)
            }
        }
        let registry = CodecRegistry([LateCodec()])
        let bytes = [UInt8](repeating: 7, count: 200) + Array("late".utf8)
        #expect(try registry.probe(Bytes(Array(bytes[..<100])), isComplete: false) == .needsMoreBytes(204))
        guard case .info = try registry.probe(Bytes(bytes), isComplete: false) else {
            Issue.record("the signature is not found")
            return
        }
    }
}
