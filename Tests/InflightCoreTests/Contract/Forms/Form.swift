import Dispatch
import Foundation
import Glibc
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

/// The forms in which a picture can be asked for. What a rule means in each:
///
/// | rule | callback | awaited | stream | operation | loader |
/// |---|---|---|---|---|---|
/// | 1 named queue | yes | goes on where its task does | as awaited | Foundation's `completionBlock` names none | yes |
/// | 2 never inside | yes | the call is what waits | nothing before the first event | yes | yes, but for its state |
/// | 3, 4 one ending, silence | hears nothing | `cancelled` | `cancelled`, then the end | `cancelled` | hears nothing, idle |
/// | 5 order | yes | one event alone | yes | one event alone | yes |
/// | 6, 7, 8, 11, 12 | yes | yes | yes | yes | yes |
/// | 9 its queue is cancelled | drops the callback | has no queue | has no queue | cancels the load | drops: idle |
/// | 10 let go of | goes on | goes on in its task | cancels | goes on | cancels |
enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case callback, awaited, stream, operation, loader

    var testDescription: String { rawValue }

    /// What is told of a cancel; `nil`: nothing is told.
    var toldOfCancel: String? {
        switch self {
        case .callback, .loader: nil
        case .awaited, .stream, .operation: LoadError.Code.cancelled.rawValue
        }
    }

    static let withProgress: [Form] = [.callback, .stream, .loader]

    /// Asks for a picture in this form. Begun where the form wants it: on `queue` for a loader.
    func begin(_ request: ImageRequest, _ pipeline: ImagePipeline, queue: DispatchQueue = .init(label: "callbacks"))
        -> any FormDriver
    {
        let driver: any FormDriver =
            switch self {
            case .callback: CallbackDriver(pipeline, queue)
            case .awaited: AwaitedDriver(pipeline)
            case .stream: StreamDriver(pipeline)
            case .operation: OperationDriver(pipeline)
            case .loader: LoaderDriver(pipeline, queue)
            }
        driver.heard.during { driver.begin(request) }
        return driver
    }
}

/// One load in one form.
protocol FormDriver: AnyObject, Sendable {
    var heard: Heard { get }
    func begin(_ request: ImageRequest)
    /// Leaves, in the way of this form.
    func cancel()
    /// Changes the priority; a form without a handle has only its request's.
    func setPriority(_ priority: LoadPriority)
    /// Waits until whoever stands for the caller has nothing left to do: his queue, or his task.
    func settle() async
}

/// What a caller was told, in order.
final class Heard: Sendable {
    private struct State: Sendable {
        var lines: [String] = []
        var beginning: pthread_t?
    }

    private let state = Guarded(State())
    private let ended = ValueBridge<String>()

    var lines: [String] { state.withLock { $0.lines } }

    /// The ending, when it has come.
    var ending: String {
        get async { await ended.value() }
    }

    func progress(_ progress: LoadProgress) { add("\(progress.receivedBytes)") }

    func end(_ result: Result<LoadedImage, LoadError>) {
        let line =
            switch result {
            case .success(let image): "\(image.width) wide"
            case .failure(let error): error.code.rawValue
            }
        add(line)
        ended.open(with: line)
    }

    private func add(_ line: String) {
        state.withLock { state in
            let isInside = state.beginning.map { pthread_equal($0, pthread_self()) != 0 } ?? false
            state.lines.append(isInside ? "inside the call: \(line)" : line)
        }
    }

    /// Runs the call that asks for the load.
    func during(_ call: () -> Void) {
        state.withLock { $0.beginning = pthread_self() }
        call()
        state.withLock { $0.beginning = nil }
    }
}

private final class CallbackDriver: FormDriver {
    let heard = Heard()
    private let pipeline: ImagePipeline
    private let queue: DispatchQueue
    private let task = Guarded<ImageTask?>(nil)

    init(_ pipeline: ImagePipeline, _ queue: DispatchQueue) {
        self.pipeline = pipeline
        self.queue = queue
    }

