internal import Dispatch
public import InflightConcurrency

/// A prefetcher, which loads images ahead of their use, at the lowest priority unless another is given.
///
/// ```swift
/// let prefetcher = Prefetcher(pipeline: pipeline, destination: .memory)
/// prefetcher.start(requests(ofRows: 20..<40))
/// prefetcher.stop(requests(ofRows: 0..<10))       // scrolled past
/// ```
///
/// A request is identified by what it loads, as jobs are: starting it twice is starting it once, and one stop ends it.
/// A request to the pipeline for the same image coalesces with the prefetch, and raises its priority to its own.
///
/// - Thread: any, for every method. The only callback is `onEnd`; ``waitUntilIdle()`` returns when all requests have
///   ended.
/// - Turns: calls only record the requested state. The end of the turn (see ``Turn``) compares that with the loads in
///   flight: requests that were started and stopped are not sent, and loads that were stopped and started are not
///   interrupted, in whatever order. By default a turn ends 10 ms after its first call, which needs no queue to be
///   running; `.main` and `.queue(_:)` make it exact.
/// - Order: first in, first out, ``limit`` at once. The pipeline's own limits and lanes apply to prefetches too.
/// - Cancellation: ``stop(_:)-(Sequence<ImageRequest>)``, ``stopAll()``, and releasing the prefetcher, on any thread.
///   That affects the prefetcher alone: a view that loads the same image still gets it.
/// - Errors: passed to `onEnd`, if the prefetcher was created with it, and counted. Starting the request again retries
///   it.
/// - Cost: a key for each request and call, about a microsecond; one lock for each call.
public final class Prefetcher: Sendable {
    private let core: PrefetchCore
    /// The destination of the prefetched images: the memory cache, the response store, or bytes kept by the prefetcher.
    public let destination: Destination

    /// The queue for the endings of loads. No callback of a caller runs on it.
    private static let endings = DispatchQueue(label: "inflight.prefetch", qos: .utility)

    /// Creates a prefetcher without requests.
    ///
    /// - Parameters:
    ///   - pipeline: the pipeline that loads the images, retained by the prefetcher.
    ///   - destination: the destination of the prefetched images.
    ///   - turn: the unit in which calls are compared.
    ///   - limit: the maximum number of concurrent loads. Values below 1 count as 1.
    ///   - priority: the priority of the loads.
    ///   - onEnd: called once for each request whose load has ended, with its source or its error: see
    ///     ``init(pipeline:destination:turn:limit:priority:endings:onEnd:)``. On a serial queue of the prefetchers.
    public convenience init(
        pipeline: ImagePipeline, destination: Destination, turn: Turn = .time(.milliseconds(10)),
        limit: Int = 4, priority: ImageRequest.Priority = .veryLow,
        onEnd: (@Sendable (ImageRequest, Result<LoadSource, LoadError>) -> Void)? = nil
    ) {
        self.init(
            pipeline: pipeline, destination: destination, turn: turn, limit: limit, priority: priority,
            endings: .queue(Self.endings), onEnd: onEnd)
    }

    /// Creates a prefetcher without requests whose own work runs on a queue of the caller's, such as one that a test
    /// steps by hand.
    ///
    /// - Parameters:
    ///   - pipeline: the pipeline that loads the images, retained by the prefetcher.
    ///   - destination: the destination of the prefetched images.
    ///   - turn: the unit in which calls are compared.
    ///   - limit: the maximum number of concurrent loads. Values below 1 count as 1.
    ///   - priority: the priority of the loads.
    ///   - endings: the queue for the endings of loads, and for the ends of timed turns.
    ///   - onEnd: called on `endings`, once for each request whose load has ended, with its source or its error; also
    ///     for one that can never be loaded, such as a malformed URL. Not called for requests that were stopped by the
    ///     end of a turn, nor inside ``start(_:)-(Sequence<ImageRequest>)``. No request is sent while it runs. If nil,
    ///     failures are only counted.
    public init(
        pipeline: ImagePipeline, destination: Destination, turn: Turn, limit: Int,
        priority: ImageRequest.Priority = .veryLow, endings: CallbackQueue,
        onEnd: (@Sendable (ImageRequest, Result<LoadSource, LoadError>) -> Void)? = nil
    ) {
        self.destination = destination
        core = PrefetchCore(
            pipeline: pipeline, destination: destination, turn: turn, limit: limit, priority: priority,
            queue: endings, onEnd: onEnd)
    }

    deinit {
        core.close()
    }

    /// Starts prefetching requests. Their own priorities are ignored. Those that cannot be loaded count as failed.
    public func start(_ requests: some Sequence<ImageRequest>) { core.start(requests) }

    /// Stops prefetching requests: queued ones are removed, loads in flight are cancelled, kept bytes are dropped.
    /// Requests that were never started are ignored.
    public func stop(_ requests: some Sequence<ImageRequest>) { core.stop(requests) }

    /// Starts prefetching URLs, with all other properties of their requests at their defaults. Malformed ones count as
    /// failed.
    public func start(_ urls: some Sequence<some ImageRequestConvertible>) {
        core.start(urls.lazy.map(\.imageRequest))
    }

    /// Stops prefetching URLs that were started without other properties.
    public func stop(_ urls: some Sequence<some ImageRequestConvertible>) {
        core.stop(urls.lazy.map(\.imageRequest))
    }

    /// Returns when no request is queued or in flight: each has ended or was stopped. Also returns, at once, when the
    /// surrounding task is cancelled, or the prefetcher is released. While prefetching is paused, queued requests do
    /// not end.
    public func waitUntilIdle() async { await core.waitUntilIdle() }

    /// Stops prefetching all requests. The prefetcher remains usable.
    public func stopAll() { core.stopAll() }

    /// Pauses prefetching: no request is sent until ``resume()``. Loads in flight continue, and requests are accepted
    /// as before.
    public func pause() { core.pause() }

    /// Resumes sending queued requests, at once. Idempotent, as ``pause()`` is.
    public func resume() { core.resume() }

    /// Whether the prefetcher is paused.
    public var isPaused: Bool { core.isPaused }

    /// The maximum number of concurrent loads. Values below 1 count as 1. Lowering it cancels nothing. Raising it sends
    /// queued requests at once, unless the prefetcher is paused.
    public var limit: Int {
        get { core.limit }
        set { core.limit = newValue }
    }

    /// The counters since the prefetcher was created, and its current state, all of one moment.
    public var statistics: Statistics { core.statistics }

    /// Removes and returns the kept response of a request that was fetched to ``Destination/bytes``. Returns nil if
    /// there is none, or if it varies by a field in which this request differs from the one that fetched it.
    public func takeResponse(for request: ImageRequest) -> LoadedResponse? { core.take(request) }

    /// Removes and returns the kept response of a URL that was fetched to ``Destination/bytes``. Returns nil if there
    /// is none.
    public func takeResponse(for request: some ImageRequestConvertible) -> LoadedResponse? {
        core.take(request.imageRequest)
    }
}
