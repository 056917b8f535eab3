import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `Configuration.identity`: a function that identifies images instead of their URLs.
@Suite("Identities by a function of the pipeline", .timeLimit(.minutes(10)))
struct PipelineIdentityTests {
    private static let signed = (1...3).map { StoreStage.url + "?signature=\($0)" }

    /// A pipeline that ignores queries, except on one host.
    private func stage(_ change: (ScriptedTransport.Script) -> ScriptedTransport.Script = { $0 }) throws -> StoreStage {
        let stage = try StoreStage {
            $0.identity = { request in
                request.url.contains("plain") ? nil : request.url.split(separator: "?").first.map(String.init)
            }
        }
        let script = ScriptedTransport.Script.ok(
            FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=60")]))
        for url in Self.signed { stage.serve(url, change(script)) }
        return stage
    }

    @Test("URLs with one identity share memory, the store and what is put there by hand")
    func caches() async throws {
        let stage = try stage()
        #expect(try await stage.image(Self.signed[0]).source == .network)
        #expect(try await stage.image(Self.signed[1]).source == .memory)
        #expect(stage.pipeline.cache[Self.signed[2]] != nil)
        stage.pipeline.cache.removeAll()
        #expect(await stage.pipeline.diskCache.contains(Self.signed[1]))
        #expect(try await stage.image(Self.signed[2]).source == .disk)
        #expect(stage.sent.map(\.url.string) == [Self.signed[0]])
        await stage.pipeline.diskCache.remove(Self.signed[1])
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    @Test("They share a fetch in flight, with a prefetch too")
    func inFlight() async throws {
        let stage = try stage { $0.stalled("body") }
        let prefetcher = Prefetcher(pipeline: stage.pipeline, destination: .memory, turn: .time(.milliseconds(10)))
        prefetcher.start([Self.signed[0], Self.signed[1]])
        #expect(prefetcher.statistics.requested == 1)
        stage.clock.advance(by: .milliseconds(10))
        try await stage.transport.waitForStarts(1)
        let load = Task { try await stage.image(Self.signed[2]).width }
        try await eventually("a load") { stage.pipeline.statistics.tasksInFlight == 2 }
        stage.transport.release("body")
        #expect(try await load.value == 4 && stage.sent.count == 1)
        await stage.end()
    }

    @Test("A request's own identity counts, and nil leaves the URL")
    func own() async throws {
        let stage = try stage()
        for url in ["http://plain.example/a?1", "http://plain.example/a?2"] {
            stage.serve(url, .ok(FakeCodec.picture()))
        }
        _ = try await stage.image("http://plain.example/a?1")
        #expect(stage.pipeline.cache["http://plain.example/a?2"] == nil)
        _ = try await stage.image(Self.signed[0]) { $0.identity = "mine" }
        #expect(stage.pipeline.cache[Self.signed[0]] == nil)
        #expect(try await stage.image(Self.signed[1]) { $0.identity = "mine" }.source == .memory)
        await stage.end()
    }

    @Test("A fallback has an identity of its own")
    func fallback() async throws {
        let stage = try stage { _ in .status(404) }
        stage.serve(
            "http://b.example/2?x",
            .ok(FakeCodec.picture(), fields: StoreStage.fields([("Cache-Control", "max-age=60")])))
        _ = try await stage.image(Self.signed[0]) { $0.fallbacks = ["http://b.example/2?x"] }
        #expect(stage.pipeline.cache["http://b.example/2?y"] != nil && stage.pipeline.cache[Self.signed[0]] == nil)
        await stage.end()
    }
}
