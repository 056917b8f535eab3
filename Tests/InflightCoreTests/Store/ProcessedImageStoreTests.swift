import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Stored processed images", .timeLimit(.minutes(10)))
struct ProcessedImageStoreTests {
    private static let fresh = ("Cache-Control", "max-age=60")

    /// A stage without images in memory.
    private func stage() throws -> StoreStage {
        try StoreStage { $0.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false) }
    }

    private func picture(_ width: UInt8, _ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(FakeCodec.picture(width: width, height: 8), fields: StoreStage.fields(fields))
    }

    private func image(
        _ stage: StoreStage, _ form: ImageRequest.StoredRepresentation, _ processor: FakeProcessor? = nil,
        width: Int? = 2,
        url: String = StoreStage.url, policy: ImageRequest.CachePolicy = .obey
    ) async throws -> LoadedImage {
        try await stage.image(url) {
            $0.resize = width.map { Resize(width: $0, height: 2) }
            $0.storedRepresentation = form
            $0.cachePolicy = policy
            if let processor { $0.processors = [ImageProcessor(processor)] }
        }
    }

    /// A stage whose stored image is stale and whose server confirms it with a 304.
    private func staleStage(_ processor: FakeProcessor) async throws -> StoreStage {
        let stage = try stage()
        stage.serve(
            StoreStage.url, picture(16, Self.fresh, ("ETag", "\"a\"")),
            .status(304, HTTPFields([("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])))
        _ = try await image(stage, .both, processor)
        stage.clock.advance(by: .seconds(61))
        return stage
    }

    private func processedCount(_ stage: StoreStage) -> Int {
        stage.store.entries.count { $0.response.varyFields.contains(":picture") }
    }

    @Test(
        "A stored processed image is served without a fetch, full-size decode or processing",
        arguments: [
            ImageRequest.StoredRepresentation.processed, .both,
        ])
    func found(form: ImageRequest.StoredRepresentation) async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        let processor = FakeProcessor(name: "a")
        #expect(try await image(stage, form, processor).source == .network)
        #expect(stage.store.entries.count == (form == .both ? 2 : 1))
        stage.clock.advance(by: .seconds(30))
        let again = try await image(stage, form, processor)
        #expect(again.source == .disk)
        #expect(again.width == 2)
        // The stored, smaller file was decoded.
        #expect(again.info.storedWidth == 2)
        #expect(processor.runs.count == 1)
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("A stored processed image is found only by its size, processors and encoding")
    func identity() async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        _ = try await image(stage, .processed, FakeProcessor(name: "a"))
        #expect(try await image(stage, .processed, FakeProcessor(name: "b")).source == .network)
        #expect(try await image(stage, .processed).source == .network)
        #expect(try await image(stage, .processed, width: 3).source == .network)
        #expect(try await image(stage, .processed(EncodeOptions(format: .png, quality: 3))).source == .network)
        #expect(stage.sent.count == 5)
        #expect(processedCount(stage) == 5)
        #expect(try await image(stage, .processed, FakeProcessor(name: "b")).source == .disk)
        await stage.end()
    }

    @Test("A request for the original stores no processed image")
    func forms() async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        _ = try await image(stage, .original)
        #expect(stage.store.entries.count == 1)
        #expect(processedCount(stage) == 0)
        await stage.end()
    }

    @Test("Each of two coalesced requests stores its own form")
    func shared() async throws {
        let stage = try stage()
        stage.transport.serve(
            StoreStage.url,
            .ok(FakeCodec.picture(width: 16), fields: StoreStage.fields([Self.fresh])).stalled("head"))
        async let first = image(stage, .processed)
        async let second = image(stage, .original, width: 4)
        try await eventually("a shared load") { stage.pipeline.statistics.coalescedTasks > 0 }
        stage.transport.release("head")
        _ = try await (first, second)
        await stage.settled()
        #expect(stage.transport.startCount == 1)
        #expect(stage.store.entries.count == 2)
        #expect(processedCount(stage) == 1)
        await stage.end()
    }

    @Test("A stale processed image is made again from the revalidated original")
    func stale() async throws {
        let processor = FakeProcessor(name: "a")
        let stage = try await staleStage(processor)
        #expect(try await image(stage, .both, processor).source == .revalidated)
        #expect(processor.runs.count == 2)
        #expect(stage.store.entries.count == 2)
        #expect(try await image(stage, .both, processor).source == .disk)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    /// A stage whose processed image is stale, while its original is not stored.
    private func staleStage(
        _ stored: [(String, String)], then next: ScriptedTransport.Script..., sizes: [Int] = [2]
    ) async throws -> StoreStage {
        let stage = try stage()
        let first = ScriptedTransport.Script.ok(
            FakeCodec.picture(width: 16, height: 8), fields: StoreStage.fields([Self.fresh] + stored))
        stage.serve(StoreStage.url, sizes.map { _ in first } + next)
        for size in sizes { _ = try await image(stage, .processed, width: size) }
        stage.clock.advance(by: .seconds(61))
        return stage
    }

    private static let tag = ("ETag", "\"a\"")

    @Test("A stale processed image is used again after a 304 to the validator of its original, which is not stored")
    func confirmed() async throws {
        let stage = try await staleStage(
            [Self.tag], then: .status(304, HTTPFields([Self.fresh, Self.tag, ("Content-Type", "image/jpeg")])))
        let image1 = try await image(stage, .processed)
        #expect(image1.source == .revalidated)
        #expect(image1.info.storedWidth == 2)
        #expect(stage.sent.map { $0.fields["if-none-match"] } == [nil, "\"a\""])
        #expect(processedCount(stage) == 1)
        // The 304 has made it fresh, and has not changed the type of the image's own bytes.
        #expect(stage.store.entries.first?.response.head.fields["content-type"] == "image/png")
        #expect(try await image(stage, .processed).source == .disk)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A processed image that requires revalidation on each use is confirmed on each use")
    func confirmedEachTime() async throws {
        let noCache = ("Cache-Control", "no-cache")
        let stage = try stage()
        stage.serve(
            StoreStage.url, picture(16, noCache, Self.tag), .status(304, HTTPFields([noCache, Self.tag])))
        _ = try await image(stage, .processed)
        for _ in 0..<2 { #expect(try await image(stage, .processed).source == .revalidated) }
        #expect(stage.sent.map { $0.fields["if-none-match"] } == [nil, "\"a\"", "\"a\""])
        await stage.end()
    }

    @Test("A date validates a processed image if its response had no entity tag")
    func confirmedByDate() async throws {
        let date = ("Last-Modified", "Tue, 14 Nov 2023 21:13:20 GMT")
        let stage = try await staleStage([date], then: .status(304, HTTPFields([Self.fresh])))
        #expect(try await image(stage, .processed).source == .revalidated)
        #expect(stage.sent.map { $0.fields["if-modified-since"] } == [nil, date.1])
        await stage.end()
    }

    @Test("A stale processed image whose original has changed is made again from the same response")
    func changed() async throws {
        let stage = try await staleStage([Self.tag], then: picture(17, Self.fresh, ("ETag", "\"b\"")))
        let image1 = try await image(stage, .processed)
        #expect(image1.source == .network && image1.info.storedWidth == 17)
        #expect(stage.sent.count == 2)
        #expect(processedCount(stage) == 1)
        await stage.end()
    }

    @Test("One 304 confirms the processed images of all coalesced requests")
    func confirmedTogether() async throws {
        let answer = ScriptedTransport.Script.status(304, HTTPFields([Self.fresh, Self.tag])).stalled("304")
        let stage = try await staleStage([Self.tag], then: answer, sizes: [2, 3])
        async let first = image(stage, .processed, width: 2)
        try await eventually("the confirmation") { stage.sent.count == 3 }
        // It joins after the request was sent.
        async let second = image(stage, .processed, width: 3)
        try await eventually("a shared load") { stage.pipeline.statistics.coalescedTasks > 0 }
        stage.transport.release("304")
        let loaded = try await (first, second)
        #expect(loaded.0.source == .revalidated && loaded.1.source == .revalidated)
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("A request that needs the bytes and joins a confirmation gets the bytes")
    func joined() async throws {
        let answer = ScriptedTransport.Script.status(304, HTTPFields([Self.fresh, Self.tag])).stalled("304")
        let stage = try await staleStage([Self.tag], then: answer, picture(18, Self.fresh, Self.tag))
        async let first = image(stage, .processed)
        try await eventually("the confirmation") { stage.sent.count == 2 }
        async let second = image(stage, .original, width: 5)
        try await eventually("a shared load") { stage.pipeline.statistics.coalescedTasks > 0 }
        stage.transport.release("304")
        let loaded = try await (first, second)
        #expect(loaded.0.source == .revalidated && loaded.1.width == 5)
        #expect(stage.sent.map { $0.fields["if-none-match"] } == [nil, "\"a\"", nil])
        await stage.end()
    }

    @Test("The origin is not asked to confirm an image in one size if another size needs the bytes")
    func otherSize() async throws {
        let stage = try await staleStage([Self.tag], then: picture(18, Self.fresh, Self.tag))
        #expect(try await image(stage, .processed, width: 3).source == .network)
        #expect(stage.sent.map { $0.fields["if-none-match"] } == [nil, nil])
        await stage.end()
    }

    @Test("A processed image becomes usable again when its original is revalidated")
    func sameBytes() async throws {
        let processor = FakeProcessor(name: "a")
        let stage = try await staleStage(processor)
        _ = try await stage.data()
        #expect(try await image(stage, .both, processor).source == .disk)
        #expect(processor.runs.count == 1)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A processed image is not used after a newer original is stored")
    func newer() async throws {
        let stage = try stage()
        stage.serve(
            StoreStage.url, picture(16, Self.fresh, ("ETag", "\"a\"")), picture(17, Self.fresh, ("ETag", "\"b\"")))
        let processor = FakeProcessor(name: "a")
        _ = try await image(stage, .both, processor)
        stage.clock.advance(by: .seconds(1))
        _ = try await stage.data { $0.cachePolicy = .refresh }
        let again = try await image(stage, .both, processor)
        #expect(again.info.storedWidth == 17)
        #expect(processor.runs.count == 2)
        #expect(processedCount(stage) == 1)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A corrupt processed image is made again and replaced")
    func damaged() async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        _ = try await image(stage, .processed)
        let stored = try #require(stage.store.entries.first)
        let garbage = Bytes("no picture")
        await Bridge.wait { bridge in
            var response = stored.response
            response.bodyRange = 0..<Int64(garbage.count)
            response.totalLength = Int64(garbage.count)
            stage.store.keep(
                response, body: garbage, under: ProcessedImages.key(StoreKey(StoreStage.url)),
                replacing: [stored.id]
            ) { _ in bridge.open() }
        }
        #expect(try await image(stage, .processed).width == 2)
        #expect(stage.sent.count == 2)
        #expect(stage.store.entries.count == 1)
        #expect(try await image(stage, .processed).source == .disk)
        await stage.end()
    }

    @Test("An unsafe method invalidates the processed image with its original (RFC 9111 section 4.4)")
    func invalidated() async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh), .ok(Bytes("done")), picture(17, Self.fresh))
        _ = try await image(stage, .both)
        _ = try await stage.get { $0.method = "POST" }
        #expect(stage.store.entries.isEmpty)
        #expect(try await image(stage, .both).info.storedWidth == 17)
        await stage.end()
    }

    @Test("A processed image is not stored after a redirect or for a no-store response")
    func notKept() async throws {
        let stage = try stage()
        let other = "http://a.example/other"
        stage.serve(StoreStage.url, .redirect(to: other))
        stage.serve(other, picture(16, Self.fresh))
        _ = try await image(stage, .processed)
        #expect(stage.store.entries.count { $0.response.url == other } == 0)
        #expect(processedCount(stage) == 0)
        stage.serve(other, picture(16, ("Cache-Control", "no-store")))
        _ = try await image(stage, .both, url: other)
        #expect(processedCount(stage) == 0)
        await stage.end()
    }

    @Test(
        "Policies that fetch anew ignore a stored processed image, and all others use it",
        arguments: ImageRequest.CachePolicy.allCases)
    func policies(policy: ImageRequest.CachePolicy) async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        _ = try await image(stage, .processed)
        let asks = [.refresh, .reload, .noStore].contains(policy)
        #expect(try await image(stage, .processed, policy: policy).source == (asks ? .network : .disk))
        #expect(stage.sent.count == (asks ? 2 : 1))
        await stage.end()
    }

    @Test("A processed image is not served to other credentials")
    func people() async throws {
        let stage = try stage()
        stage.serve(StoreStage.url, picture(16, Self.fresh))
        for name in ["anna", "ben"] {
            let loaded = try await stage.image {
                $0.storedRepresentation = .processed
                $0.originFields.append("Authorization", name)
            }
            #expect(loaded.source == .network)
        }
        #expect(stage.sent.count == 2)
        await stage.end()
    }
}
