import Dispatch
import Foundation
import InflightConcurrency
import InflightFoundation
import InflightTestSupport
import Testing

@testable import InflightCore

/// A pipeline over a script that runs by itself, and stands before every body until that is let pass.
private func makeStage(
    _ script: ScriptedTransport.Script = .ok(FakeCodec.picture()).stalled("all", after: 0),
    change: (inout ImagePipeline.Configuration) -> Void = { _ in }
) throws -> Stage {
    let stage = try Stage(.automatic, change: change)
    stage.transport.serveOthers(script)
    return stage
}

extension Stage {
    /// Waits until so many tasks wait for work: who awaits comes to his call when his task has begun.
    fileprivate func tasks(_ count: Int) async throws {
        try await eventually("\(count) tasks") { pipeline.statistics.tasksUnderWay == count }
    }
}

@Suite("contract 7, in every form: one job for each key", .timeLimit(.minutes(10)))
struct Contract7FormsTests {
    @Test("all forms share one exchange and one decode, and each gets the picture")
    func shared() async throws {
        let stage = try makeStage()
        let loads = Form.allCases.map { $0.begin(ImageRequest(Stage.url), stage.pipeline) }
        try await stage.tasks(loads.count)
        stage.transport.release("all")
        for load in loads { #expect(await load.heard.ending == "4 wide") }
        #expect(stage.transport.startCount == 1)
        #expect(stage.codec.decodes.count == 1)
    }

    @Test("the last to leave stops the work, and nobody before, whatever his form", arguments: Form.allCases)
    func lastOneOut(last: Form) async throws {
        let stage = try makeStage()
        let others = Form.allCases.filter { $0 != last }.map { $0.begin(ImageRequest(Stage.url), stage.pipeline) }
        let load = last.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.tasks(others.count + 1)
        for other in others { other.cancel() }
        try await stage.tasks(1)
        #expect(stage.transport.cancelledURLs == [])
        load.cancel()
        try await stage.transport.wait(for: .ended(Stage.url, .cancelled), within: .seconds(50))
        await stage.pipeline.shutdown(.finish)
        for load in others + [load] { await load.settle() }
        #expect(stage.transport.startCount == 1)
    }

    @Test("a newcomer does not inherit a job that is being stopped", arguments: Form.allCases)
    func newcomer(form: Form) async throws {
        let stage = try Stage()
        let pictures = [FakeCodec.picture(width: 7), FakeCodec.picture(width: 9)]
        stage.transport.serve(Stage.url, inOrder: pictures.map { .ok($0) })
        stage.load().cancel()
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        // A task is under way a moment before its exchange is: on another thread, where it is awaited.
        try await stage.transport.waitForStarts(2, within: .seconds(50))
        stage.transport.finishAll()
        #expect(await load.heard.ending == "9 wide")
    }

    @Test("whose wish is urgent goes first, in whatever form he wishes", arguments: Form.allCases)
    func priority(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture())) { $0.maximumConcurrentFetches = 1 }
        stage.transport.serve("http://a.example/busy", .ok(Bytes("x")).stalled("busy"))
        stage.load("http://a.example/busy")
        let plain = Form.callback.begin(ImageRequest("http://a.example/plain"), stage.pipeline)
        let isRaisedLater = form != .awaited
        let load = form.begin(ImageRequest(Stage.url, priority: isRaisedLater ? .low : .high), stage.pipeline)
        try await stage.tasks(3)
        if isRaisedLater { load.setPriority(.high) }
        stage.transport.release("busy")
        for load in [load, plain] { #expect(await load.heard.ending == "4 wide") }
        #expect(stage.transport.startedURLs == ["http://a.example/busy", Stage.url, "http://a.example/plain"])
        #expect(stage.transport.events.contains(.started(Stage.url, .high)))
    }
}

@Suite("contract 8, in every form: a key is safe", .timeLimit(.minutes(10)))
struct Contract8FormsTests {
    @Test("who differs in a field that the answer varies by gets the picture that is his", arguments: Form.allCases)
    func varies(form: Form) async throws {
        let stage = try makeStage { $0.harmlessFields = ["X-Theme"] }
        stage.transport.serve(Stage.url) { request in
            let width: UInt8 = request.fields["x-theme"] == "dark" ? 7 : 9
            return .ok(FakeCodec.picture(width: width), fields: HTTPFields([("Vary", "X-Theme")])).stalled("head")
        }
        func request(_ theme: String) -> ImageRequest {
            var request = ImageRequest(Stage.url)
            request.fields.append("X-Theme", theme)
            return request
        }
        let first = Form.callback.begin(request("dark"), stage.pipeline)
        let load = form.begin(request("light"), stage.pipeline)
        try await stage.tasks(2)
        #expect(stage.transport.startCount == 1)
        stage.transport.release("head")
        #expect(await first.heard.ending == "7 wide")
        #expect(await load.heard.ending == "9 wide")
        #expect(stage.transport.startCount == 2)
    }

