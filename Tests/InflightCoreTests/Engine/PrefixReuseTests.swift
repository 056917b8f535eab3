import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Reuse of cached processor prefixes", .timeLimit(.minutes(10)))
struct PrefixReuseTests {
    private static let fresh = ("Cache-Control", "max-age=60")

    private func serve(_ stage: StoreStage) {
        stage.serve(
            StoreStage.url, .ok(FakeCodec.picture(width: 16, height: 8), fields: StoreStage.fields([Self.fresh])))
    }

    private func image(
        _ stage: StoreStage, _ processors: [FakeProcessor], _ form: ImageRequest.StoredRepresentation = .original
    ) async throws -> LoadedImage {
        try await stage.image {
            $0.processors = processors.map { ImageProcessor($0) }
            $0.storedRepresentation = form
        }
    }

    @Test("A cached prefix in memory is processed further without a fetch or a decode")
    func memoryPrefix() async throws {
        let stage = try StoreStage { $0.store = nil }
        serve(stage)
        let (first, second, third) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"), FakeProcessor(name: "c"))
        _ = try await image(stage, [first])
        let longer = try await image(stage, [first, second])
        #expect(longer.source == .memory)
        // The longest cached prefix is used, and the new result is cached for the next request.
        _ = try await image(stage, [first, second, third])
        _ = try await image(stage, [first, second, third])
        #expect([first, second, third].map(\.runs.count) == [1, 1, 1])
        #expect(stage.sent.count == 1)
        #expect(stage.codec.decodes.count == 1)
        await stage.end()
    }

    @Test("Processors start from a decoded image in memory, but not from another size or other processors")
    func emptyPrefix() async throws {
        let stage = try StoreStage { $0.store = nil }
        serve(stage)
        _ = try await image(stage, [])
        let (first, second) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"))
        #expect(try await image(stage, [second]).source == .memory)
        #expect(try await image(stage, [first, second]).source == .memory)
        #expect((first.runs.count, second.runs.count) == (1, 2))
        #expect(stage.codec.decodes.count == 1)
        #expect(try await stage.image { $0.resize = Resize(width: 3, height: 3) }.source == .network)
        await stage.end()
    }

    @Test("A cached prefix on disk is processed further, and the result is stored, too")
    func diskPrefix() async throws {
        let stage = try StoreStage {
            $0.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        }
        serve(stage)
        let (first, second, third) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"), FakeProcessor(name: "c"))
        _ = try await image(stage, [first], .processed)
        #expect(try await image(stage, [first, second, third], .processed).source == .disk)
        #expect(try await image(stage, [first, second, third], .processed).source == .disk)
        #expect([first, second, third].map(\.runs.count) == [1, 1, 1])
        #expect(stage.sent.count == 1)
        #expect(stage.store.entries.count == 2)
        await stage.end()
    }

    @Test("A prefix with a lossy encoding on disk is not processed further") func lossyPrefix() async throws {
        let stage = try StoreStage {
            $0.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        }
        serve(stage)
        let form = ImageRequest.StoredRepresentation.processed(EncodeOptions(format: .jpeg))
        let (first, second) = (FakeProcessor(name: "a"), FakeProcessor(name: "b"))
        _ = try await image(stage, [first], form)
        #expect(try await image(stage, [first, second], form).source == .network)
        await stage.end()
    }

    @Test("Two requests that differ in their last processor use the same prefix on disk")
    func commonPrefix() async throws {
        let stage = try StoreStage {
            $0.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        }
        serve(stage)
        let first = FakeProcessor(name: "a")
        _ = try await image(stage, [first], .processed)
        async let one = image(stage, [first, FakeProcessor(name: "b")], .processed)
        async let other = image(stage, [first, FakeProcessor(name: "c")], .processed)
        #expect(try await [one.source, other.source].allSatisfy { $0 == .disk || $0 == .shared })
        #expect(first.runs.count == 1)
        await stage.end()
    }

    @Test("A processed image in memory is served without a store lookup") func memoryBeforeDisk() async throws {
        let executor = CountingExecutor()
        let store = MemoryStore(executor: executor)
        let stage = try StoreStage { $0.store = .shared(store) }
        serve(stage)
        let first = FakeProcessor(name: "a")
        _ = try await image(stage, [first], .processed)
        #expect(store.entries.count == 1)
        let calls = executor.calls.withLock { $0 }
        #expect(try await image(stage, [first], .processed).source == .memory)
        #expect(executor.calls.withLock { $0 } == calls)
        await stage.end()
        await store.shutdown()
    }

    @Test("A coalesced decode is stored only under the key of the subscriber that stores it")
    func coalescedDecode() async throws {
        let stage = try StoreStage {
            $0.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        }
        stage.transport.serve(
            StoreStage.url,
            .ok(FakeCodec.picture(width: 16, height: 8), fields: StoreStage.fields([Self.fresh])).stalled("head"))
        let first = FakeProcessor(name: "a", onProcess: { _ in FakeCodec.pixels(width: 5, height: 5) })
        let request = ImageRequest(StoreStage.url)
        var (processed, plain) = (request, request)
        (processed.processors, plain.storedRepresentation) = ([ImageProcessor(first)], .processed)
        let ended = [Promise<Bool>(), Promise<Bool>()]
        let queue = CallbackQueue.queue(DispatchQueue(label: "test"))
        stage.pipeline.load(processed, on: queue) { _, _ in ended[0].set(true) }
        stage.pipeline.load(plain, on: queue) { _, _ in ended[1].set(true) }
        stage.transport.release("head")
        for one in ended { _ = try await one.value }
        await stage.settled()
        // Reads it from the store, as a new process would.
        processed.storedRepresentation = .processed
        #expect(try await stage.pipeline.image(for: processed).width == 5)
        await stage.end()
    }
}

/// Counts the calls of a store.
private final class CountingExecutor: WorkExecutor {
    let calls = Guarded(0)
    private let threads = WorkerThreads(count: 1, name: "store")

    func run(_ work: @escaping @Sendable () -> Void) {
        calls.withLock { $0 += 1 }
        threads.run(work)
    }
}
