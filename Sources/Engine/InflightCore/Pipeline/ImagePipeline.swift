public import InflightConcurrency

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// The stages of one load, the key by which each is shared, and the file to read next:
//
//     plan      ImageRequest → RequestPlan                         Request/RequestPlan.swift
//     look up   JobKey of the last step, in the memory cache       Engine/Engine+Memory.swift
//     schedule  one job for a key, priorities, lanes               Engine/EngineMachine.swift
//     fetch     FetchKey → LoadedResponse                          Fetch/FetchJob.swift
//     decode    DecodeKey (contains the FetchKey) → LoadedImage    Engine/DecodeJob.swift
//     process   ProcessKey (contains the DecodeKey), for each      Engine/PixelJobs.swift
//     deliver   one ImageTask, its gate and its callback queue     Tasks/ImageTask.swift
//
// Documentation/Architecture.md follows one request through them; `make path` prints the functions that it enters.

/// The engine: fetches, shares, caches, decodes, resizes and delivers pictures.
///
/// What is asked for while the same work is under way shares it; the last one to leave stops it. Every call returns at
/// once, may come from any thread, and touches no file and no network on the caller's thread.
///
/// A pipeline lives until its last task has ended, and its own transports end with it. ``shutdown(_:)`` ends it earlier
/// and tells when that is done.
///
/// ```swift
/// let pipeline = try ImagePipeline(configuration: .init())
/// let image = try await pipeline.image(for: ImageRequest("https://example.org/photo.jpg"))
/// ```
public final class ImagePipeline: Sendable {
    let engine: Engine

    /// - Throws: ``LoadError`` where a transport of its own cannot be made, because a CA file cannot be read for example.
    public init(configuration: Configuration) throws(LoadError) {
        engine = try Engine(configuration)
    }

    /// The codecs that this pipeline decodes with, for work on bytes that are already there.
    public var codecs: CodecRegistry { engine.codecs }

    /// What happened so far, and what is under way now: always counted, and cheap to ask for. Histograms are a
    /// ``PipelineMeter``'s.
    public var statistics: Statistics { engine.statistics }

    /// How many jobs may work in a lane at once.
    public func limit(of lane: PipelineEvent.Lane) -> Int { engine.laneLimits[lane] ?? 0 }

    /// The decoded pictures: to be trimmed, emptied, or looked at.
    public var memoryCacheStatistics: MemoryCacheStatistics { engine.cache.statistics }

    /// Drops the least valuable pictures until those left cost at most `cost` bytes.
    public func trimMemoryCache(to cost: Int) { engine.cache.trim(to: cost) }

    /// Drops every picture that is kept in memory.
    public func removeAllFromMemoryCache() { engine.cache.removeAll() }

    // MARK: Callbacks

    /// Loads a picture. `completion` is called on the main queue, never inside this call, and never after a `cancel()`
    /// there.
    ///
    /// - Parameters:
    ///   - progress: told how far the bytes have come; what it is too slow for is left out.
    ///   - preview: given what there is of the picture, each better than the one before, where
    ///     ``ImageRequest/previews`` wants that.
    ///   - completion: told the one ending.
    @discardableResult
    public func load(
        _ request: ImageRequest, on queue: MainCallbackQueue,
        progress: (@MainActor @Sendable (ImageTask, LoadProgress) -> Void)? = nil,
        preview: (@MainActor @Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        var confinedProgress: CallbackSink.Progress?
        if let progress {
            confinedProgress = { task, value in MainActor.assumeIsolated { progress(task, value) } }
        }
        var confinedPreview: CallbackSink.Preview?
        if let preview {
            confinedPreview = { task, value in MainActor.assumeIsolated { preview(task, value) } }
        }
        let sink = CallbackSink(
            queue: queue.queue, progress: confinedProgress, preview: confinedPreview,
            completion: .image { task, result in MainActor.assumeIsolated { completion(task, result) } })
        return engine.add(request, goal: .image, sink: sink)
    }

    /// Loads a picture. `progress`, `preview` and `completion` are called on `queue`, in order, never inside this call; where the
    /// queue is serial, never after a `cancel()` on it.
    @discardableResult
    public func load(
        _ request: ImageRequest, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask, LoadProgress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedImage, LoadError>) -> Void
    ) -> ImageTask {
        engine.add(
            request, goal: .image,
            sink: CallbackSink(queue: queue, progress: progress, preview: preview, completion: .image(completion)))
    }

