import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Image loader: release", .timeLimit(.minutes(10)))
struct ImageLoaderReleaseTests {
    /// Makes a loader on the stage's queue that loads the stage's URL and whose handler logs its release.
    ///
    /// - Parameter told: called by the handler.
    private func makeLoader(
        _ stage: Stage, log: Log, told: @escaping @Sendable (ImageLoader) -> Void = { _ in }
    ) -> Kept {
        let (queue, kept) = (stage.queue, Kept())
        queue.submit {
            let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: queue.callbackQueue)
            let captured = Captured { log.add("released, current: \(queue.isCurrent)") }
            loader.onChange = { loader in
                captured.touch()
                told(loader)
            }
            loader.request = ImageRequest(Stage.url)
            kept.keep(loader)
        }
        queue.runAll()
        return kept
    }

    private func releaseElsewhere(_ kept: Kept) async {
        await Bridge.wait { done in
            DispatchQueue.global().async {
                kept.release()
                done.open()
            }
        }
    }

    @Test("Releasing a loader on its queue cancels the task and releases the handler inside the call")
    func onItsQueue() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let log = Log()
        let kept = makeLoader(stage, log: log) { _ in log.add("told") }
        stage.queue.submit {
            kept.release()
            log.add("let go of")
        }
        stage.queue.runAll()
        #expect(stage.transport.cancelledURLs == [Stage.url])
        #expect(log.lines == ["released, current: true", "let go of"])
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.count == 2)
    }

    @Test("Releasing a loader on another thread cancels the task and releases the handler on its queue")
    func elsewhere() async throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let log = Log()
        await releaseElsewhere(makeLoader(stage, log: log))
        #expect(stage.transport.cancelledURLs == [Stage.url])
        #expect(log.lines == [])
        stage.queue.runAll()
        #expect(log.lines == ["released, current: true"])
    }

    @Test("A loader released elsewhere does not deliver a result pending on its queue")
    func answerWaiting() async throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .failure(.cannotConnect))
        let log = Log()
        let kept = makeLoader(stage, log: log) { _ in log.add("told") }
        stage.transport.finishAll()
        #expect(stage.queue.count > 0)
        await releaseElsewhere(kept)
        #expect(log.lines == [])
        stage.queue.runAll()
        #expect(log.lines == ["released, current: true"])
    }

    @Test("A loader may be released inside its own handler")
    func inItsHandler() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .failure(.cannotConnect))
        let log = Log()
        let own = Guarded<Kept?>(nil)
        let kept = makeLoader(stage, log: log) { loader in
            own.withLock { $0 }?.release()
            log.add(loader.shown)
        }
        own.withLock { $0 = kept }
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["failed cannotConnect", "released, current: true"])
    }

    @Test("Releasing a loader does not cancel the fetch of another task")
    func sharing() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        stage.load(log: log)
        let queue = stage.queue
        queue.submit {
            let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: queue.callbackQueue)
            loader.request = ImageRequest(Stage.url)
        }
        queue.runAll()
        #expect(stage.transport.cancelledURLs == [])
        stage.transport.finishAll()
        queue.runAll()
        #expect(log.lines == ["end: x"])
    }

    @Test("Replacing or clearing a handler releases it inside the call, and the next event calls the new one")
    func replacedHandler() throws {
        let stage = try LoaderStage()
        let log = Log()
        stage.onQueue { loader in
            let first = Captured { log.add("first released") }
            loader.onChange = { _ in
                first.touch()
                log.add("first")
            }
        }
        stage.bind(LoaderStage.url)
        stage.onQueue { loader in
            let second = Captured { log.add("second released") }
            log.add("replacing")
            loader.onChange = { loader in
                second.touch()
                log.add("second: \(loader.shown)")
                loader.onChange = nil
                log.add("cleared")
            }
            log.add("replaced")
        }
        stage.finish()
        #expect(
            log.lines == [
                "replacing", "first released", "replaced", "second: loading 10", "cleared", "second released",
            ])
        #expect(stage.shown == "loaded 1")
    }

    @Test("Hundreds of loaders on real queues release their handlers only on their queue")
    func realQueues() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let queue = DispatchQueue(label: "app.cells")
        let here = CallbackQueue.queue(queue)
        let (elsewhere, released) = (Counter(), Counter())
        let count = 500
        let all = Promise<Bool>()
        for index in 0..<count {
            let kept = Kept()
            queue.async {
                let captured = Captured {
                    if !here.isCurrent { elsewhere.add() }
                    released.add()
                    if released.count == count { all.set(true) }
                }
                let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: here)
                loader.onChange = { _ in captured.touch() }
                loader.request = ImageRequest("http://a.example/\(index % 7)")
                kept.keep(loader)
                let end: @Sendable () -> Void = { kept.release() }
                if index.isMultiple(of: 2) {
                    queue.async(execute: end)
                } else {
                    DispatchQueue.global().async(execute: end)
                }
            }
        }
        _ = try await all.value
        #expect(elsewhere.count == 0)
        await stage.pipeline.shutdown(.finish)
        #expect(stage.pipeline.statistics.tasksInFlight == 0)
    }
}

/// Holds a loader for a test that releases it elsewhere.
// Unchecked: the loader is only held here, under a lock, and never accessed.
private final class Kept: @unchecked Sendable {
    private let lock = Lock()
    private var loader: ImageLoader?

    func keep(_ loader: ImageLoader) {
        lock.withLock { self.loader = loader }
    }

    func release() {
        // The loader is released after the lock.
        let loader = lock.withLock { self.loader.take() }
        _ = loader
    }
}
