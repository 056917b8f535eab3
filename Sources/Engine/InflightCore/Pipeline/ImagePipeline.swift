public import FoundationEssentials
public import InflightConcurrency

// The stages of one load, the key by which each is shared, and the file to read next:
//
//     plan      ImageRequest → RequestPlan                         Request/RequestPlan.swift
//     look up   RequestKey of the last step, in the memory cache   Cache/CachedImages.swift
//     schedule  one job for a key, priorities, lanes               Engine/Engine.swift and JobGraph.swift
//     fetch     FetchKey → LoadedResponse                          Fetch/Fetch.swift
//     decode    DecodeKey (contains the FetchKey) → LoadedImage    Decode/PixelJob.swift
//     process   ProcessKey (contains the DecodeKey), for each      Decode/PixelJob.swift
//     deliver   one ImageTask, its gate and its callback queue     Tasks/ImageTask.swift
//
// Documentation/Architecture.md follows one request through them; `make path` prints the functions that it enters.

/// The image-loading engine: fetches, coalesces, caches, decodes, resizes and delivers images.
///
/// Requests for the same resource share one job while it is in flight, and the job stops when its last subscriber
/// leaves. Every call returns at once, may come from any thread, and does no file or network I/O on the caller's
/// thread.
///
/// A pipeline lives until its last task has ended, and the transports that it owns end with it. ``shutdown(_:)`` ends
/// it earlier, and returns when that is done.
///
/// ```swift
/// let pipeline = try ImagePipeline(configuration: .init())
/// let image = try await pipeline.image(for: ImageRequest("https://example.org/photo.jpg"))
/// ```
public final class ImagePipeline: Sendable {
    let engine: Engine
    /// The configuration that the pipeline was created with.
    public let configuration: Configuration

    /// Creates a pipeline with transports and a store as its configuration says.
    ///
    /// - Parameter configuration: the parts and the limits. Later changes to it have no effect.
    /// - Throws: ``LoadError`` if a transport or a store of its own cannot be created, for example if a CA file is
    ///   unreadable.
    public init(configuration: Configuration) throws(LoadError) {
        engine = try Engine(configuration)
        self.configuration = configuration
    }

    /// The codecs of this pipeline, for bytes that are already in memory.
    public var codecs: CodecRegistry { engine.codecs }

    /// The counters so far, and the state now. Always counted, and cheap to read. For histograms see ``Metrics``.
    public var statistics: Statistics {
        var statistics = engine.statistics
        engine.endings.read(into: &statistics)
        (statistics.bodyBytesInFlight, statistics.pausedTransfers) = engine.bodies.withLock {
            ($0.heldBytes, $0.pausedCount)
        }
        return statistics
    }

    /// Returns the maximum number of running jobs in a lane, over all origins. It is constant.
    public func limit(of lane: Event.Lane) -> Int { engine.laneLimits[lane] ?? 0 }

    /// The decoded images in memory.
    public var cache: Cache { Cache(images: images, log: engine.log) }

    // MARK: Callbacks

    /// Loads an image, with callbacks on the main queue. They are called in order, never inside this call, and never
    /// after a ``ImageTask/cancel()`` on the main queue.
    ///
    /// - Parameters:
    ///   - request: the request. If it is invalid, the result is a failure.
    ///   - queue: `.main`.
    ///   - progress: called with the progress of the fetch, at most every 16 ms. Intermediate progress may be dropped.
    ///   - preview: called with partial images, each better than the one before, if ``ImageRequest/previews`` is set.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func load(
        _ request: ImageRequest, on queue: MainCallbackQueue,
        progress: (@MainActor @Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@MainActor @Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(
            request, on: queue.queue, progress: progress.map(Self.confined), preview: preview.map(Self.confined),
            completion: Self.confined(completion))
    }

    /// Converts the type of a callback to one that any queue accepts. The result traps on another queue than the main
    /// queue.
    private static func confined<Value: Sendable>(
        _ callback: @escaping @MainActor @Sendable (ImageTask, Value) -> Void
    ) -> @Sendable (ImageTask, Value) -> Void {
        { task, value in MainActor.assumeIsolated { callback(task, value) } }
    }

