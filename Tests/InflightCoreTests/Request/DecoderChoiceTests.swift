import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `ImageRequest.decoder`: codecs that a request chooses by name.
@Suite("Decoders chosen by requests", .timeLimit(.minutes(10)))
struct DecoderChoiceTests {
    private let other = FakeCodec()

    private func stage(_ body: Bytes = FakeCodec.picture()) throws -> StoreStage {
        let stage = try StoreStage { $0.decoders = ["other": CodecRegistry([other])] }
        stage.serve(StoreStage.url, .ok(body, fields: StoreStage.fields([("Cache-Control", "max-age=60")])))
        return stage
    }

    @Test("The chosen codecs decode; images in memory are kept apart, and the stored response is shared")
    func chosen() async throws {
        let stage = try stage()
        for _ in 0..<2 {
            _ = try await stage.image { $0.decoder = "other" }
            _ = try await stage.image()
        }
        #expect(other.decodes.count == 1 && stage.codec.decodes.count == 1 && stage.sent.count == 1)
        var request = ImageRequest(StoreStage.url)
        request.decoder = "other"
        let info = try await stage.pipeline.info(for: request)
        #expect(info.info.storedWidth == 4)
        await stage.end()
    }

    @Test("A name without codecs fails the load, and nothing is sent")
    func unknown() async throws {
        let stage = try stage()
        let error = await #expect(throws: LoadError.self) { try await stage.image { $0.decoder = "none" } }
        #expect(error?.code == .invalidRequest && error?.message.contains("'none'") == true)
        #expect(stage.sent.isEmpty)
        await stage.end()
    }

    @Test("Stored processed images are kept apart too, and decoded by the pipeline's codecs, which encoded them")
    func processed() async throws {
        let stage = try stage()
        let change: @Sendable (String?) -> @Sendable (inout ImageRequest) -> Void = { name in
            {
                $0.decoder = name
                $0.resize = Resize(width: 2, height: 2)
                $0.storedRepresentation = .processed
                $0.readsMemory = false
            }
        }
        _ = try await stage.image(StoreStage.url, change("other"))
        #expect(other.decodes.count == 1 && stage.codec.encodes.count == 1)
        #expect(try await stage.image(StoreStage.url, change("other")).source == .disk)
        #expect(other.decodes.count == 1 && stage.codec.decodes.count == 1)
        #expect(try await stage.image(StoreStage.url, change(nil)).source == .network)
        await stage.end()
    }
}
