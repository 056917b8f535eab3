public import Foundation
internal import InflightConcurrency
public import InflightCore

/// A load as an operation. An `OperationQueue` with a limit becomes a download manager.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 2
/// let loads = urls.map { LoadOperation(image: ImageRequest($0), pipeline: pipeline) }
/// for load in loads { queue.addOperation(load) }
/// queue.addBarrierBlock { for load in loads { print(load.result as Any) } }
/// ```
///
/// It is asynchronous and blocks no thread: while it loads, its queue counts it as executing.
/// Dependencies, `cancel()`, `isFinished`, `completionBlock` and the queue behave as Foundation documents:
///
/// - Thread: may be created, added, read and cancelled on any thread. `completionBlock` runs where Foundation runs it.
/// - Order: started by its queue when its dependencies have finished, or by `start()`. ``result`` is set before
///   `isFinished` is true, so a dependent operation and `completionBlock` find it.
/// - Cancellation: `cancel()` while it executes cancels the task in the engine (as ``ImageTask/cancel()``, without
///   effect on other subscribers) and finishes it at once. Before its start it must still be started, as queues do, and
///   then finishes without a request. Its ``result`` is a failure with ``LoadError/Code/cancelled``. After the end it
///   changes nothing.
/// - Release: retained from its start to its end. `completionBlock` is released when it runs.
/// - Cost: a task of the engine, and the cost of `OperationQueue`.
/// - Errors: in ``result``. A request that cannot be loaded makes an operation that finishes with the reason.
public final class LoadOperation<Output: Sendable>: Operation, @unchecked Sendable {
    // Unchecked: all mutable state is inside `state`.

    typealias Completion = @Sendable (ImageTask, Result<Output, LoadError>) -> Void

    private enum Phase {
        case pending, executing, finished
    }

    private struct State: Sendable {
        var phase = Phase.pending
        var priority: ImageRequest.Priority
        var task: ImageTask?
        var result: Result<Output, LoadError>?
    }

    /// The queue of the engine's callbacks. No code of the caller runs there.
    private static var queue: CallbackQueue { .queue(LoadOperationQueue.queue) }

    /// The request with which the operation was created. Its priority is only the initial ``priority``.
    public let request: ImageRequest
    private let load: @Sendable (ImageRequest, CallbackQueue, @escaping Completion) -> ImageTask
    private let state: Guarded<State>
    private let completion = Guarded<(@Sendable () -> Void)?>(nil)

    init(
        _ request: ImageRequest,
        load: @escaping @Sendable (ImageRequest, CallbackQueue, @escaping Completion) -> ImageTask
    ) {
        self.request = request
        self.load = load
        state = Guarded(State(priority: request.priority))
        super.init()
    }

    /// The result; nil until the operation has finished. A cancelled operation has a failure with
    /// ``LoadError/Code/cancelled``.
    public var result: Result<Output, LoadError>? { state.withLock { $0.result } }

    /// The priority of the task in the engine, which may be changed before the start and while the operation executes.
    /// Its place in the queue is `queuePriority`.
    public var priority: ImageRequest.Priority {
        get { state.withLock { $0.priority } }
        set {
            let task = state.withLock { state in
                state.priority = newValue
                return state.task
            }
            task?.priority = newValue
        }
    }

    /// Always true: the operation finishes some time after `start()` has returned.
    override public var isAsynchronous: Bool { true }
    /// Whether the operation was started and has not finished.
    override public var isExecuting: Bool { state.withLock { $0.phase == .executing } }
    /// Whether the operation has finished: with success, with a failure, or as cancelled. If so, ``result`` is set.
    override public var isFinished: Bool { state.withLock { $0.phase == .finished } }

