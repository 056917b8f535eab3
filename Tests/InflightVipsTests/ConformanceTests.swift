import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightVipsDecoder

@Suite("libvips codec conformance", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test("AVIF and HEIC decoding conforms", arguments: CodecConformance.checks)
    func avifAndHEIC(check: ConformanceCheck) async {
        let failures = await CodecConformance(
            IsolatedCodec(decodableFormats: [.avif, .heic]),
            samples: [
                .init("AVIF", Bytes(AVIFFixtures.plain), format: .avif),
                .init("AVIF with alpha", Bytes(AVIFFixtures.alpha), format: .avif),
                .init("turned AVIF", Bytes(AVIFFixtures.turned7), format: .avif),
                .init("HEIC", Bytes(HEICFixtures.plain), format: .heic),
            ]
        ).run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    // The JPEG XL sample is in a container: the end of a bare codestream is known only after decoding.
    @Test("JPEG XL, TIFF and SVG decoding conforms", arguments: CodecConformance.checks)
    func jpegXLAndTIFFAndSVG(check: ConformanceCheck) async {
        let failures = await CodecConformance(
            IsolatedCodec(decodableFormats: [.jpegXL, .tiff, .svg]),
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
