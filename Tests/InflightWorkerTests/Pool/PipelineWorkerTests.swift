import InflightConcurrency
import InflightCore
import InflightTestSupport
import InflightWorker
import Testing

@Suite("Pipeline with decoder processes", .timeLimit(.minutes(10)))
struct PipelineWorkerTests {
    /// Reads headers of files that are commands for the faulty decoder.
    private struct HeaderCodec: ImageCodec {
        var decodableFormats: Set<ImageFormat> { [.psd] }
        var encodableFormats: Set<ImageFormat> { [] }

        func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
            .info(ImageInfo(format: format, storedWidth: 100, storedHeight: 100, hasAlpha: true))
        }

        func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

        func decode(
            _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
        ) throws(LoadError) -> PixelBuffer {
            throw CodecError.unsupported(format, "nothing is decoded here")
        }

        func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
            throw CodecError.noEncoder(options.format)
        }
    }

    private let transport = ScriptedTransport(.automatic)
    private let pipeline: ImagePipeline

    init() throws {
        let codec = WorkerCodec(HeaderCodec(), pool: .faulty { $0.maximumDecodeTime = .seconds(500) })
        pipeline = try ImagePipeline(
            configuration: .init(transports: [.shared(transport)], codecs: CodecRegistry([codec])))
    }

    private func load(_ order: String) -> Task<LoadError.Code?, Never> {
        let url = "http://a.example/\(order)"
        transport.serve(url, .ok(Bytes("8BPS \(order.replacing("-", with: " "))")))
        return Task {
            do throws(LoadError) {
                let image = try await pipeline.image(for: ImageRequest(url))
                return image.pixels.width == 100 ? nil : .damaged
            } catch {
                return error.code
            }
        }
    }

    @Test("A decoder crash fails only the task that caused it")
    func oneCrash() async {
        var loads: [(Task<LoadError.Code?, Never>, LoadError.Code?)] = []
        for index in 0..<10 {
            loads.append((load("good-100-\(index)"), nil))
            if index % 3 == 0 { loads.append((load("crash-0-\(index)"), .decoderCrashed)) }
        }
        for (load, code) in loads { #expect(await load.value == code) }
        #expect(pipeline.statistics.tasksInFlight == 0)
    }

    @Test("Cancelling tasks whose decodes hang frees their decode threads")
    func cancelled() async {
        // One for each decode thread.
        let hanging = (0..<MachineSize.processors).map { load("loop-0-\($0)") }
        for index in hanging.indices {
            try? await transport.waitForStarts(index + 1, within: .seconds(50))
        }
        let good = load("good-100")
        for load in hanging { load.cancel() }
        for load in hanging { #expect(await load.value == .cancelled) }
        #expect(await good.value == nil)
    }
}
