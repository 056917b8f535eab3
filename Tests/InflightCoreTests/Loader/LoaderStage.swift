import InflightConcurrency
import InflightTestSupport

@testable import InflightCore

/// A loader on a queue in the test's hand, over a script.
final class LoaderStage: Sendable {
    let stage: Stage
    let decodes: HandExecutor
    private let held: Guarded<ConfinedReference<ImageLoader>?>
    /// What the handler heard: the state each time.
    let log = Log()

    static let url = Stage.url
    static let other = "http://a.example/2"

    init(change: (inout ImagePipeline.Configuration) -> Void = { _ in }) throws {
        let decodes = HandExecutor()
        stage = try Stage {
            $0.decodeExecutor = decodes
            change(&$0)
        }
        self.decodes = decodes
        // Each picture as wide as the number in its URL, so that it can be told whose it is.
        stage.transport.serveOthers { request in
            .ok(FakeCodec.picture(width: UInt8(request.url.string.split(separator: "/").last ?? "") ?? 1))
        }
        held = Guarded(
            ConfinedReference(ImageLoader(pipeline: stage.pipeline, callbackQueue: stage.queue.callbackQueue)))
        onQueue { [log] in $0.onChange = { log.add($0.shown) } }
    }

    /// The loader is released on its queue, by work that waits there and holds it: until that has run.
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

    /// What `body` says on the queue, behind what waits there.
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

    func bind(_ url: String?, priority: LoadPriority = .normal) {
        onQueue { $0.request = url.map { ImageRequest($0, priority: priority) } }
    }

    var shown: String? { onQueue { $0.shown } }

    /// Brings everything to its end but the callbacks.
    func finishWork() {
        repeat { transport.finishAll() } while decodes.runAll() > 0
    }

    func finish() {
        repeat { finishWork() } while queue.runAll() > 0
    }
}

extension ImageLoader {
    /// The state in a word, with the width of the picture.
    var shown: String {
        switch state {
        case .idle: "idle"
        case .loading(let progress): progress.map { "loading \($0.receivedBytes)" } ?? "loading"
        case .loaded(let image): "loaded \(image.width)"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
