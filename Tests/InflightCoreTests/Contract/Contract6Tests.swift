import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 6: no lock held during caller code", .timeLimit(.minutes(10)))
struct Contract6Tests {
    @Test("Callbacks may call into the task and the pipeline")
    func callbacks() throws {
        let stage = try Stage()
        stage.transport.serveOthers(.ok(Bytes("body"), chunks: [2]))
        let log = Log()
        let other = stage.load("http://a.example/other", log: log, name: "other")
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            task.priority = .high
            other.priority = .low
            _ = stage.pipeline.cache[task.request]
            _ = stage.pipeline.statistics
        } completion: { task, result in
            log.add("end: \(result.shown)")
            task.priority = .veryLow
            stage.load("http://a.example/next", log: log, name: "next")
            other.cancel()
        }
        stage.transport.finish(Stage.url)
        stage.queue.runAll()
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["end: body", "next: body"])
        #expect(other.isCancelled)
    }

    @Test("Processors may call into the pipeline while they run and while their identity is computed")
    func processors() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let pipeline = stage.pipeline
        let callIn: @Sendable () -> Void = {
            _ = pipeline.statistics
            _ = pipeline.cache[ImageRequest(Stage.url)]
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
        #expect(try await pipeline.image(for: request).width == 4)
    }

    @Test("No lock is held while a cancel, the ending or a dropping queue releases closures")
    func releases() throws {
        for way in ["cancel", "end", "drop"] {
            let stage = try Stage()
            stage.transport.serve(Stage.url, .ok(Bytes("x")))
            let box = Guarded<ImageTask?>(nil)
            let released = Counter()
            let pipeline = stage.pipeline
            let captured = Captured {
                released.add()
                // Takes the locks of the task and the engine, so it would deadlock if either were held.
                box.withLock { $0 }?.cancel()
                _ = pipeline.statistics
                pipeline.loadResponse(ImageRequest("no URL"), on: .queue(.global())) { _, _ in }
            }
            let task = Self.load(stage, holding: consume captured)
            box.withLock { $0 = task }
            switch way {
            case "cancel": task.cancel()
            case "end":
                stage.transport.finish(Stage.url)
                stage.queue.runAll()
            default:
                stage.transport.finish(Stage.url)
                stage.queue.dropAll()
            }
            #expect(released.count == 1, "\(way)")
            #expect(task.isCancelled == (way == "cancel"))
        }
    }

    private static func load(_ stage: Stage, holding captured: consuming Captured) -> ImageTask {
        let captured = captured
        return stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { _, _ in
            captured.touch()
        }
    }

    @Test("No lock is held while a dropped ending releases memory that a processor allocated")
    func pixels() async throws {
        let stage = try Stage(.automatic) { $0.memoryCache.limit = 0 }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let box = Guarded<ImageTask?>(nil)
        let released = Promise<Bool>()
        let gate = DispatchSemaphore(value: 0)
        var request = ImageRequest(Stage.url)
        request.processors = [
            FakeProcessor(
                name: "own memory",
                onProcess: { pixels in
                    gate.wait()
                    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 48, alignment: 16)
                    unsafe memory.initializeMemory(as: UInt8.self, repeating: 1)
                    let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(memory)) { memory in
                        unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
                        // Takes the task's lock, so it would deadlock if the lock were held.
                        released.set(box.withLock { $0 }?.isCancelled == false)
                    }
                    return PixelBuffer(width: 4, height: 3, bytesPerRow: 16, format: .rgbx, bytes: bytes)
                })
        ].map { ImageProcessor($0) }
        let task = stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, _ in }
        box.withLock { $0 = task }
        gate.signal()
        try await stage.queue.waitForWork(within: .seconds(50))
        stage.queue.dropAll()
        #expect(try await released.value)
        // Breaks a cycle: the task's request retains the box, and the box the task.
        _ = box.withLock { $0.take() }
    }
}
