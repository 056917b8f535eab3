import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import InflightVips
import Testing

/// The headers of the one module and the pixels of the other, as a program sees them together.
private struct WholeCodec: ImageCodec {
    let decodableFormats: Set<ImageFormat>
    var encodableFormats: Set<ImageFormat> { decodableFormats.contains(.avif) ? [.avif] : [] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete)
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try IsolatedFormats.validate(bytes, format: format)
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw LoadError(.damaged, stage: .decode, message: "more bytes are wanted of a whole picture")
        }
        return try VipsDecoder().decode(
            bytes, format: format, info: info, options: options, cancellation: cancellation)
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try VipsDecoder().encode(pixels, options: options)
    }
}

@Suite("The checks that every codec passes", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test(arguments: CodecConformance.checks)
    func `AVIF and HEIC pass`(check: ConformanceCheck) async {
        let failures = await CodecConformance(
            WholeCodec(decodableFormats: [.avif, .heic]),
            samples: [
                .init("AVIF", Bytes(AVIFFixtures.plain), format: .avif),
                .init("AVIF with alpha", Bytes(AVIFFixtures.alpha), format: .avif),
                .init("turned AVIF", Bytes(AVIFFixtures.turned7), format: .avif),
                .init("HEIC", Bytes(HEICFixtures.plain), format: .heic),
            ]
        ).run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    // Of JPEG XL what is in boxes: where a bare codestream ends is not known before it is decoded.
    @Test(arguments: CodecConformance.checks)
    func `JPEG XL, TIFF and SVG pass`(check: ConformanceCheck) async {
        let failures = await CodecConformance(
            WholeCodec(decodableFormats: [.jpegXL, .tiff, .svg]),
            samples: [
                .init("JPEG XL", Bytes(JPEGXLFixtures.twelveBits), format: .jpegXL),
                .init("TIFF", Bytes(TIFFFixtures.lzw), format: .tiff),
                .init("palette", Bytes(TIFFFixtures.palette), format: .tiff),
                .init("SVG", Bytes(Pictures.drawing), format: .svg),
            ]
        ).run(check)
        #expect(failures.isEmpty, "\(failures)")
    }
}