    @Test("who sends something else never shares, unless the field is known to be harmless", arguments: Form.allCases)
    func secrets(form: Form) async throws {
        let stage = try makeStage()
        func request(_ secret: String) -> ImageRequest {
            var request = ImageRequest(Stage.url)
            request.originFields.append("Authorization", secret)
            return request
        }
        let loads = ["mine", "yours", "mine"].map { form.begin(request($0), stage.pipeline) }
        try await stage.tasks(3)
        try await stage.transport.waitForStarts(2, within: .seconds(50))
        #expect(stage.transport.startCount == 2)
        stage.transport.release("all")
        for load in loads { #expect(await load.heard.ending == "4 wide") }
    }
}

// What a loader does whose answers are dropped stands in `ImageLoaderTests`.
@Suite("contract 9, in every form: the caller's queue may be cancelled, or stand still", .timeLimit(.minutes(10)))
struct Contract9FormsTests {
    private func serialQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    @Test("loads in an operation queue that is cancelled end as cancelled; other forms get what they share with them")
    func operations() async throws {
        let stage = try makeStage()
        let queue = OperationQueue()
        let operations = (0..<3).map { _ in LoadOperation(image: ImageRequest(Stage.url), pipeline: stage.pipeline) }
        for operation in operations { queue.addOperation(operation) }
        let others = [Form.callback, .awaited, .stream, .loader].map {
            $0.begin(ImageRequest(Stage.url), stage.pipeline)
        }
        try await stage.tasks(operations.count + others.count)
        queue.cancelAllOperations()
        try await stage.tasks(others.count)
        await Bridge.wait { done in queue.addBarrierBlock { done.open() } }
        #expect(operations.allSatisfy { $0.isFinished && $0.result?.code == .cancelled })
        stage.transport.release("all")
        for other in others { #expect(await other.heard.ending == "4 wide") }
        #expect(stage.transport.startCount == 1)
    }

    @Test("a queue that stands still holds back no other caller, whatever his form", arguments: Form.allCases)
    func standsStill(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture())) { $0.maximumConcurrentFetches = 1 }
        let still = serialQueue()
        still.isSuspended = true
        let heard = Heard()
        stage.pipeline.load(ImageRequest(Stage.url), on: .queue(still)) { _, result in heard.end(result) }
        for url in [Stage.url, "http://a.example/2"] {
            let load = form.begin(ImageRequest(url), stage.pipeline)
            #expect(await load.heard.ending == "4 wide")
        }
        #expect(heard.lines == [])
        still.isSuspended = false
        #expect(await heard.ending == "4 wide")
    }
}

@Suite("contract 10, in every form: release", .timeLimit(.minutes(10)))
struct Contract10FormsTests {
    @Test("a shutdown stops what is under way, turns newcomers away, and tells every form", arguments: Form.allCases)
    func shutdown(form: Form) async throws {
        let stage = try makeStage(.silent)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        await stage.pipeline.shutdown(.cancel)
        #expect(await load.heard.ending == "shutDown")
        let late = form.begin(ImageRequest(Stage.url), stage.pipeline)
        #expect(await late.heard.ending == "shutDown")
        for load in [load, late] { await load.settle() }
        #expect(load.heard.lines == ["shutDown"] && late.heard.lines == ["shutDown"])
        #expect(stage.transport.liveCount == 0)
    }

    @Test("what is under way when its pipeline is told to finish ends well, unheld", arguments: Form.allCases)
    func finishes(form: Form) async throws {
        let stage = try makeStage()
        let heard: Heard
        do {
            let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
            heard = load.heard
            try await stage.tasks(1)
            // A loader that is let go of cancels: it has to be held.
            if form == .loader {
                stage.transport.release("all")
                _ = await heard.ending
                await load.settle()
            }
        }
        stage.transport.release("all")
        await stage.pipeline.shutdown(.finish)
        #expect(await heard.ending == "4 wide")
    }

    @Test("a stream or a loader that is let go of cancels", arguments: [Form.stream, .loader])
    func letGoOf(form: Form) async throws {
        let stage = try makeStage(.silent)
        switch form {
        case .stream:
            let events = stage.pipeline.events(for: ImageRequest(Stage.url))
            let reading = Task {
                var iterator = events.makeAsyncIterator()
                _ = await iterator.next()
            }
            try await stage.transport.waitForStarts(1, within: .seconds(50))
            reading.cancel()
            await reading.value
        default:
            _ = form.begin(ImageRequest(Stage.url), stage.pipeline)
        }
        try await stage.transport.wait(for: .ended(Stage.url, .cancelled), within: .seconds(50))
        await stage.pipeline.shutdown(.finish)
        #expect(stage.pipeline.statistics.tasksUnderWay == 0)
    }
}

@Suite("contract 11, in every form: bounds hold", .timeLimit(.minutes(10)))
struct Contract11FormsTests {
    @Test("a picture that declares too many pixels is refused before it is decoded", arguments: Form.allCases)
    func pixels(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture(width: 10, height: 10)))
        var request = ImageRequest(Stage.url)
        request.limits.maximumPixels = 99
        let load = form.begin(request, stage.pipeline)
        #expect(await load.heard.ending == "tooManyPixels")
        #expect(stage.codec.decodes.count == 0)
    }

    @Test("redirects are followed as often as is allowed, and not once more", arguments: Form.allCases)
    func redirects(form: Form) async throws {
        let stage = try makeStage(.redirect(to: "/next"))
        var request = ImageRequest(Stage.url)
        request.limits.maximumRedirects = 3
        let load = form.begin(request, stage.pipeline)
        #expect(await load.heard.ending == "badRedirect")
        #expect(stage.transport.startCount == 4)
    }

    @Test("loads of all forms together take no more places than there are")
    func places() async throws {
        let stage = try makeStage { $0.maximumConcurrentFetches = 3 }
        let loads = (0..<20).map { number in
            Form.allCases[number % Form.allCases.count]
                .begin(ImageRequest("http://a\(number).example/"), stage.pipeline)
        }
        try await stage.tasks(loads.count)
        try await stage.transport.waitForStarts(3, within: .seconds(50))
        #expect(stage.transport.startCount == 3)
        stage.transport.release("all")
        for load in loads { #expect(await load.heard.ending == "4 wide") }
        #expect(stage.transport.startCount == 20)
        #expect(stage.transport.maximumLiveCount == 3)
    }
}
