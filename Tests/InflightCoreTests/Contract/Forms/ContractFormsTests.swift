import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

/// A pipeline over a script that runs by itself, up to where the script stalls.
private func makeStage(
    _ script: ScriptedTransport.Script = .ok(FakeCodec.picture(padding: 20), chunks: [10]),
    change: (inout ImagePipeline.Configuration) -> Void = { _ in }
) throws -> Stage {
    let stage = try Stage(.automatic, change: change)
    stage.transport.serveOthers(script)
    return stage
}

private let held = ScriptedTransport.Script.ok(FakeCodec.picture(padding: 20), chunks: [10])
    .stalled("body", after: 10)

// What each rule means in each form stands at `Form`.

@Suite("contract 1, in every form: callbacks run on the queue that the caller named", .timeLimit(.minutes(10)))
struct Contract1FormsTests {
    @Test("a loader tells on its queue, progress and endings")
    func loader() async throws {
        let stage = try makeStage()
        let here = CallbackQueue.queue(DispatchQueue(label: "named"))
        let loader = ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: here))
        let places = Guarded([Bool]())
        let end = Once<Bool>()
        loader.submit { loader in
            loader.onChange = { loader in
                places.withLock { $0.append(here.isCurrent) }
                if case .loaded = loader.state { end.set(true) }
            }
            loader.request = ImageRequest(Stage.url)
        }
        #expect(try await end.value)
        #expect(places.withLock { $0.count > 1 && $0.allSatisfy { $0 } })
    }

    @Test("a loader that was made for the main queue tells on the main actor")
    @MainActor func mainLoader() async throws {
        let stage = try makeStage()
        let end = Once<Bool>()
        let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: .main)
        loader.onChange = { loader in
            dispatchPrecondition(condition: .onQueue(.main))
            if case .loaded = loader.state { end.set(true) }
        }
        loader.request = ImageRequest(Stage.url)
        #expect(try await end.value)
    }

    @Test("who awaits, or goes through a stream, on the main actor goes on there")
    @MainActor func awaited() async throws {
        let stage = try makeStage()
        _ = try await stage.pipeline.image(for: ImageRequest(Stage.url))
        dispatchPrecondition(condition: .onQueue(.main))
        for await _ in stage.pipeline.events(for: ImageRequest("http://a.example/2")) {
            dispatchPrecondition(condition: .onQueue(.main))
        }
    }
}

@Suite("contract 2, in every form: no callback runs inside the call that asked for it", .timeLimit(.minutes(10)))
struct Contract2FormsTests {
    @Test("whatever there is to tell: what is in memory, and errors that are known at once", arguments: Form.allCases)
    func atOnce(form: Form) async throws {
        let stage = try makeStage()
        _ = try await stage.pipeline.image(for: ImageRequest(Stage.url))
        for (url, expected) in [(Stage.url, "4 wide"), ("no URL", "invalidURL"), ("gopher://a/", "unsupportedScheme")] {
            let load = form.begin(ImageRequest(url), stage.pipeline)
            #expect(await load.heard.ending == expected)
            await load.settle()
            #expect(load.heard.lines == [expected])
        }
        #expect(stage.transport.startCount == 1)
    }
}

@Suite("contract 3, in every form: a task ends exactly once", .timeLimit(.minutes(10)))
struct Contract3FormsTests {
    @Test("with success or with failure, and a cancel that comes later changes nothing", arguments: Form.allCases)
    func once(form: Form) async throws {
        for (script, expected) in [
            (ScriptedTransport.Script.ok(FakeCodec.picture()), "4 wide"), (.failure(.cannotConnect), "cannotConnect"),
            (.status(404), "badStatus"), (.ok(Bytes("text")), "notAnImage"),
        ] {
            let stage = try makeStage(script)
            let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
            #expect(await load.heard.ending == expected)
            load.cancel()
            await stage.pipeline.shutdown(.finish)
            await load.settle()
            #expect(load.heard.lines.filter { Int64($0) == nil } == [expected])
        }
    }

    @Test("cancelled where the cancel comes first: told as the form tells it, and once", arguments: Form.allCases)
    func cancelled(form: Form) async throws {
        let stage = try makeStage(.silent)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        load.cancel()
        load.cancel()
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        #expect(load.heard.lines == form.toldOfCancel.map { [$0] } ?? [])
        #expect(stage.transport.cancelledURLs == [Stage.url])
    }
}

@Suite("contract 4, in every form: silence after cancel", .timeLimit(.minutes(10)))
struct Contract4FormsTests {
    @Test("a cancel between progress and picture is followed by nothing but the word of it", arguments: Form.allCases)
    func silence(form: Form) async throws {
        let stage = try makeStage(held)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        load.cancel()
        let before = load.heard.lines.filter { Int64($0) != nil }
        stage.transport.release("body")
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        let told = load.heard.lines
        #expect(told.filter { Int64($0) == nil } == form.toldOfCancel.map { [$0] } ?? [])
        // What passed before the cancel passed before.
        if form != .stream { #expect(told.filter { Int64($0) != nil } == before) }
    }

    @Test("a cancel before its turn comes means that nothing is asked for", arguments: Form.allCases)
    func beforeItsTurn(form: Form) async throws {
        let stage = try makeStage(.silent) { $0.maximumConcurrentFetches = 1 }
        let first = stage.load("http://a.example/busy")
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        // Whoever awaits has not come to his call yet, where his task has not begun.
        try await eventually("both loads to wait") { stage.pipeline.statistics.tasksUnderWay == 2 }
        load.cancel()
        // Who awaits hears of the cancel when he has come to wait.
        try await eventually("one load to leave") { stage.pipeline.statistics.tasksUnderWay == 1 }
        first.cancel()
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        #expect(load.heard.lines == form.toldOfCancel.map { [$0] } ?? [])
        #expect(stage.transport.startedURLs == ["http://a.example/busy"])
    }
}

@Suite("contract 5, in every form: events of one task arrive in order", .timeLimit(.minutes(10)))
struct Contract5FormsTests {
    @Test("progress goes on and never back, and the ending is the last", arguments: Form.withProgress)
    func order(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture(padding: 190), chunks: [1]))
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        #expect(await load.heard.ending == "4 wide")
        await load.settle()
        let progress = load.heard.lines.compactMap { Int64($0) }
        #expect(progress.count >= 1 && progress == Array(Set(progress)).sorted())
        #expect(load.heard.lines.count == progress.count + 1 && load.heard.lines.last == "4 wide")
    }
}

@Suite("contract 6, in every form: no lock is held while a caller's code runs", .timeLimit(.minutes(10)))
struct Contract6FormsTests {
    @Test("a processor, and the making of its identity, may call back into everything", arguments: Form.allCases)
    func processors(form: Form) async throws {
        let stage = try makeStage()
        let pipeline = stage.pipeline
        let others = Guarded([ImageTask]())
        let callIn: @Sendable () -> Void = {
            _ = (pipeline.statistics, pipeline.cached(ImageRequest(Stage.url)), pipeline.memoryCacheStatistics)
            let other = pipeline.loadResponse(ImageRequest("http://a.example/other"), on: .queue(.global())) { _, _ in }
            others.withLock { $0 }.forEach { $0.priority = .high }
            other.cancel()
        }
        var request = ImageRequest(Stage.url)
        request.processors = [
            FakeProcessor(
                name: "calls", onIdentity: callIn,
                onProcess: { pixels in
                    callIn()
                    return pixels
                })
        ].map { ImageProcessor($0) }
        let load = form.begin(request, pipeline)
        #expect(await load.heard.ending == "4 wide")
        await load.settle()
    }
}
