import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `pipeline.encoded(for:as:)`: files of images, shared, stored, and kept as bytes.
@Suite("Encoded images", .timeLimit(.minutes(10)))
struct EncodedTests {
    private static let fresh = ("Cache-Control", "max-age=60")
    private static let tag = ("ETag", "\"a\"")

    private func stage(
        keepsImages: Bool = true, _ scripts: ScriptedTransport.Script...
    ) throws -> StoreStage {
        let stage = try StoreStage {
            $0.memoryCache = MemoryCacheConfiguration(limit: keepsImages ? 1 << 24 : 0, reactsToMemoryPressure: false)
        }
        stage.serve(StoreStage.url, scripts)
        return stage
    }

    private func picture(_ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(FakeCodec.picture(width: 16, height: 8), fields: StoreStage.fields(fields))
    }

    private func encoded(
        _ stage: StoreStage, _ url: String = StoreStage.url, quality: Int? = nil,
        change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> EncodedImage {
        var request = ImageRequest(url, resize: Resize(width: 2, height: 2))
        change(&request)
        let file = try await stage.pipeline.encoded(for: request, as: EncodeOptions(format: .png, quality: quality))
        await stage.settled()
        return file
    }

    private static let small = FakeCodec.picture(width: 2, height: 2)

    @Test("The file of an image is encoded once, and then served from memory while it is fresh")
    func memory() async throws {
        let stage = try stage(picture(Self.fresh, Self.tag))
        let first = try await encoded(stage)
        #expect(first.bytes == Self.small && first.format == .png && first.source == .network)
        stage.clock.advance(by: .seconds(59))
        let second = try await encoded(stage)
        #expect(second.bytes == Self.small && second.source == .memory && second.entityTag == first.entityTag)
        #expect(stage.codec.encodes.count == 1 && stage.codec.decodes.count == 1 && stage.sent.count == 1)
        stage.pipeline.cache.removeAll()
        #expect(try await encoded(stage).source == .disk)
        await stage.end()
    }

    @Test("Loads at the same time share the fetch, the decode and the encoding; other options share all but that")
    func shared() async throws {
        let stage = try stage(picture(Self.fresh).stalled("body"))
        let loads = [nil, nil, 50].map { quality in Task { try await encoded(stage, quality: quality).bytes } }
        // A load that still looks for a stored file may find the shared image gone.
        try await eventually("three loads that wait for the fetch") {
            let now = stage.pipeline.statistics
            return now.tasksInFlight == 3 && now.running[.store] == 0 && now.waiting[.store] == 0
        }
        stage.transport.release("body")
        for load in loads { #expect(try await load.value == Self.small) }
        #expect(stage.codec.encodes.count == 2 && stage.codec.decodes.count == 1 && stage.sent.count == 1)
        await stage.end()
    }

    @Test("A stored file is served without decoding it", arguments: [true, false])
    func disk(keepsOriginal: Bool) async throws {
        let stage = try stage(keepsImages: false, picture(Self.fresh))
        let change: (inout ImageRequest) -> Void = { request in
            if !keepsOriginal { request.storedRepresentation = .processed }
            request.processors = [ImageProcessor(FakeProcessor(name: "a"))]
        }
        _ = try await encoded(stage, change: change)
        #expect(stage.store.entries.count == (keepsOriginal ? 2 : 1))
        let again = try await encoded(stage, change: change)
        #expect(again.source == .disk && again.bytes == Self.small)
        #expect(stage.codec.decodes.count == 1 && stage.codec.encodes.count == 1 && stage.sent.count == 1)
        // A load of the image decodes the same file.
        let image = try await stage.image {
            $0.resize = Resize(width: 2, height: 2)
            change(&$0)
            $0.storedRepresentation = .both
        }
        #expect(image.source == .disk && image.info.storedWidth == 2)
        await stage.end()
    }

    @Test("A stale file is used again after its origin has confirmed it")
    func confirmed() async throws {
        let stage = try stage(
            keepsImages: false, picture(Self.fresh, Self.tag),
            .status(304, HTTPFields([Self.fresh, Self.tag])))
        _ = try await encoded(stage) { $0.storedRepresentation = .processed }
        stage.clock.advance(by: .seconds(61))
        let again = try await encoded(stage) { $0.storedRepresentation = .processed }
        #expect(again.source == .revalidated && again.bytes == Self.small)
        #expect(stage.codec.encodes.count == 1 && stage.sent.count == 2)
        await stage.end()
    }

    @Test("An image in memory is encoded without another fetch")
    func ofImage() async throws {
        let stage = try stage(picture(Self.fresh))
        _ = try await stage.image { $0.resize = Resize(width: 2, height: 2) }
        #expect(try await encoded(stage).source == .memory)
        #expect(stage.codec.decodes.count == 1 && stage.codec.encodes.count == 1 && stage.sent.count == 1)
        await stage.end()
    }

    // MARK: Freshness and validators

    @Test(
        "The freshness is what is left of the origin's, and zero if a shared cache must not store the response",
        arguments: [
            ("max-age=60", 60), ("max-age=60, private", 0), ("max-age=60, no-store", 0), ("no-cache", 0),
            ("max-age=0", 0),
        ])
    func freshness(control: String, seconds: Int) async throws {
        let stage = try stage(keepsImages: false, picture(("Cache-Control", control)))
        #expect(try await encoded(stage).freshness == .seconds(seconds))
        if seconds > 0 {
            stage.clock.advance(by: .seconds(20))
            #expect(try await encoded(stage).freshness == .seconds(seconds - 20))
        }
        await stage.end()
    }

    @Test("The entity tag is of the origin's validator, the steps and the options, and weak if the validator is")
    func tags() async throws {
        func tag(_ fields: (String, String)..., quality: Int? = nil, width: Int = 2) async throws -> String? {
            let stage = try stage(.ok(FakeCodec.picture(width: 16, height: 8), fields: StoreStage.fields(fields)))
            let file = try await encoded(stage, quality: quality) { $0.resize = Resize(width: width, height: 2) }
            await stage.end()
            return file.entityTag
        }
        let first = try #require(try await tag(Self.tag))
        #expect(first.hasPrefix("\"") && first.hasSuffix("\"") && first.count == 34)
        #expect(try await tag(Self.tag) == first)
        let others = [
            try await tag(("ETag", "\"b\"")), try await tag(Self.tag, quality: 50), try await tag(Self.tag, width: 3),
        ]
        #expect(Set(others + [first]).count == 4)
        #expect(try await tag(("ETag", "W/\"a\""))?.hasPrefix("W/\"") == true)
        #expect(try await tag(("Last-Modified", StoreStage.date))?.hasPrefix("W/\"") == true)
        #expect(try await tag() == nil)
    }

    @Test("An image of the program's own has neither freshness nor entity tag")
    func source() async throws {
        let stage = try stage()
        let request = ImageRequest(source: .init("mine") { .image(FakeCodec.pixels(width: 2, height: 2)) })
        let file = try await stage.pipeline.encoded(for: request, as: EncodeOptions(format: .png))
        #expect(file.bytes == Self.small && file.freshness == nil && file.entityTag == nil && file.source == .source)
        await stage.end()
    }

    // MARK: Bad input

    @Test("What is no image, or cannot be encoded, fails with its error, and nothing is stored of it")
    func failures() async throws {
        let stage = try stage(picture(Self.fresh))
        stage.serve("http://a.example/text", StoreStage.ok("no image", Self.fresh))
        await #expect(throws: LoadError.self) { try await encoded(stage, "http://a.example/text") }
        await #expect(throws: LoadError.self) { try await encoded(stage, "no URL") }
        let error = await #expect(throws: LoadError.self) {
            try await stage.pipeline.encoded(for: StoreStage.url, as: EncodeOptions(format: .webp))
        }
        #expect(error?.code == .unsupportedFormat && error?.url == StoreStage.url)
        try await stage.idle()
        #expect(stage.store.entries.count == 1)
        await stage.end()
    }

    @Test("A load that passes its deadline fails with that, also if a stale image is in memory")
    func late() async throws {
        let stage = try stage(picture(Self.fresh), picture(Self.fresh).stalled("body"))
        var request = ImageRequest(StoreStage.url, resize: Resize(width: 2, height: 2))
        request.servesStaleOnDisconnect = true
        _ = try await stage.pipeline.image(for: request)
        await stage.settled()
        stage.clock.advance(by: .seconds(61))
        request.deadline = .seconds(1)
        let load = Task { [request] in
            try await stage.pipeline.encoded(for: request, as: EncodeOptions(format: .png))
        }
        try await stage.transport.waitForStarts(2)
        stage.clock.advance(by: .seconds(1))
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(error?.code == .deadlineExceeded)
        stage.transport.release("body")
        await stage.end()
    }

    @Test("A cancelled load throws, and the work ends with the last of them")
    func cancelled() async throws {
        let stage = try stage(picture(Self.fresh).stalled("body"))
        let load = Task { try await encoded(stage) }
        try await stage.transport.waitForStarts(1)
        load.cancel()
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(error?.code == .cancelled)
        try await stage.idle()
        #expect(stage.codec.encodes.count == 0)
        await stage.end()
    }
}
