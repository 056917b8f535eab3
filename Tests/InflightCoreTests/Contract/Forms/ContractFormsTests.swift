import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Returns a pipeline over a script that runs automatically until it stalls.
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

// `Form` documents the meaning of each rule in each form.

@Suite("Contract 1 in every API form: callbacks on the named queue", .timeLimit(.minutes(10)))
struct Contract1FormsTests {
    @Test("A loader delivers progress and endings on its callback queue")
    func loader() async throws {
        let stage = try makeStage()
        let here = CallbackQueue.queue(DispatchQueue(label: "named"))
        let loader = ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: here))
        let places = Guarded([Bool]())
        let end = Promise<Bool>()
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

    @Test("A loader for the main queue calls back on the main queue")
    @MainActor func mainLoader() async throws {
        let stage = try makeStage()
        let end = Promise<Bool>()
        let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: .main)
        loader.onChange = { loader in
            dispatchPrecondition(condition: .onQueue(.main))
            if case .loaded = loader.state { end.set(true) }
        }
        loader.request = ImageRequest(Stage.url)
        #expect(try await end.value)
    }

    @Test("Awaiting an image or iterating a stream on the main actor resumes there")
    @MainActor func awaited() async throws {
        let stage = try makeStage()
        _ = try await stage.pipeline.image(for: ImageRequest(Stage.url))
        dispatchPrecondition(condition: .onQueue(.main))
        for await _ in stage.pipeline.events(for: ImageRequest("http://a.example/2")) {
            dispatchPrecondition(condition: .onQueue(.main))
        }
    }
}

@Suite("Contract 2 in every API form: no callback inside the starting call", .timeLimit(.minutes(10)))
struct Contract2FormsTests {
    @Test("Memory hits and immediate errors are not delivered inside the call", arguments: Form.allCases)
    func atOnce(form: Form) async throws {
        let stage = try makeStage()
        _ = try await stage.pipeline.image(for: ImageRequest(Stage.url))
        for (url, expected) in [(Stage.url, "4 wide"), ("no URL", "invalidURL"), ("gopher://a/", "unsupportedScheme")] {
            let load = form.begin(ImageRequest(url), stage.pipeline)
            #expect(await load.deliveries.ending == expected)
            await load.settle()
            #expect(load.deliveries.lines == [expected])
        }
        #expect(stage.transport.startCount == 1)
    }
}

@Suite("Contract 3 in every API form: exactly one ending per task", .timeLimit(.minutes(10)))
struct Contract3FormsTests {
    @Test("Every ending is delivered once, and a later cancel has no effect", arguments: Form.allCases)
    func once(form: Form) async throws {
        for (script, expected) in [
            (ScriptedTransport.Script.ok(FakeCodec.picture()), "4 wide"), (.failure(.cannotConnect), "cannotConnect"),
            (.status(404), "badStatus"), (.ok(Bytes("text")), "notAnImage"),
        ] {
            let stage = try makeStage(script)
            let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
            #expect(await load.deliveries.ending == expected)
            load.cancel()
            await stage.pipeline.shutdown(.finish)
            await load.settle()
            #expect(load.deliveries.lines.filter { Int64($0) == nil } == [expected])
        }
    }

    @Test("A cancelled load ends once, with an error or silently as its form defines", arguments: Form.allCases)
    func cancelled(form: Form) async throws {
        let stage = try makeStage(.silent)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        load.cancel()
        load.cancel()
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        #expect(load.deliveries.lines == form.toldOfCancel.map { [$0] } ?? [])
        #expect(stage.transport.cancelledURLs == [Stage.url])
    }
}

@Suite("Contract 4 in every API form: no callback after cancel", .timeLimit(.minutes(10)))
struct Contract4FormsTests {
    @Test("A cancel during a transfer suppresses all later events except its own error", arguments: Form.allCases)
    func silence(form: Form) async throws {
        let stage = try makeStage(held)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        load.cancel()
        let before = load.deliveries.lines.filter { Int64($0) != nil }
        stage.transport.release("body")
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        let told = load.deliveries.lines
        #expect(told.filter { Int64($0) == nil } == form.toldOfCancel.map { [$0] } ?? [])
        // No progress follows, except that the reader of a stream may lag behind.
        if form != .stream { #expect(told.filter { Int64($0) != nil } == before) }
    }

    @Test("A load that is cancelled while queued sends nothing", arguments: Form.allCases)
    func beforeItsTurn(form: Form) async throws {
        let stage = try makeStage(.silent) { $0.maximumConcurrentFetches = 1 }
        let first = stage.load("http://a.example/busy")
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        // The awaited form makes its call only when its task has started.
        try await eventually("both loads to wait") { stage.pipeline.statistics.tasksInFlight == 2 }
        load.cancel()
        // The awaited form observes the cancel only once it is suspended.
        try await eventually("one load to leave") { stage.pipeline.statistics.tasksInFlight == 1 }
        first.cancel()
        await stage.pipeline.shutdown(.finish)
        await load.settle()
        #expect(load.deliveries.lines == form.toldOfCancel.map { [$0] } ?? [])
        #expect(stage.transport.startedURLs == ["http://a.example/busy"])
    }
}

@Suite("Contract 5 in every API form: event order within a task", .timeLimit(.minutes(10)))
struct Contract5FormsTests {
    @Test("Progress increases and never repeats, and the ending is last", arguments: Form.withProgress)
    func order(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture(padding: 190), chunks: [1]))
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        #expect(await load.deliveries.ending == "4 wide")
        await load.settle()
        let progress = load.deliveries.lines.compactMap { Int64($0) }
        #expect(progress.count >= 1 && progress == Array(Set(progress)).sorted())
        #expect(load.deliveries.lines.count == progress.count + 1 && load.deliveries.lines.last == "4 wide")
    }
}

@Suite("Contract 6 in every API form: no lock held during caller code", .timeLimit(.minutes(10)))
struct Contract6FormsTests {
    @Test("A processor may call into the pipeline, also to compute its identity", arguments: Form.allCases)
    func processors(form: Form) async throws {
        let stage = try makeStage()
        let pipeline = stage.pipeline
        let others = Guarded([ImageTask]())
        let callIn: @Sendable () -> Void = {
            _ = (pipeline.statistics, pipeline.cache[ImageRequest(Stage.url)], pipeline.cache.statistics)
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
        #expect(await load.deliveries.ending == "4 wide")
        await load.settle()
    }
}
