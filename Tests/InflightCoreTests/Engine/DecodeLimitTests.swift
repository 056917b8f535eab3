import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Decode limits", .timeLimit(.minutes(10)))
struct DecodeLimitTests {
    /// The estimated decode memory of the fake codec's images, in bytes.
    private static let needed = DecodeMemory.bytes(
        for: ImageInfo(format: .png, storedWidth: 4, storedHeight: 3), DecodeOptions(), perPixel: 4)

    private static func stage(
        budget: Int, _ executor: ManualExecutor, codec: FakeCodec = FakeCodec(), places: Int = 3
    ) throws -> Stage {
        let stage = try Stage(codec: codec, executor: executor) {
            $0.decodeConcurrency = places
            $0.maximumDecodeMemory = budget
        }
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        return stage
    }

    private static func load(_ number: Int, _ stage: Stage, _ log: Log) -> ImageTask {
        let url = "http://a.example/\(number)"
        let task = stage.pipeline.load(ImageRequest(url), on: stage.queue.callbackQueue) { _, result in
            switch result {
            case .success: log.add("\(number)")
            case .failure(let error): log.add("\(number) \(error.code)")
            }
        }
        stage.transport.finish(url)
        return task
    }

    @Test("Contract 11: Decodes wait for memory without blocking a thread, and run one after the other")
    func waits() throws {
        let executor = ManualExecutor()
        let log = Log()
        // During each decode, the others request memory, on this thread.
        let codec = FakeCodec(onDecode: {
            log.add("begin")
            executor.runAll()
            log.add("end")
        })
        let stage = try Self.stage(budget: Self.needed * 3 / 2, executor, codec: codec)
        for number in 1...3 { _ = Self.load(number, stage, log) }
        executor.runOne()
        #expect(stage.codec.decodes.count == 1)
        executor.runAll()
        #expect(log.lines == ["begin", "end", "begin", "end", "begin", "end"])
        stage.queue.runAll()
        #expect(stage.codec.decodes.count == 3)
        #expect(log.lines.suffix(3) == ["1", "2", "3"])
    }

    @Test("Contract 7: A raised decode goes first, whether it waits for a slot or memory", arguments: [1, 3])
    func raised(places: Int) throws {
        let executor = ManualExecutor()
        let tasks = Guarded<[ImageTask]>([])
        // While the first is decoded, the others begin to wait, and the last one is raised.
        let codec = FakeCodec(onDecode: {
            executor.runAll()
            tasks.withLock { $0 }.last?.priority = .high
        })
        let stage = try Self.stage(budget: Self.needed, executor, codec: codec, places: places)
        let log = Log()
        let loads = (1...3).map { Self.load($0, stage, log) }
        tasks.withLock { $0 = loads }
        executor.runOne()
        executor.runAll()
        stage.queue.runAll()
        #expect(log.lines == ["1", "3", "2"])
        tasks.withLock { $0 = [] }
    }

    @Test("A decode waits while another holds the memory, and a cancel ends its wait at once")
    func cancelledWhileWaiting() async throws {
        let proceed = DispatchSemaphore(value: 0)
        let codec = FakeCodec(onDecode: { proceed.wait() })
        let stage = try Stage(codec: codec) {
            $0.decodeConcurrency = 2
            $0.maximumDecodeMemory = Self.needed
        }
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let log = Log()
        _ = Self.load(1, stage, log)
        try await eventually("a decode") { codec.decodes.count > 0 }
        let second = Self.load(2, stage, log)
        try await eventually("a decode that waits") { stage.engineWaitsForMemory > 0 }
        second.cancel()
        #expect(stage.engineWaitsForMemory == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 1)
        proceed.signal()
        proceed.signal()
        // A job leaves the statistics before its tasks are delivered.
        try await stage.queue.waitForWork(within: .seconds(50))
        stage.queue.runAll()
        #expect(log.lines == ["1"])
        _ = Self.load(3, stage, log)
        try await stage.queue.waitForWork(within: .seconds(50))
        stage.queue.runAll()
        #expect(log.lines == ["1", "3"])
        #expect(codec.decodes.count == 2)
    }

    @Test("A decode that exceeds the memory budget or its own limit fails with tooMuchMemory")
    func refused() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(budget: Self.needed - 1, executor)
        let log = Log()
        _ = Self.load(1, stage, log)
        executor.runAll()
        stage.queue.runAll()
        #expect(log.lines == ["1 tooMuchMemory"])
        #expect(stage.codec.decodes.count == 0)
        let other = try Self.stage(budget: 1 << 30, executor)
        var request = ImageRequest(Stage.url)
        request.limits.maximumDecodeBytes = Self.needed - 1
        other.pipeline.load(request, on: other.queue.callbackQueue) { _, result in
            if case .failure(let error) = result { log.add("\(error.code)") }
        }
        other.transport.finish(Stage.url)
        executor.runAll()
        other.queue.runAll()
        #expect(log.lines.last == "tooMuchMemory")
        #expect(other.codec.decodes.count == 0)
    }

    @Test("A decode that exceeds its time limit fails with timedOut")
    func timedOut() throws {
        let executor = ManualExecutor()
        let clock = VirtualClock()
        let codec = FakeCodec(onDecode: { clock.advance(by: .seconds(5)) })
        let stage = try Stage(codec: codec, executor: executor) {
            $0.clock = clock
            $0.maximumDecodeTime = .seconds(5)
        }
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let log = Log()
        _ = Self.load(1, stage, log)
        executor.runAll()
        stage.queue.runAll()
        #expect(log.lines == ["1 timedOut"])
    }

    @Test("A damaged image is delivered in part only if allowed, marked incomplete and not cached")
    func incomplete() throws {
        let executor = ManualExecutor()
        let stage = try Self.stage(budget: 1 << 30, executor, codec: FakeCodec(parts: .growing, isDamaged: true))
        func load(accepts: Bool) -> Bool? {
            var request = ImageRequest(Stage.url)
            request.allowsPartialImage = accepts
            let isIncomplete = Guarded<Bool?>(nil)
            stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, result in
                isIncomplete.withLock { $0 = (try? result.get())?.isIncomplete }
            }
            stage.transport.finish(Stage.url)
            executor.runAll()
            stage.queue.runAll()
            return isIncomplete.withLock { $0 }
        }
        #expect(load(accepts: false) == nil)
        #expect(load(accepts: true) == true)
        #expect(stage.transport.startCount == 2)
        #expect(load(accepts: true) == true)
        #expect(stage.transport.startCount == 3)
        #expect(load(accepts: false) == nil)
    }
}

extension Stage {
    fileprivate var engineWaitsForMemory: Int { pipeline.engine.decodeLimits.waitingCount }
}
