import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `get --verify` decodes bodies on threads of its own, within the limits of the engine.
@Suite("Verification of bodies", .timeLimit(.minutes(1)))
struct BodyVerificationTests {
    private func outcome(
        _ codec: WatchedCodec, _ arguments: [String], change: (inout ImagePipeline.Configuration) -> Void
    ) async throws -> Report {
        let command = try Command.parse(
            ["get", "http://a.test/", "--verify", "--discard"] + arguments, standardOutputIsTerminal: false)
        guard case .get(let options) = command else { throw UsageError("not a get command") }
        var configuration = ImagePipeline.Configuration(decoding: .inProcess)
        configuration.codecs = CodecRegistry([codec])
        change(&configuration)
        let pipeline = try ImagePipeline(configuration: configuration)
        let image = try TestImages.codecs.encode(
            TestImages.noise(20, 10, seed: 1), options: EncodeOptions(format: .png))
        var url = "data:image/png,"
        for byte in image.array { url += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let response = try await pipeline.response(for: ImageRequest(url))
        let processor = BodyProcessor(
            options: options, pipeline: pipeline, store: nil, cancellation: CancellationToken(), isRecorded: false)
        let processed = try processor.process(.response(response), of: ResourceURL("http://a.test/"), current: nil)
        await pipeline.shutdown(.cancel)
        return processed.report
    }

    @Test("A decode that exceeds the engine's time limit is a failure, with and without thumbnails")
    func timeLimit() async throws {
        for arguments in [[], ["--report", "report.html"]] {
            let clock = VirtualClock()
            var codec = try WatchedCodec(.png, of: TestImages.codecs)
            codec.onDecode = { clock.advance(by: .seconds(9)) }
            let report = try await outcome(codec, arguments) {
                $0.clock = clock
                $0.maximumDecodeTime = .seconds(9)
            }
            #expect(report.outcome == .failed && report.error?.code == .timedOut, "\(report)")
        }
    }

    @Test("A decode that can never fit into the engine's memory is a failure")
    func memory() async throws {
        var codec = try WatchedCodec(.png, of: TestImages.codecs)
        codec.memory = 1 << 20
        let report = try await outcome(codec, []) { $0.maximumDecodeMemory = 1 << 19 }
        #expect(report.outcome == .failed && report.error?.code == .tooMuchMemory)
        let fitting = try await outcome(codec, []) { $0.maximumDecodeMemory = 1 << 20 }
        #expect(fitting.outcome == .ok)
    }
}
