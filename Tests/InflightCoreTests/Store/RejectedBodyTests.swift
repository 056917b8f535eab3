import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Stored bodies that do not decode", .timeLimit(.minutes(10)))
struct RejectedBodyTests {
    /// The kinds of request that differ in which faults of a stored body they detect.
    enum Way: String, CaseIterable {
        case image, data, response, verified, info

        /// Returns whether this kind of request detects the fault of `body`.
        func notices(_ body: Body) -> Bool {
            switch self {
            case .image, .verified: true
            case .data, .response: body != .pixels
            case .info: body == .page
            }
        }
    }

    enum Body: CaseIterable {
        case structure, pixels, page

        var bytes: Bytes {
            switch self {
            case .structure: FakeCodec.broken(inStructure: true)
            case .pixels: FakeCodec.broken(inStructure: false)
            case .page: Bytes("<html>")
            }
        }
    }

    private static let fields = StoreStage.fields([("Cache-Control", "max-age=600"), ("ETag", "\"a\"")])

    private func load(_ stage: StoreStage, _ way: Way, policy: ImageRequest.CachePolicy = .obey) async throws {
        var request = ImageRequest(StoreStage.url)
        request.cachePolicy = policy
        if way != .image, way != .info { request.expectsImage = true }
        if way == .verified { request.verifiesStoredImage = true }
        switch way {
        case .image: _ = try await stage.pipeline.image(for: request)
        case .data: _ = try await stage.pipeline.data(for: request)
        case .response, .verified: _ = try await stage.pipeline.response(for: request)
        case .info: _ = try await stage.pipeline.info(for: request)
        }
        await stage.settled()
    }

    @Test(
        "An undecodable stored body is fetched again for an image request and replaced", arguments: Way.allCases,
        Body.allCases)
    func refetched(way: Way, body: Body) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, .ok(body.bytes, fields: Self.fields), .ok(FakeCodec.picture(), fields: Self.fields))
        _ = try await stage.get()
        #expect(stage.store.entries.count == 1)
        try await load(stage, way)
        stage.pipeline.cache.removeAll()
        try await load(stage, way)
        if way != .info { #expect(stage.store.entries.count == 1) }
        let isNoticed = way.notices(body)
        #expect(stage.sent.count == (isNoticed ? way == .info ? 3 : 2 : 1))
        if isNoticed, stage.sent.count > 1 {
            #expect(stage.sent[1].fields["cache-control"] == "no-cache")
            #expect(stage.sent[1].fields["if-none-match"] == nil)
        }
        await stage.end()
    }

    @Test("An undecodable body that the server resends is fetched only once more", arguments: [Way.image, .response])
    func noLoop(way: Way) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, .ok(Body.structure.bytes, fields: Self.fields))
        _ = try await stage.get()
        _ = try? await load(stage, way)
        #expect(stage.sent.count == 2)
        await stage.settled()
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test(
        "An onlyCached request removes an undecodable stored body and fails without a fetch",
        arguments: [(.image, .structure), (.data, .structure), (.response, .structure), (.image, .page)]
            as [(Way, Body)])
    func offline(way: Way, body: Body) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, .ok(body.bytes, fields: Self.fields))
        _ = try await stage.get()
        let error = await #expect(throws: LoadError.self) { try await load(stage, way, policy: .onlyCached) }
        #expect(error?.code == .notStored && error?.message.contains("was removed") == true)
        await stage.settled()
        #expect(stage.sent.count == 1 && stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("An undecodable body is not stored by the request that fetched it", arguments: [Way.image, .data, .response])
    func notKept(way: Way) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, .ok(Body.structure.bytes, fields: Self.fields),
            .ok(FakeCodec.picture(), fields: Self.fields))
        _ = try? await load(stage, way)
        await stage.settled()
        #expect(stage.store.entries.isEmpty)
        try await load(stage, way)
        #expect(stage.sent.count == 2 && stage.store.entries.count == 1)
        await stage.end()
    }

    @Test("A rejected entry is removed once, before or after the store has written it")
    func machine() {
        let id = StoredEntry.ID(rawValue: 1)
        var late = StoredEntryMachine(id: nil)
        let removedLate = (late.rejected(), late.kept(as: id))
        #expect(removedLate == (nil, true))
        var early = StoredEntryMachine(id: nil)
        let removedEarly = (early.kept(as: id), early.rejected(), early.rejected())
        #expect(removedEarly == (false, id, nil))
    }
}
