import Foundation
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Synchronization
import Testing

@Suite("Load operations", .timeLimit(.minutes(10)))
struct LoadOperationTests {
    private let transport = ScriptedTransport(.automatic)
    private let pipeline: ImagePipeline

    init() throws {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([]))
        configuration.maximumConcurrentFetches = 1000
        configuration.maximumConcurrentFetchesPerOrigin = 1000
        pipeline = try ImagePipeline(configuration: configuration)
    }

    private func makeQueue(limit: Int = OperationQueue.defaultMaxConcurrentOperationCount) -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = limit
        return queue
    }

    private func makeLoad(_ url: String) -> LoadOperation<LoadedResponse> {
        LoadOperation(response: ImageRequest(url), pipeline: pipeline)
    }

    /// Returns when all operations in the queue have finished.
    private func finish(_ queue: OperationQueue) async {
        await Bridge.wait { done in queue.addBarrierBlock { done.open() } }
    }

    private func code(_ load: LoadOperation<LoadedResponse>) -> LoadError.Code? {
        if case .failure(let error) = load.result { return error.code }
        return nil
    }

    @Test("A load operation is asynchronous, and has its result when it is finished")
    func finishes() async throws {
        transport.serveOthers(.ok(Bytes("x")))
        let load = makeLoad("http://a.example/1")
        #expect(load.isAsynchronous && load.isReady && !load.isExecuting && !load.isFinished && load.result == nil)
        let queue = makeQueue()
        queue.addOperation(load)
        await finish(queue)
        #expect(load.isFinished && !load.isExecuting && !load.isCancelled)
        #expect(try load.result?.get().body == Bytes("x"))
    }

    @Test("A load operation finishes with an error for an invalid URL and for bytes that are not an image")
    func fails() async throws {
        transport.serveOthers(.ok(Bytes("no picture")))
        let bytes = makeLoad("no URL")
        let picture = LoadOperation(image: ImageRequest("http://a.example/1"), pipeline: pipeline)
        let queue = makeQueue()
        for load in [bytes, picture] as [Operation] { queue.addOperation(load) }
        await finish(queue)
        #expect(code(bytes) == .invalidURL)
        let error = #expect(throws: LoadError.self) { try picture.result?.get() }
        #expect([.notAnImage, .unsupportedFormat].contains(error?.code))
    }

    @Test("A queue limited to two operations never executes more loads at once, and finishes all")
    func downloadManager() async throws {
        for index in 0..<20 {
            transport.serve("http://a.example/\(index)", .ok(Bytes("x")).stalled("\(index)", after: 0))
        }
        let queue = makeQueue(limit: 2)
        let loads = (0..<20).map { makeLoad("http://a.example/\($0)") }
        for load in loads { queue.addOperation(load) }
        for index in 0..<20 {
            try await transport.waitForStarts(min(20, index + 2), within: .seconds(50))
            #expect(loads.count { $0.isExecuting } <= 2)
            transport.release("\(index)")
        }
        await finish(queue)
        #expect(loads.allSatisfy { (try? $0.result?.get().body) == Bytes("x") })
    }

    @Test("A load operation blocks no thread: more execute at once than Dispatch has threads")
    func noThread() async throws {
        // Dispatch starts at most 255 threads.
        let count = 400
        transport.serveOthers(.ok(Bytes("x")).stalled("all", after: 0))
        let queue = makeQueue(limit: count)
        let loads = (0..<count).map { makeLoad("http://a.example/\($0)") }
        for load in loads { queue.addOperation(load) }
        try await transport.waitForStarts(count, within: .seconds(50))
        #expect(loads.allSatisfy { $0.isExecuting })
        transport.release("all")
        await finish(queue)
        #expect(loads.allSatisfy { $0.isFinished })
    }

    @Test("A load operation starts after its dependencies and before its dependents")
    func dependencies() async throws {
        transport.serve("http://a.example/first", .ok(Bytes("1")).stalled("first", after: 0))
        transport.serveOthers(.ok(Bytes("2")))
        let (first, second) = (makeLoad("http://a.example/first"), makeLoad("http://a.example/second"))
        second.addDependency(first)
        let seen = Guarded([Bool]())
        let last = BlockOperation { seen.withLock { $0 = [first.result != nil, second.result != nil] } }
        last.addDependency(second)
        let queue = makeQueue()
        for load in [last, second, first] as [Operation] { queue.addOperation(load) }
        try await transport.waitForStarts(1, within: .seconds(50))
        #expect(!second.isReady && !second.isExecuting)
        transport.release("first")
        await finish(queue)
        #expect(seen.withLock { $0 } == [true, true])
    }

    @Test("Cancelling an executing load operation finishes it at once and affects no other")
    func cancelled() async throws {
        transport.serveOthers(.ok(Bytes("x")).stalled("body", after: 0))
        let (load, other) = (makeLoad("http://a.example/1"), makeLoad("http://a.example/1"))
        let queue = makeQueue()
        for load in [load, other] { queue.addOperation(load) }
        try await transport.waitForStarts(1, within: .seconds(50))
        try await eventually("both to execute") { load.isExecuting && other.isExecuting }
        load.cancel()
        load.cancel()
        #expect(load.isCancelled && load.isFinished)
        #expect(code(load) == .cancelled)
        #expect(!other.isFinished)
        transport.release("body")
        await finish(queue)
        #expect(try other.result?.get().body == Bytes("x"))
        other.cancel()
        #expect(!other.isCancelled && code(other) == nil)
    }

    @Test("A load operation cancelled while queued sends nothing and finishes when its queue reaches it")
    func cancelledBefore() async throws {
        let queue = makeQueue()
        queue.isSuspended = true
        let loads = (0..<3).map { makeLoad("http://a.example/\($0)") }
        loads[2].addDependency(loads[1])
        for load in loads { queue.addOperation(load) }
        queue.cancelAllOperations()
        #expect(loads.allSatisfy { $0.isCancelled && !$0.isFinished })
        queue.isSuspended = false
        await finish(queue)
        #expect(loads.allSatisfy { $0.isFinished && code($0) == .cancelled })
        #expect(transport.startCount == 0)
        #expect(pipeline.statistics.tasksInFlight == 0)
    }

    @Test("A load operation finishes once, with one result, whenever it is cancelled")
    func race() async throws {
        transport.serveOthers(.ok(Bytes("x")))
        for round in 0..<200 {
            let load = makeLoad("http://a.example/\(round)")
            let completions = Guarded(0)
            let queue = makeQueue()
            await Bridge.wait { done in
                load.completionBlock = {
                    completions.withLock { $0 += 1 }
                    done.open()
                }
                queue.addOperation(load)
                DispatchQueue.global().async { load.cancel() }
            }
            let first = code(load)
            load.cancel()
            #expect(load.isFinished && code(load) == first)
            #expect(completions.withLock { $0 } == 1)
        }
        await pipeline.shutdown(.finish)
        #expect(pipeline.statistics.tasksInFlight == 0)
    }

    @Test("A completionBlock runs once, sees the result, and is released with its operation after it ran")
    func completionBlock() async throws {
        transport.serveOthers(.ok(Bytes("x")))
        weak var seen: LoadOperation<LoadedResponse>?
        let (told, tell) = AsyncStream.makeStream(of: Bool.self)
        let calls = Guarded(0)
        do {
            let load = makeLoad("http://a.example/1")
            seen = load
            // The block retains the operation, as such blocks do.
            load.completionBlock = {
                calls.withLock { $0 += 1 }
                tell.yield(load.result != nil && load.isFinished)
                tell.finish()
            }
            load.start()
        }
        for await isThere in told { #expect(isThere) }
        try await eventually("the operation to go") { seen == nil }
        #expect(calls.withLock { $0 } == 1)
    }

    /// Calls a closure when it is released.
    private final class Held: Sendable {
        private let release: @Sendable () -> Void

        init(release: @escaping @Sendable () -> Void) {
            self.release = release
        }

        deinit {
            release()
        }
    }

    enum Meanwhile: CaseIterable {
        case cancel
        /// As an operation queue does on Linux, whose `start()` returns while another thread finishes the operation.
        case observe
    }

    @Test(
        "A completionBlock is called before its release, even if another thread ends or observes the operation",
        arguments: Meanwhile.allCases)
    func cancelledByMany(meanwhile: Meanwhile) async throws {
        transport.serveOthers(.ok(Bytes("x")).stalled("for ever"))
        let calls = Guarded(0)
        for round in 1...1_000 {
            let load = makeLoad("http://a.example/1")
            // Foundation visits them before it calls the block, so the other thread has time to release the block.
            let dependents = (0..<50).map { _ in BlockOperation {} }
            for dependent in dependents { dependent.addDependency(load) }
            load.start()
            await Bridge.wait { done in
                let held = Held { done.open() }
                load.completionBlock = { withExtendedLifetime(held) { calls.withLock { $0 += 1 } } }
                let ready = Atomic(0)
                let begin = { @Sendable in
                    ready.add(1, ordering: .relaxed)
                    while ready.load(ordering: .relaxed) < 2 {}
                }
                let other = JoinableThread(name: "other") {
                    begin()
                    switch meanwhile {
                    case .cancel: load.cancel()
                    case .observe: repeat { load.didChangeValue(forKey: "isFinished") } while !load.isFinished
                    }
                }
                begin()
                load.cancel()
                other.join()
            }
            try #require(calls.withLock { $0 } == round)
            #expect(dependents.allSatisfy { $0.isReady })
        }
    }

    @Test("A load operation is retained from its start to its end, and no longer")
    func keptAlive() async throws {
        transport.serveOthers(.ok(Bytes("x")).stalled("body", after: 0))
        weak var seen: LoadOperation<LoadedResponse>?
        do {
            let load = makeLoad("http://a.example/1")
            seen = load
            load.start()
        }
        try await transport.waitForStarts(1, within: .seconds(50))
        #expect(seen?.isExecuting == true)
        transport.release("body")
        try await eventually("the operation to go") { seen == nil }
    }

    @Test("A load operation works without a queue, and can be waited for")
    func byHand() throws {
        transport.serveOthers(.ok(Bytes("x")))
        let load = makeLoad("http://a.example/1")
        load.start()
        load.waitUntilFinished()
        load.start()
        #expect(try load.result?.get().body == Bytes("x"))
    }

    @Test("A load operation passes on its priority, set before its start or while it executes")
    func priority() async throws {
        transport.serveOthers(.ok(Bytes("x")).stalled("body", after: 0))
        let load = makeLoad("http://a.example/1")
        load.priority = .low
        load.start()
        try await transport.wait(for: .started("http://a.example/1", .low), within: .seconds(50))
        load.priority = .high
        #expect(load.priority == .high)
        try await transport.wait(for: .prioritized("http://a.example/1", .high), within: .seconds(50))
        transport.release("body")
    }

    @Test("Starting a load operation twice, or before its dependencies have finished, traps")
    func misuse() async throws {
        let observed = [
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let transport = ScriptedTransport()
                transport.serveOthers(.ok(Bytes("x")).stalled("for ever"))
                let pipeline = try ImagePipeline(
                    configuration: .init(transports: [.shared(transport)], codecs: CodecRegistry([])))
                let load = LoadOperation(response: ImageRequest("http://a.example/1"), pipeline: pipeline)
                load.start()
                load.start()
            },
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let pipeline = try ImagePipeline(
                    configuration: .init(transports: [.shared(ScriptedTransport())], codecs: CodecRegistry([])))
                let load = LoadOperation(response: ImageRequest("http://a.example/1"), pipeline: pipeline)
                load.addDependency(BlockOperation {})
                load.start()
            },
        ]
        for (result, expected) in zip(observed, ["started twice", "started before its dependencies have finished"]) {
            let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(message.contains(expected), "\(message)")
        }
    }
}
