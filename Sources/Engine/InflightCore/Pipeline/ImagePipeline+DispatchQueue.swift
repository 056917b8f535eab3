public import Dispatch
internal import InflightConcurrency

extension ImagePipeline {
    // Disfavoured, so that `.main` stays the main queue whose closures are `@MainActor`.
    /// Loads an image, with callbacks on a dispatch queue. Equivalent to
    /// ``load(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)`` on `.queue(queue)`.
    ///
    /// Its closures are not `@MainActor`. For callbacks that access views, pass `.main`, which selects
    /// ``load(_:on:progress:preview:completion:)-(_,MainCallbackQueue,_,_,_)``, instead of `DispatchQueue.main`.
    @_disfavoredOverload
    @discardableResult
    public func load(
        _ request: ImageRequest, on queue: DispatchQueue,
        progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(request, on: CallbackQueue.queue(queue), progress: progress, preview: preview, completion: completion)
    }

    /// Loads bytes without decoding them, with callbacks on a dispatch queue. Equivalent to
    /// ``loadResponse(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)`` on `.queue(queue)`.
    @_disfavoredOverload
    @discardableResult
    public func loadResponse(
        _ request: ImageRequest, on queue: DispatchQueue,
        progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        let queue = CallbackQueue.queue(queue)
        return loadResponse(request, on: queue, progress: progress, preview: preview, completion: completion)
    }
}