    // Foundation on Linux retains the completion block for ever, with its captures. It submits the block on the
    // thread that first sees the operation finished, so no later moment is safe for removing it. Therefore
    // Foundation gets a block that takes the caller's block out when it runs.
    /// The block that runs once after the operation has finished. It is released when it runs.
    override public var completionBlock: (@Sendable () -> Void)? {
        get { completion.withLock { $0 } }
        set {
            completion.withLock { $0 = newValue }
            guard newValue != nil else { return super.completionBlock = nil }
            super.completionBlock = { [completion] in completion.withLock { $0.take() }?() }
        }
    }

    /// Starts the load. Called by the queue. Call it only for an operation that is in no queue.
    ///
    /// - Precondition: it is ready, and was not started before. Traps otherwise, as Foundation's operations do.
    override public func start() {
        if isFinished { return }
        guard isReady else { fatalError("\(self): started before its dependencies have finished") }
        if isCancelled { return finish(with: .failure(cancelled), from: .pending) }
        willChangeValue(forKey: "isExecuting")
        let (wasPending, priority) = state.withLock { state in
            defer { if state.phase == .pending { state.phase = .executing } }
            return (state.phase == .pending, state.priority)
        }
        guard wasPending else { fatalError("\(self): started twice") }
        didChangeValue(forKey: "isExecuting")

        var request = request
        request.priority = priority
        let task = load(request, Self.queue) { _, result in self.finish(with: result, from: .executing) }
        let isWanted = state.withLock { state in
            if state.phase == .executing { state.task = task }
            return state.phase == .executing
        }
        // A cancel before the task was set could not cancel the task.
        if !isWanted { task.cancel() } else if isCancelled { stop() }
    }

    /// Cancels the operation. Any thread; idempotent; no effect after the end.
    ///
    /// While it executes, this cancels the task in the engine, without effect on other subscribers, and finishes the
    /// operation at once. Before its start, it finishes when it is started, without a request.
    override public func cancel() {
        super.cancel()
        stop()
    }

    private func stop() {
        let task = state.withLock { $0.task }
        task?.cancel()
        finish(with: .failure(cancelled), from: .executing)
    }

    /// - Parameter phase: the phase that this call ends. In any other phase, the call has no effect.
    private func finish(with result: Result<Output, LoadError>, from phase: Phase) {
        willChangeValue(forKey: "isExecuting")
        willChangeValue(forKey: "isFinished")
        let task = state.withLock { state -> ImageTask? in
            guard state.phase == phase else { return nil }
            state.phase = .finished
            state.result = result
            return state.task.take()
        }
        didChangeValue(forKey: "isExecuting")
        // Sent even if nothing has changed, because each `willChange` needs its `didChange`.
        didChangeValue(forKey: "isFinished")
        withExtendedLifetime(task) {}
    }

    private var cancelled: LoadError {
        LoadError(
            .cancelled, stage: .request, url: (try? ResourceURL(request.url))?.string,
            message: "The operation was cancelled.")
    }
}

private enum LoadOperationQueue {
    static let queue = DispatchQueue(label: "inflight.operations")
}

extension LoadOperation where Output == LoadedImage {
    /// Creates an operation that loads an image, as ``ImagePipeline/image(for:)-(ImageRequest)``.
    ///
    /// - Parameters:
    ///   - request: the request. Its priority is that of the task in the engine.
    ///   - pipeline: the pipeline, which the operation retains.
    public convenience init(image request: ImageRequest, pipeline: ImagePipeline) {
        self.init(request) { request, queue, completion in
            pipeline.load(request, on: queue, completion: completion)
        }
    }
}

extension LoadOperation where Output == LoadedResponse {
    /// Creates an operation that loads bytes without decoding them, as ``ImagePipeline/data(for:)-(ImageRequest)``.
    ///
    /// - Parameters:
    ///   - request: the request. Its priority is that of the task in the engine.
    ///   - pipeline: the pipeline, which the operation retains.
    public convenience init(response request: ImageRequest, pipeline: ImagePipeline) {
        self.init(request) { request, queue, completion in
            pipeline.loadResponse(request, on: queue, completion: completion)
        }
    }
}
