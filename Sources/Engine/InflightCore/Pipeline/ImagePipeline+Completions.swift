public import Dispatch
public import InflightConcurrency

// Loads in short form: of a URL, in text form or not, or of a request, with callbacks that do not get the task.

extension ImagePipeline {
    /// Loads an image, with callbacks on the main queue.
    ///
    /// Equivalent to ``load(_:on:progress:preview:completion:)-(_,MainCallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, or the body is no image, the result is a failure.
    ///   - queue: `.main`.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible, on queue: MainCallbackQueue,
        progress: (@MainActor @Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(
            request.imageRequest, on: queue, progress: progress.map(Self.ignoringTaskOnMain),
            completion: Self.ignoringTaskOnMain(completion))
    }

    /// Loads an image, with callbacks on `queue`.
    ///
    /// Equivalent to ``load(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, or the body is no image, the result is a failure.
    ///   - queue: the queue for the callbacks.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(
            request.imageRequest, on: queue, progress: progress.map(Self.ignoringTask),
            completion: Self.ignoringTask(completion))
    }

    /// Loads an image, with callbacks on a dispatch queue.
    ///
    /// Equivalent to ``load(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, or the body is no image, the result is a failure.
    ///   - queue: the queue for the callbacks.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @_disfavoredOverload
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible, on queue: DispatchQueue,
        progress: (@Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(
            request.imageRequest, on: CallbackQueue.queue(queue), progress: progress.map(Self.ignoringTask),
            completion: Self.ignoringTask(completion))
    }

    /// Loads bytes without decoding them, with callbacks on the main queue.
    ///
    /// Equivalent to ``loadResponse(_:on:progress:preview:completion:)-(_,MainCallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, the result is a failure.
    ///   - queue: `.main`.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func loadResponse(
        _ request: some ImageRequestConvertible, on queue: MainCallbackQueue,
        progress: (@MainActor @Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        loadResponse(
            request.imageRequest, on: queue, progress: progress.map(Self.ignoringTaskOnMain),
            completion: Self.ignoringTaskOnMain(completion))
    }

    /// Loads bytes without decoding them, with callbacks on `queue`.
    ///
    /// Equivalent to ``loadResponse(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, the result is a failure.
    ///   - queue: the queue for the callbacks.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func loadResponse(
        _ request: some ImageRequestConvertible, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        loadResponse(
            request.imageRequest, on: queue, progress: progress.map(Self.ignoringTask),
            completion: Self.ignoringTask(completion))
    }

    /// Loads bytes without decoding them, with callbacks on a dispatch queue.
    ///
    /// Equivalent to ``loadResponse(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``
    /// without `preview`, with callbacks that do not get the task.
    ///
    /// - Parameters:
    ///   - request: the request, or its URL. If the URL is malformed, the result is a failure.
    ///   - queue: the queue for the callbacks.
    ///   - progress: called with the progress of the fetch, at most every 16 ms.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @_disfavoredOverload
    @discardableResult
    public func loadResponse(
        _ request: some ImageRequestConvertible, on queue: DispatchQueue,
        progress: (@Sendable (ImageTask.Progress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        loadResponse(
            request.imageRequest, on: CallbackQueue.queue(queue), progress: progress.map(Self.ignoringTask),
            completion: Self.ignoringTask(completion))
    }

    private static func ignoringTask<Value: Sendable>(
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> @Sendable (ImageTask, Value) -> Void {
        { _, value in callback(value) }
    }

    private static func ignoringTaskOnMain<Value: Sendable>(
        _ callback: @escaping @MainActor @Sendable (Value) -> Void
    ) -> @MainActor @Sendable (ImageTask, Value) -> Void {
        { _, value in callback(value) }
    }
}
