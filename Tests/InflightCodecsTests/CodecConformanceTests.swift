import InflightCodecs
import InflightCore
import InflightTestSupport
import Testing

@Suite("Codec conformance", .timeLimit(.minutes(10)))
struct CodecConformanceTests {
    private static let samples = Fixtures.all.compactMap { name, bytes -> CodecConformance.Sample? in
        let bytes = Bytes(bytes)
        guard let format = ImageFormat.detect(bytes) else { return nil }
        return CodecConformance.Sample(
            name, bytes, format: format, decodesEarly: name.contains("GIF") || name.contains("animated"))
    }

    @Test("Each standard codec passes every check", arguments: Codecs.standard.indices, CodecConformance.checks)
    func standardCodecs(index: Int, check: ConformanceCheck) async {
        let codec = Codecs.standard[index]
        let samples = Self.samples.filter { codec.decodableFormats.contains($0.format) }
        #expect(!samples.isEmpty)
        let failures = await CodecConformance(codec, samples: samples).run(check)
        #expect(failures.isEmpty, "\(failures)")
    }
}
