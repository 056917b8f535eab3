import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A loader on a queue that the test controls, with a scripted transport.
final class LoaderStage: Sendable {
    let stage: Stage
    let decodes: ManualExecutor
    private let held: Guarded<ConfinedReference<ImageLoader>?>
    /// The state at each call of the handler.
    let log = Log()

    static let url = Stage.url
    static let other = "http://a.example/2"

    init(change: (inout ImagePipeline.Configuration) -> Void = { _ in }) throws {
        let decodes = ManualExecutor()
        stage = try Stage {
            $0.decodeExecutor = decodes
            change(&$0)
        }
        self.decodes = decodes
        // Each image is as wide as the number in its URL, which identifies it.
        stage.transport.serveOthers { request in
            .ok(FakeCodec.picture(width: UInt8(request.url.string.split(separator: "/").last ?? "") ?? 1))
        }
        held = Guarded(
            ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: stage.queue.callbackQueue)))
        onQueue { [log] in $0.onChange = { log.add($0.shown) } }
    }

    /// Runs the queue until the pending work that retains the loader has released it there.
    deinit {
        var loader = held.withLock { $0.take() }
        withExtendedLifetime(loader) {}
        loader = nil
        while queue.count > 0 { queue.runAll() }
    }

    var loader: ConfinedReference<ImageLoader> {
        guard let loader = held.withLock({ $0 }) else { preconditionFailure("the stage is over") }
        return loader
    }

    var transport: ScriptedTransport { stage.transport }
    var queue: ManualQueue { stage.queue }

    /// Runs `body` on the queue, behind the pending work, and returns its result.
    @discardableResult
    func onQueue<Answer: Sendable>(_ body: @escaping @Sendable (ImageLoader) -> Answer) -> Answer? {
        let answer = Guarded<Answer?>(nil)
        loader.submit { loader in
            let given = body(loader)
            answer.withLock { $0 = given }
        }
        queue.runAll()
        return answer.withLock { $0 }
    }

    func bind(_ url: String?, priority: ImageRequest.Priority = .normal) {
        onQueue { $0.request = url.map { ImageRequest($0, priority: priority) } }
    }

    var shown: String? { onQueue { $0.shown } }

    /// Finishes all work except the callbacks.
    func finishWork() {
        repeat { transport.finishAll() } while decodes.runAll() > 0
    }

    func finish() {
        repeat { finishWork() } while queue.runAll() > 0
    }
}

extension ImageLoader {
    /// The state in a word, with the width of the image.
    var shown: String {
        switch state {
        case .idle: "idle"
        case .loading(let progress): progress.map { "loading \($0.receivedBytes)" } ?? "loading"
        case .loaded(let image): "loaded \(image.width)"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