    /// Loads bytes without decoding them, but for previews where the request wants them. The result is a failure where the
    /// status says that they are not what was asked for. Callbacks as with
    /// ``load(_:on:progress:preview:completion:)-(_,CallbackQueue,_,_,_)``.
    @discardableResult
    public func loadResponse(
        _ request: ImageRequest, on queue: CallbackQueue,
        progress: (@Sendable (ImageTask, LoadProgress) -> Void)? = nil,
        preview: (@Sendable (ImageTask, ImagePreview) -> Void)? = nil,
        completion: @escaping @Sendable (ImageTask, Result<LoadedResponse, LoadError>) -> Void
    ) -> ImageTask {
        engine.add(
            request, goal: .data,
            sink: CallbackSink(queue: queue, progress: progress, preview: preview, completion: .response(completion)))
    }

    // MARK: Awaited

    /// The picture. Cancelling the surrounding task throws ``LoadError/Code/cancelled``.
    public func image(for request: ImageRequest) async throws(LoadError) -> LoadedImage {
        let (result, isShared) = try await outcome(of: request, goal: .image)
        return try result.image(isShared: isShared).get()
    }

    /// The bytes, without decoding them; only where the status says that they are what was asked for.
    public func data(for request: ImageRequest) async throws(LoadError) -> Data {
        let (result, isShared) = try await outcome(of: request, goal: .data)
        return Data(try result.response(isShared: isShared).get().body)
    }

    /// The answer to any HTTP exchange, whatever its status, redirects followed.
    public func response(for request: ImageRequest) async throws(LoadError) -> LoadedResponse {
        let (result, isShared) = try await outcome(of: request, goal: .response)
        return try result.response(isShared: isShared).get()
    }

    /// What the header of a picture says. No more is read than that takes: the transfer is stopped as soon as it is
    /// known.
    public func info(for request: ImageRequest) async throws(LoadError) -> RemoteImageInfo {
        let (result, _) = try await outcome(of: request, goal: .info)
        return try result.info.get()
    }

    /// Progress as it comes, then one ending. The load begins when the first event is asked for; letting go of the
    /// sequence, or of its iterator, cancels it.
    public func events(for request: ImageRequest) -> LoadEvents {
        LoadEvents(task: engine.prepare(request, goal: .image, hearsProgress: true))
    }

    /// Returns the image, if it is in memory: at once, without waiting for anything, on any thread.
    ///
    /// It may be stale (RFC 9111 section 4.2), and is marked so then (``LoadedImage/isStale``): good enough to be shown
    /// until a load, which asks its origin, has brought what is current.
    public func cached(_ request: ImageRequest) -> LoadedImage? {
        guard let plan = try? RequestPlan(request, goal: .image, harmlessFields: engine.harmlessFields) else {
            return nil
        }
        return engine.cached(plan)
    }

    /// What a load would be given from memory.
    func cachedForLoad(_ request: ImageRequest) -> LoadedImage? {
        guard let plan = try? RequestPlan(request, goal: .image, harmlessFields: engine.harmlessFields),
            let hit = engine.findInMemory(plan), hit.steps == plan.stepCount
        else { return nil }
        return hit.image
    }

    func outcome(
        of request: ImageRequest, goal: RequestPlan.Goal
    ) async throws(LoadError) -> (JobResult, isShared: Bool) {
        let task = engine.prepare(request, goal: goal, hearsProgress: false)
        let event = await withTaskCancellationHandler {
            if Task.isCancelled { task.cancel() }
            engine.begin(task)
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

    public enum ShutdownMode: Sendable {
        /// What is under way is finished.
        case finish
        /// What is under way is stopped; its callers are told ``LoadError/Code/shutDown``.
        case cancel
    }

    /// Takes no more loads, and returns when the last has ended, all work has stopped, and the pipeline's own transports
    /// have let go of their threads and connections.
    public func shutdown(_ mode: ShutdownMode) async {
        await engine.shutdown(mode)
    }
}

extension Data {
    /// The same bytes without copying them.
    public init(_ bytes: Bytes) {
        let count = bytes.count
        guard count > 0 else {
            self.init()
            return
        }
        self = unsafe bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress else { return Data() }
            // The closure keeps the bytes alive; nobody writes through the pointer, because `Data` copies first.
            return unsafe Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: base), count: count,
                deallocator: .custom { _, _ in withExtendedLifetime(bytes) {} })
        }
    }
}
