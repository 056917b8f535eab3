import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Waiting for a loader", .timeLimit(.minutes(10)))
@MainActor struct LoaderEndTests {
    private func makeStage(_ mode: ScriptedTransport.Mode = .automatic) throws -> (Stage, ImageLoader) {
        let stage = try Stage(mode)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        return (stage, ImageLoader(pipeline: stage.pipeline, callbackQueue: .main))
    }

    private func isLoaded(_ loader: ImageLoader) -> Bool { if case .loaded = loader.state { true } else { false } }

    @Test("The wait ends when the load has ended and the handler was called, and at once when nothing loads")
    func loaded() async throws {
        let (stage, loader) = try makeStage()
        var calls = 0
        loader.onChange = { loader in if case .loaded = loader.state { calls += 1 } }
        await loader.ended()
        loader.load(Stage.url)
        await loader.ended()
        #expect(isLoaded(loader) && calls == 1)
        await loader.ended()
        loader.load("")
        await loader.ended()
        if case .failed(let error) = loader.state { #expect(error.code == .invalidURL) } else { Issue.record("loads") }
        await stage.pipeline.shutdown(.cancel)
    }

    @Test("The wait ends when the load is cancelled, when the waiting task is, and when the loader is released")
    func cancelled() async throws {
        let (stage, loader) = try makeStage(.manual)
        loader.load(Stage.url)
        let one = Task { @MainActor in await loader.ended() }
        let two = Task { @MainActor in await loader.ended() }
        two.cancel()
        await two.value
        if case .loading = loader.state {} else { Issue.record("the load was cancelled with the wait") }
        loader.cancel()
        await one.value
        // A new request replaces the load, and the wait goes on to its end.
        loader.load(Stage.url)
        let three = Task { @MainActor in await loader.ended() }
        await Task.yield()
        loader.load("")
        await three.value
        if case .failed = loader.state {} else { Issue.record("the wait ended before the second load") }
        stage.transport.finishAll()
        await stage.pipeline.shutdown(.cancel)
    }
}
