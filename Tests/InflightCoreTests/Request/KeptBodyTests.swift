import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `ImageRequest.keepsBody`: an image and the bytes that it was decoded from, of one load.
@Suite("Images with their bodies", .timeLimit(.minutes(10)))
struct KeptBodyTests {
    private static let picture = FakeCodec.picture(width: 16, height: 8, padding: 2000)

    private func stage(_ script: ScriptedTransport.Script? = nil) throws -> StoreStage {
        let stage = try StoreStage()
        let fields = StoreStage.fields([("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])
        stage.serve(StoreStage.url, script ?? .ok(Self.picture, fields: fields))
        return stage
    }

    private static let small = Resize(width: 2, height: 2)

    @Test("The image, the body and the head are of one load; without keepsBody there is no body")
    func body() async throws {
        let stage = try stage()
        let processor = FakeProcessor(name: "a")
        let image = try await stage.image {
            $0.keepsBody = true
            $0.resize = Self.small
            $0.processors = [ImageProcessor(processor)]
        }
        #expect(image.body == Self.picture && image.width == 2 && image.head.fields["etag"] == "\"a\"")
        #expect(image.source == .network && stage.sent.count == 1 && processor.runs.count == 1)
        #expect(try await stage.image { $0.resize = Self.small }.body == nil)
        await stage.end()
    }

    @Test("Loads with and without the body share the fetch, and equal ones the decode")
    func shared() async throws {
        let stage = try stage(.ok(Self.picture).stalled("body"))
        let loads = [true, true, false].map { keeps in Task { try await stage.image { $0.keepsBody = keeps }.body } }
        try await eventually("three loads") { stage.pipeline.statistics.tasksInFlight == 3 }
        stage.transport.release("body")
        var bodies: [Bytes?] = []
        for load in loads { bodies.append(try await load.value) }
        #expect(bodies == [Self.picture, Self.picture, nil])
        #expect(stage.sent.count == 1 && stage.codec.decodes.count == 2)
        await stage.end()
    }

    @Test("In memory the body is kept with the image, counts there, and serves only loads that want it")
    func memory() async throws {
        let stage = try stage()
        let pixels = try await stage.image { $0.keepsBody = true }.pixels
        let again = try await stage.image { $0.keepsBody = true }
        #expect(again.source == .memory && again.body == Self.picture)
        #expect(stage.pipeline.cache.statistics.cost == pixels.byteCount + Self.picture.count)
        #expect(try await stage.image().source == .disk)
        await stage.end()
    }

    @Test("Without memory, the image and the body come from the stored response together")
    func disk() async throws {
        let stage = try stage()
        for source in [LoadSource.network, .disk] {
            let image = try await stage.image {
                $0.keepsBody = true
                ($0.readsMemory, $0.writesMemory) = (false, false)
            }
            #expect(image.source == source && image.body == Self.picture)
        }
        #expect(stage.pipeline.cache.statistics.count == 0 && stage.sent.count == 1)
        await stage.end()
    }

    @Test("A stored processed image has another body, and is not used")
    func processed() async throws {
        let stage = try stage()
        let change: @Sendable (inout ImageRequest) -> Void = {
            $0.resize = Self.small
            $0.storedRepresentation = .both
            $0.readsMemory = false
        }
        _ = try await stage.image(StoreStage.url, change)
        #expect(stage.store.entries.count == 2)
        let image = try await stage.image {
            change(&$0)
            $0.keepsBody = true
        }
        #expect(image.body == Self.picture && image.width == 2 && stage.sent.count == 1)
        await stage.end()
    }

    @Test("An image of a source that provides pixels has no body")
    func source() async throws {
        let stage = try stage()
        var request = ImageRequest(source: .init("mine") { .image(FakeCodec.pixels(width: 2, height: 2)) })
        request.keepsBody = true
        let image = try await stage.pipeline.image(for: request)
        #expect(image.body == nil)
        await stage.end()
    }
}
