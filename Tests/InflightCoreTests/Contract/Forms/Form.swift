import Dispatch
import Foundation
import Glibc
import InflightConcurrency
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

/// The API forms in which an image can be requested, and the meaning of each rule in each form:
///
/// | rule | callback | awaited | stream | operation | loader |
/// |---|---|---|---|---|---|
/// | 1 named queue | yes | resumes in its task | as awaited | `completionBlock` runs on no named queue | yes |
/// | 2 never inside | yes | the call itself waits | nothing before the first event | yes | yes, except its state |
/// | 3, 4 one ending, silence | no callback | `cancelled` | `cancelled`, then end | `cancelled` | no callback, idle |
/// | 5 order | yes | only one event | yes | only one event | yes |
/// | 6, 7, 8, 11, 12 | yes | yes | yes | yes | yes |
/// | 9 queue is cancelled | drops the callback | has no queue | has no queue | cancels the load | drops it, idle |
/// | 10 released | continues | continues in its task | cancels | continues | cancels |
enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case callback, awaited, stream, operation, loader

    var testDescription: String { rawValue }

    /// The code that reports a cancel; nil if a cancel is silent.
    var toldOfCancel: String? {
        switch self {
        case .callback, .loader: nil
        case .awaited, .stream, .operation: LoadError.Code.cancelled.rawValue
        }
    }

    static let withProgress: [Form] = [.callback, .stream, .loader]

    /// Requests an image in this form. A loader does so on `queue`.
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
        driver.deliveries.during { driver.begin(request) }
        return driver
    }
}

/// One load in one form.
protocol FormDriver: AnyObject, Sendable {
    var deliveries: DeliveryLog { get }
    func begin(_ request: ImageRequest)
    /// Cancels the load by the means of this form.
    func cancel()
    /// Changes the priority. It has no effect in a form without a handle.
    func setPriority(_ priority: ImageRequest.Priority)
    /// Waits until the caller's queue or task has no work left.
    func settle() async
}

/// The events delivered to a caller, in order.
final class DeliveryLog: Sendable {
    private struct State: Sendable {
        var lines: [String] = []
        var beginning: pthread_t?
    }

    private let state = Guarded(State())
    private let ended = ValueBridge<String>()

    var lines: [String] { state.withLock { $0.lines } }

    /// The ending, once it is delivered.
    var ending: String {
        get async { await ended.value() }
    }

    func progress(_ progress: ImageTask.Progress) { add("\(progress.receivedBytes)") }

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

    /// Runs the call that starts the load.
    func during(_ call: () -> Void) {
        state.withLock { $0.beginning = pthread_self() }
        call()
        state.withLock { $0.beginning = nil }
    }
}

private final class CallbackDriver: FormDriver {
    let deliveries = DeliveryLog()
    private let pipeline: ImagePipeline
    private let queue: DispatchQueue
    private let task = Guarded<ImageTask?>(nil)

    init(_ pipeline: ImagePipeline, _ queue: DispatchQueue) {
        self.pipeline = pipeline
        self.queue = queue
    }

    func begin(_ request: ImageRequest) {
        let deliveries = deliveries
        let made = pipeline.load(request, on: .queue(queue)) { _, progress in
            deliveries.progress(progress)
        } completion: { _, result in
            deliveries.end(result)
        }
        task.withLock { $0 = made }
    }

    func cancel() { queue.sync { task.withLock { $0 }?.cancel() } }
    func setPriority(_ priority: ImageRequest.Priority) { task.withLock { $0 }?.priority = priority }
    func settle() async { await queue.passed() }
}

private final class AwaitedDriver: FormDriver {
    let deliveries = DeliveryLog()
    private let pipeline: ImagePipeline
    private let task = Guarded<Task<Void, Never>?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let (deliveries, pipeline) = (deliveries, pipeline)
        let made = Task {
            do throws(LoadError) {
                deliveries.end(.success(try await pipeline.image(for: request)))
            } catch {
                deliveries.end(.failure(error))
            }
        }
        task.withLock { $0 = made }
    }

    func cancel() { task.withLock { $0 }?.cancel() }
    func setPriority(_ priority: ImageRequest.Priority) {}
    func settle() async { await task.withLock { $0 }?.value }
}

private final class StreamDriver: FormDriver {
    let deliveries = DeliveryLog()
    private let pipeline: ImagePipeline
    private let handles = Guarded<(ImageTask, Task<Void, Never>)?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let deliveries = deliveries
        let events = pipeline.events(for: request)
        let task = events.task
        let reading = Task {
            for await event in events {
                switch event {
                case .progress(let progress): deliveries.progress(progress)
                case .preview: break
                case .stale: Issue.record("something is stale, and there is no store")
                case .success(let image): deliveries.end(.success(image))
                case .failure(let error): deliveries.end(.failure(error))
                }
            }
        }
        handles.withLock { $0 = (task, reading) }
    }

    func cancel() { handles.withLock { $0 }?.0.cancel() }
    func setPriority(_ priority: ImageRequest.Priority) { handles.withLock { $0 }?.0.priority = priority }
    func settle() async { await handles.withLock { $0 }?.1.value }
}

private final class OperationDriver: FormDriver {
    let deliveries = DeliveryLog()
    private let pipeline: ImagePipeline
    private let operation = Guarded<LoadOperation<LoadedImage>?>(nil)

    init(_ pipeline: ImagePipeline) {
        self.pipeline = pipeline
    }

    func begin(_ request: ImageRequest) {
        let deliveries = deliveries
        let made = LoadOperation(image: request, pipeline: pipeline)
        made.completionBlock = { if let result = made.result { deliveries.end(result) } }
        operation.withLock { $0 = made }
        made.start()
    }

    func cancel() { operation.withLock { $0 }?.cancel() }
    func setPriority(_ priority: ImageRequest.Priority) { operation.withLock { $0 }?.priority = priority }
    func settle() async { _ = await deliveries.ending }
}

private final class LoaderDriver: FormDriver {
    let deliveries = DeliveryLog()
    private let queue: DispatchQueue
    private let loader: ConfinedReference<ImageLoader>

    init(_ pipeline: ImagePipeline, _ queue: DispatchQueue) {
        self.queue = queue
        loader = ConfinedReference(ImageLoader(pipeline: pipeline, callbackQueue: .queue(queue)))
    }

    func begin(_ request: ImageRequest) {
        let deliveries = deliveries
        queue.sync {
            loader.object.onChange = { loader in
                switch loader.state {
                case .idle: break
                case .loading(let progress): progress.map(deliveries.progress)
                case .loaded(let image): deliveries.end(.success(image))
                case .failed(let error): deliveries.end(.failure(error))
                }
            }
            loader.object.request = request
            // A memory hit sets the state at once, without a callback.
            if case .loaded(let image) = loader.object.state { queue.async { deliveries.end(.success(image)) } }
        }
    }

    func cancel() { queue.sync { loader.object.cancel() } }

    func setPriority(_ priority: ImageRequest.Priority) {
        queue.sync {
            var request = loader.object.request
            request?.priority = priority
            loader.object.request = request
        }
    }

    func settle() async { await queue.passed() }
}

extension DispatchQueue {
    /// Returns after everything submitted before has run.
    func passed() async {
        let bridge = Bridge()
        async { bridge.open() }
        await bridge.wait()
    }
}
