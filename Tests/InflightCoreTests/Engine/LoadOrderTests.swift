import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `ImageRequest.order`: the order of queued loads of one priority.
@Suite("Load order", .timeLimit(.minutes(10)))
struct LoadOrderTests {
    /// A stage that fetches one URL at a time, with one fetch in progress.
    private func busyStage(_ order: ImagePipeline.LoadOrder = .firstInFirstOut) throws -> Stage {
        let stage = try Stage {
            $0.maximumConcurrentFetches = 1
            $0.order = order
        }
        stage.transport.serveOthers(.ok(Bytes("x")))
        stage.load("http://a.example/busy")
        return stage
    }

    private func load(
        _ name: String, _ order: ImagePipeline.LoadOrder? = nil, on stage: Stage,
        priority: ImageRequest.Priority = .normal
    ) {
        stage.load("http://a.example/" + name, priority: priority) { $0.order = order }
    }

    /// Ends the fetches one by one, and returns the names of those that were queued, in the order of their starts.
    private func order(_ stage: Stage) -> [String] {
        while stage.transport.liveCount > 0 { stage.transport.exchanges.first?.step() }
        stage.queue.runAll()
        return stage.transport.startedURLs.dropFirst().map { String($0.dropFirst("http://a.example/".count)) }
    }

    @Test("Loads that name an order are mixed with others: the newest of them go first, then the oldest of the others")
    func mixed() throws {
        let stage = try busyStage()
        load("1", on: stage)
        load("2", .lastInFirstOut, on: stage)
        load("3", on: stage)
        load("4", .lastInFirstOut, on: stage)
        load("5", .firstInFirstOut, on: stage, priority: .high)
        #expect(order(stage) == ["5", "4", "2", "1", "3"])
    }

    @Test("A request's order precedes that of the pipeline")
    func requestsOwn() throws {
        let stage = try busyStage(.lastInFirstOut)
        load("1", on: stage)
        load("2", .firstInFirstOut, on: stage)
        load("3", on: stage)
        load("4", .firstInFirstOut, on: stage)
        #expect(order(stage) == ["3", "1", "2", "4"])
    }

    @Test("A load that joins a queued one leaves it in its place, and goes ahead if it raises its priority")
    func joins() throws {
        let stage = try busyStage()
        for name in ["1", "2", "3"] { load(name, on: stage, priority: .low) }
        load("3", .lastInFirstOut, on: stage, priority: .low)
        load("4", on: stage)
        load("2", .lastInFirstOut, on: stage)
        #expect(order(stage) == ["2", "4", "1", "3"])
    }

    @Test("Loaders load the newest first, unless the request names another order")
    func loaders() throws {
        let stage = try busyStage()
        let confined = stage.queue.callbackQueue
        let loaders = (0..<3).map { _ in
            ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: confined))
        }
        for (number, loader) in loaders.enumerated() {
            var request = ImageRequest("http://a.example/\(number)")
            if number == 2 { request.order = .firstInFirstOut }
            loader.submit { [request] in $0.request = request }
        }
        stage.queue.runAll()
        load("3", on: stage)
        #expect(order(stage) == ["1", "0", "2", "3"])
        for loader in loaders { loader.submit { $0.reset() } }
        stage.queue.runAll()
    }

    @Test("The oldest load of a flood of newer ones is raised after ten seconds, and is the next one then")
    func aging() throws {
        let stage = try busyStage()
        load("oldest", .lastInFirstOut, on: stage, priority: .high)
        for second in 1...10 {
            load("\(second)", .lastInFirstOut, on: stage, priority: .high)
            stage.clock.advance(by: .seconds(1))
        }
        #expect(order(stage).first == "oldest")
    }
}
