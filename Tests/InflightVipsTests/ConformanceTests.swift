import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightVipsDecoder

@Suite("The checks that every codec passes", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test(arguments: CodecConformance.checks)
    func `AVIF and HEIC pass`(check: ConformanceCheck) async {
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

    // Of JPEG XL what is in boxes: where a bare codestream ends is not known before it is decoded.
    @Test(arguments: CodecConformance.checks)
    func `JPEG XL, TIFF and SVG pass`(check: ConformanceCheck) async {
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