    /// Loads an image, with callbacks on `queue`. They are called in order, one at a time, and never inside this call.
    /// On a serial queue, they are never called after a ``ImageTask/cancel()`` on it.
    ///
    /// - Parameters:
    ///   - request: the request. If it is invalid, the result is a failure.
    ///   - queue: the queue for the callbacks. If it may drop work (`CallbackQueue.mayDrop`), the result may never be
    ///     delivered.
    ///   - progress: called with the progress of the fetch, at most every 16 ms. Intermediate progress may be dropped.
    ///   - preview: called with partial images, each better than the one before, if ``ImageRequest/previews`` is set.
    ///   - completion: called once, with the result, unless the task was cancelled.
    /// - Returns: the task, for cancelling it or changing its priority. The engine retains it until it has ended.
    @discardableResult
    public func load(
        _ request: ImageRequest, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        load(
            engine.subject(of: request, goal: .image), on: queue, progress: progress, preview: preview,
            completion: completion)
    }

    /// Loads bytes without decoding them, with callbacks on the main queue. Otherwise like
    /// ``loadResponse(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``.
    @discardableResult
    public func loadResponse(
        _ request: ImageRequest, on queue: MainCallbackQueue,
        progress: (@MainActor @Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@MainActor @Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        loadResponse(
            request, on: queue.queue, progress: progress.map(Self.confined), preview: preview.map(Self.confined),
            completion: Self.confined(completion))
    }

    /// Loads bytes without decoding them, except for previews if the request asks for them. The callbacks are those of
    /// ``load(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``, with the response as the result.
    ///
    /// The result is a failure with ``LoadError/Code/badStatus`` if the status says that the body is not the requested
    /// resource.
    @discardableResult
    public func loadResponse(
        _ request: ImageRequest, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        start(
            engine.subject(of: request, goal: .data),
            sink: CallbackSink(queue: queue, progress: progress, preview: preview, completion: .response(completion)))
    }

    // MARK: Awaited

    /// Returns the image from the memory cache, the store or its origin.
    ///
    /// Cancelling the surrounding task cancels this load; jobs with other subscribers continue.
    ///
    /// - Throws: the error of the load; ``LoadError/Code/cancelled`` if the surrounding task is cancelled.
    public func image(for request: ImageRequest) async throws(LoadError) -> LoadedImage {
        let (result, isShared) = try await outcome(of: request, goal: .image)
        return try result.image(isShared: isShared).get()
    }

    /// Returns the bytes without decoding them. They are not copied.
    ///
    /// - Throws: the error of the load; ``LoadError/Code/badStatus`` if the status says that the body is not the
    ///   requested resource; ``LoadError/Code/cancelled`` if the surrounding task is cancelled.
    public func data(for request: ImageRequest) async throws(LoadError) -> Data {
        Data(try await wantedResponse(for: request).body)
    }

    /// Returns the response, if its status says that its body is the requested resource.
    package func wantedResponse(for request: ImageRequest) async throws(LoadError) -> LoadedResponse {
        let (result, isShared) = try await outcome(of: request, goal: .data)
        return try result.response(isShared: isShared).get()
    }

    /// Returns the response to any HTTP exchange, whatever its status, after following redirects.
    ///
    /// Requests with an unsafe method, such as `POST` (RFC 9110 section 9.2.1), are never coalesced here: each is sent.
    ///
    /// - Throws: the error of the load if there is no response; ``LoadError/Code/cancelled`` if the surrounding task is
    ///   cancelled.
    public func response(for request: ImageRequest) async throws(LoadError) -> LoadedResponse {
        let (result, isShared) = try await outcome(of: request, goal: .response)
        return try result.response(isShared: isShared).get()
    }

    /// Returns the information in the header of an image. The transfer stops as soon as the header is known, and reads
    /// no more than that needs.
    ///
    /// - Parameter request: the request. Its ``ImageRequest/page`` must be 0.
    /// - Throws: the error of the load; ``LoadError/Code/notAnImage`` if the bytes are not an image;
    ///   ``LoadError/Code/cancelled`` if the surrounding task is cancelled.
    public func info(for request: ImageRequest) async throws(LoadError) -> RemoteImageInfo {
        let (result, _) = try await outcome(of: request, goal: .info)
        return try result.info.get()
    }

    /// Returns the events of a load: progress as it happens, then one ending. The load begins when the first event is
    /// requested. Releasing the sequence and its iterators cancels the load.
    public func events(for request: ImageRequest) -> LoadEvents {
        LoadEvents(task: makeTask(request, goal: .image, observesProgress: true))
    }

    /// Returns the events of a load of bytes, which are not decoded: progress as it happens, then one ending. The load
    /// begins when the first event is requested. Releasing the sequence and its iterators cancels the load.
    ///
    /// The ending is a failure with ``LoadError/Code/badStatus`` if the status says that the body is not the requested
    /// resource.
    public func events(forData request: ImageRequest) -> DataEvents {
        DataEvents(task: makeTask(request, goal: .data, observesProgress: true))
    }

    // MARK: Starting tasks

    /// The images in memory.
    var images: CachedImages { engine.images }

    /// Creates a task that starts only with ``ImageTask/start()``, for callers that must be able to cancel it first.
    private func makeTask(_ request: ImageRequest, goal: RequestPlan.Goal, observesProgress: Bool) -> ImageTask {
        ImageTask(
            engine.subject(of: request, goal: goal), engine: engine, sink: nil, observesProgress: observesProgress)
    }

    /// Creates a task and starts it. Never calls back inside this call.
    private func start(_ subject: ImageTask.Subject, sink: CallbackSink, order: LoadOrder? = nil) -> ImageTask {
        let task = ImageTask(
            subject, engine: engine, sink: sink, observesProgress: sink.progress != nil, order: order)
        task.start()
        return task
    }

    /// Returns the image that a load would find in memory.
    func cachedForLoad(_ subject: ImageTask.Subject) -> LoadedImage? {
        guard case .plan(let plan) = subject, let hit = images.find(plan), hit.steps == plan.stepCount else {
            return nil
        }
        return hit.image
    }

    /// Loads the image of a request that was planned before, with its callbacks on `queue`, and in `order` if the
    /// request names none.
    func load(
        _ subject: ImageTask.Subject, on queue: CallbackQueue, order: LoadOrder? = nil,
        progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)?,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)?,
        completion: @escaping @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        start(
            subject,
            sink: CallbackSink(queue: queue, progress: progress, preview: preview, completion: .image(completion)),
            order: order)
    }

    func outcome(
        of request: ImageRequest, goal: RequestPlan.Goal
    ) async throws(LoadError) -> (JobResult, isShared: Bool) {
        let task = makeTask(request, goal: goal, observesProgress: false)
        let event = await withTaskCancellationHandler {
            if Task.isCancelled { task.cancel() }
            task.start()
            return await task.nextEvent()
        } onCancel: {
            task.cancel()
        }
        guard case .ended(let result, let isShared) = event else {
            throw LoadError.cancelled(url: task.plan?.url.string, stage: .request)
        }
        return (result, isShared)
    }

    // MARK: Ending

    /// The treatment of loads in progress when a pipeline shuts down.
    public enum ShutdownMode: Sendable {
        /// Finish loads in progress.
        case finish
        /// Stop loads in progress. They fail with ``LoadError/Code/shutDown``.
        case cancel
    }

    /// Shuts the pipeline down. Returns when the last load has ended, all work has stopped, the store has finished its
    /// writes, and the pipeline's own transports have released their threads and connections.
    ///
    /// From this call on, new loads fail with ``LoadError/Code/shutDown``. Images in memory are still served.
    ///
    /// - Parameter mode: whether loads in progress are finished or stopped.
    public func shutdown(_ mode: ShutdownMode) async {
        await engine.shutdown(mode)
        await engine.turns.wait()
        await engine.storage.shutdown()
        await engine.cookies?.settle()
        await engine.transports.shutdown()
    }
}

extension Data {
    /// Creates data with the same bytes, which it retains instead of copying them.
    public init(_ bytes: Bytes) {
        let count = bytes.count
        guard count > 0 else {
            self.init()
            return
        }
        self = unsafe bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress else { return Data() }
            // The closure retains the bytes. Nothing writes through the pointer, because `Data` copies first.
            return unsafe Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: base), count: count,
                deallocator: .custom { _, _ in withExtendedLifetime(bytes) {} })
        }
    }
}
