import Dispatch
import Foundation
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

/// Returns a pipeline over a script that runs automatically and stalls before every body until it is released.
private func makeStage(
    _ script: ScriptedTransport.Script = .ok(FakeCodec.picture()).stalled("all", after: 0),
    change: (inout ImagePipeline.Configuration) -> Void = { _ in }
) throws -> Stage {
    let stage = try Stage(.automatic, change: change)
    stage.transport.serveOthers(script)
    return stage
}

extension Stage {
    /// Waits until that many tasks are in progress: the awaited form makes its call only when its task has started.
    fileprivate func tasks(_ count: Int) async throws {
        try await eventually("\(count) tasks") { pipeline.statistics.tasksInFlight == count }
    }
}

@Suite("Contract 7 in every API form: one job per key", .timeLimit(.minutes(10)))
struct Contract7FormsTests {
    @Test("All API forms share one exchange and one decode, and each receives the image")
    func shared() async throws {
        let stage = try makeStage()
        let loads = Form.allCases.map { $0.begin(ImageRequest(Stage.url), stage.pipeline) }
        try await stage.tasks(loads.count)
        stage.transport.release("all")
        for load in loads { #expect(await load.deliveries.ending == "4 wide") }
        #expect(stage.transport.startCount == 1)
        #expect(stage.codec.decodes.count == 1)
    }

    @Test("Only the last cancel stops a shared job, whichever form it comes from", arguments: Form.allCases)
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

    @Test("A new request does not join a cancelled job", arguments: Form.allCases)
    func newcomer(form: Form) async throws {
        let stage = try Stage()
        let pictures = [FakeCodec.picture(width: 7), FakeCodec.picture(width: 9)]
        stage.transport.serve(Stage.url, inOrder: pictures.map { .ok($0) })
        stage.load().cancel()
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        // A task is counted before its exchange starts, which the awaited form does on another thread.
        try await stage.transport.waitForStarts(2, within: .seconds(50))
        stage.transport.finishAll()
        #expect(await load.deliveries.ending == "9 wide")
    }

    @Test("A high-priority request overtakes a queued one of normal priority", arguments: Form.allCases)
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
        for load in [load, plain] { #expect(await load.deliveries.ending == "4 wide") }
        #expect(stage.transport.startedURLs == ["http://a.example/busy", Stage.url, "http://a.example/plain"])
        #expect(stage.transport.events.contains(.started(Stage.url, .high)))
    }
}

@Suite("Contract 8 in every API form: safe keys", .timeLimit(.minutes(10)))
struct Contract8FormsTests {
    @Test("Requests that differ in a Vary field each receive their own image", arguments: Form.allCases)
    func varies(form: Form) async throws {
        let stage = try makeStage { $0.fieldsExcludedFromKey = ["X-Theme"] }
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
        #expect(await first.deliveries.ending == "7 wide")
        #expect(await load.deliveries.ending == "9 wide")
        #expect(stage.transport.startCount == 2)
    }

    @Test("Requests with different credentials do not share a fetch", arguments: Form.allCases)
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
        for load in loads { #expect(await load.deliveries.ending == "4 wide") }
    }
}

// `ImageLoaderTests` tests a loader whose callbacks are dropped.
@Suite("Contract 9 in every API form: cancelled and suspended queues", .timeLimit(.minutes(10)))
struct Contract9FormsTests {
    private func serialQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    @Test("Cancelling an operation queue cancels only its own loads, not those that share their fetch")
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
        for other in others { #expect(await other.deliveries.ending == "4 wide") }
        #expect(stage.transport.startCount == 1)
    }

    @Test("A suspended queue does not delay other callers, whatever their form", arguments: Form.allCases)
    func standsStill(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture())) { $0.maximumConcurrentFetches = 1 }
        let still = serialQueue()
        still.isSuspended = true
        let deliveries = DeliveryLog()
        stage.pipeline.load(ImageRequest(Stage.url), on: .queue(still)) { _, result in deliveries.end(result) }
        for url in [Stage.url, "http://a.example/2"] {
            let load = form.begin(ImageRequest(url), stage.pipeline)
            #expect(await load.deliveries.ending == "4 wide")
        }
        #expect(deliveries.lines == [])
        still.isSuspended = false
        #expect(await deliveries.ending == "4 wide")
    }
}

@Suite("Contract 10 in every API form: release", .timeLimit(.minutes(10)))
struct Contract10FormsTests {
    @Test("shutdown(.cancel) stops running loads and rejects new ones with shutDown", arguments: Form.allCases)
    func shutdown(form: Form) async throws {
        let stage = try makeStage(.silent)
        let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        await stage.pipeline.shutdown(.cancel)
        #expect(await load.deliveries.ending == "shutDown")
        let late = form.begin(ImageRequest(Stage.url), stage.pipeline)
        #expect(await late.deliveries.ending == "shutDown")
        for load in [load, late] { await load.settle() }
        #expect(load.deliveries.lines == ["shutDown"] && late.deliveries.lines == ["shutDown"])
        #expect(stage.transport.liveCount == 0)
    }

    @Test("shutdown(.finish) lets an unretained running load complete", arguments: Form.allCases)
    func finishes(form: Form) async throws {
        let stage = try makeStage()
        let deliveries: DeliveryLog
        do {
            let load = form.begin(ImageRequest(Stage.url), stage.pipeline)
            deliveries = load.deliveries
            try await stage.tasks(1)
            // Releasing a loader cancels its load, so it is retained until the end.
            if form == .loader {
                stage.transport.release("all")
                _ = await deliveries.ending
                await load.settle()
            }
        }
        stage.transport.release("all")
        await stage.pipeline.shutdown(.finish)
        #expect(await deliveries.ending == "4 wide")
    }

    @Test("Cancelling a stream's reader or releasing a loader cancels its load", arguments: [Form.stream, .loader])
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
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
    }
}

@Suite("Contract 11 in every API form: limits", .timeLimit(.minutes(10)))
struct Contract11FormsTests {
    @Test("An image with too many declared pixels fails before it is decoded", arguments: Form.allCases)
    func pixels(form: Form) async throws {
        let stage = try makeStage(.ok(FakeCodec.picture(width: 10, height: 10)))
        var request = ImageRequest(Stage.url)
        request.limits.maximumPixels = 99
        let load = form.begin(request, stage.pipeline)
        #expect(await load.deliveries.ending == "tooManyPixels")
        #expect(stage.codec.decodes.count == 0)
    }

    @Test("A redirect beyond the limit fails with badRedirect", arguments: Form.allCases)
    func redirects(form: Form) async throws {
        let stage = try makeStage()
        for index in 0..<5 {
            stage.transport.serve("http://a.example/hop\(index)", .redirect(to: "/hop\(index + 1)"))
        }
        var request = ImageRequest("http://a.example/hop0")
        request.limits.maximumRedirects = 3
        let load = form.begin(request, stage.pipeline)
        #expect(await load.deliveries.ending == "badRedirect")
        #expect(stage.transport.startCount == 4)
    }

    @Test("Loads of all API forms together stay within the fetch limit")
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
        for load in loads { #expect(await load.deliveries.ending == "4 wide") }
        #expect(stage.transport.startCount == 20)
        #expect(stage.transport.maximumLiveCount == 3)
    }
}