    func begin(_ request: ImageRequest) {
        let heard = heard
        let made = pipeline.load(request, on: .queue(queue)) { _, progress in
            heard.progress(progress)
        } completion: { _, result in
            heard.end(result)
        }
        task.withLock { $0 = made }
    }

    func cancel() { queue.sync { task.withLock { $0 }?.cancel() } }
    func setPriority(_ priority: LoadPriority) { task.withLock { $0 }?.priority = priority }
    func settle() async { await queue.passed() }
}

private final class AwaitedDriver: FormDriver {
    let heard = Heard()
    private let pipeline: ImagePipeline
    private let task = Guarded<Task<Void, Never>?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let (heard, pipeline) = (heard, pipeline)
        let made = Task {
            do throws(LoadError) {
                heard.end(.success(try await pipeline.image(for: request)))
            } catch {
                heard.end(.failure(error))
            }
        }
        task.withLock { $0 = made }
    }

    func cancel() { task.withLock { $0 }?.cancel() }
    func setPriority(_ priority: LoadPriority) {}
    func settle() async { await task.withLock { $0 }?.value }
}

private final class StreamDriver: FormDriver {
    let heard = Heard()
    private let pipeline: ImagePipeline
    private let handles = Guarded<(ImageTask, Task<Void, Never>)?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let heard = heard
        let events = pipeline.events(for: request)
        let task = events.task
        let reading = Task {
            for await event in events {
                switch event {
                case .progress(let progress): heard.progress(progress)
                case .preview: break
                case .stale: Issue.record("something is stale, and there is no store")
                case .success(let image): heard.end(.success(image))
                case .failure(let error): heard.end(.failure(error))
                }
            }
        }
        handles.withLock { $0 = (task, reading) }
    }

    func cancel() { handles.withLock { $0 }?.0.cancel() }
    func setPriority(_ priority: LoadPriority) { handles.withLock { $0 }?.0.priority = priority }
    func settle() async { await handles.withLock { $0 }?.1.value }
}

private final class OperationDriver: FormDriver {
    let heard = Heard()
    private let pipeline: ImagePipeline
    private let operation = Guarded<LoadOperation<LoadedImage>?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let heard = heard
        let made = LoadOperation(image: request, pipeline: pipeline)
        made.completionBlock = { if let result = made.result { heard.end(result) } }
        operation.withLock { $0 = made }
        made.start()
    }

    func cancel() { operation.withLock { $0 }?.cancel() }
    func setPriority(_ priority: LoadPriority) { operation.withLock { $0 }?.priority = priority }
    func settle() async { _ = await heard.ending }
}

private final class LoaderDriver: FormDriver {
    let heard = Heard()
    private let queue: DispatchQueue
    private let loader: ConfinedReference<ImageLoader>

    init(_ pipeline: ImagePipeline, _ queue: DispatchQueue) {
        self.queue = queue
        loader = ConfinedReference(ImageLoader(pipeline: pipeline, callbackQueue: .queue(queue)))
    }

    func begin(_ request: ImageRequest) {
        let heard = heard
        queue.sync {
            loader.object.onChange = { loader in
                switch loader.state {
                case .idle: break
                case .loading(let progress): progress.map(heard.progress)
                case .loaded(let image): heard.end(.success(image))
                case .failed(let error): heard.end(.failure(error))
                }
            }
            loader.object.request = request
            // What is in memory is there at once, and not told.
            if case .loaded(let image) = loader.object.state { queue.async { heard.end(.success(image)) } }
        }
    }

    func cancel() { queue.sync { loader.object.cancel() } }

    func setPriority(_ priority: LoadPriority) {
        queue.sync {
            var request = loader.object.request
            request?.priority = priority
            loader.object.request = request
        }
    }

    func settle() async { await queue.passed() }
}

extension DispatchQueue {
    /// Returns when what was submitted before has run.
    func passed() async {
        let bridge = Bridge()
        async { bridge.open() }
        await bridge.wait()
    }
}
