internal import Dispatch
package import InflightConcurrency

/// Loads ahead what may be wanted soon, at the lowest priority.
///
/// ```swift
/// let prefetcher = Prefetcher(pipeline: pipeline, destination: .memory)
/// prefetcher.start(requests(ofRows: 20..<40))
/// prefetcher.stop(requests(ofRows: 0..<10))       // scrolled past
/// ```
///
/// A wish is known by what is loaded, as jobs are: starting it twice is starting it once, and one stop ends it. Whoever
/// asks the pipeline for the same joins the load that is under way, and raises its priority to his own.
///
/// - Thread: any, every method. Nobody is called back.
/// - Turns: calls only write down what is wanted. At the end of the turn (see ``Turn``) that is compared with what is
///   under way: nothing goes out for what was started and stopped, and nothing is interrupted that was stopped and
///   started, in whatever order. By default a turn ends 10 ms after its first call, which needs no queue to be served;
///   `.main` and `.queue(_:)` make it exact.
/// - Order: first asked, first sent, ``limit`` at once. What all have in common with other loads is the pipeline's
///   business: its limits and lanes hold here too.
/// - Cancellation: ``stop(_:)``, ``stopAll()``, and letting go of the prefetcher, on any thread. That concerns the
///   prefetcher alone: a view that waits for the same goes on waiting, and gets it.
/// - Errors: nobody hears of them; they are counted, and starting the wish again tries again.
/// - Cost: a key for each request and call, about a microsecond; one lock for each call.
public final class Prefetcher: Sendable {
    private let core: PrefetchCore
    public let destination: Destination

    /// Where endings come to: nothing of a caller runs there.
    private static let endings = DispatchQueue(label: "inflight.prefetch", qos: .utility)

    /// - Parameters:
    ///   - turn: what belongs together.
    ///   - limit: how many loads are under way at once, 1 or more.
    public convenience init(
        pipeline: ImagePipeline, destination: Destination, turn: Turn = .time(.milliseconds(10)),
        limit: Int = 4
    ) {
        self.init(
            pipeline: pipeline, destination: destination, turn: turn, limit: limit,
            endings: .queue(Self.endings))
    }

    /// - Parameter endings: where endings come to, and turns that time ends.
    package init(
        pipeline: ImagePipeline, destination: Destination, turn: Turn, limit: Int,
        endings: CallbackQueue
    ) {
        self.destination = destination
        core = PrefetchCore(
            pipeline: pipeline, destination: destination, turn: turn, limit: limit, queue: endings)
    }

    deinit {
        core.close()
    }

    /// Wants these too; the requests' own priorities do not count. What cannot be loaded counts as failed.
    public func start(_ requests: some Sequence<ImageRequest>) { core.start(requests) }

    /// Does not want these any more: what waits is taken out, what is under way is cancelled, kept bytes are dropped.
    public func stop(_ requests: some Sequence<ImageRequest>) { core.stop(requests) }

    /// Does not want anything any more. It can be used on.
    public func stopAll() { core.stopAll() }

    /// Sends nothing until ``resume()``, from this call on. What is under way goes on; wishes are taken as before.
    public func pause() { core.pause() }

    /// Goes on with what waits, at once. Idempotent, as ``pause()`` is.
    public func resume() { core.resume() }

    public var isPaused: Bool { core.isPaused }

    /// How many loads are under way at once. A lower limit cancels nothing.
    public var limit: Int {
        get { core.limit }
        set { core.limit = newValue }
    }

    public var statistics: Statistics { core.statistics }

    /// The answer with its bytes, if it was fetched to ``Destination/bytes`` and is kept: it is not kept any more then.
    /// `nil` too where the answer varies by a field in which this request differs from the one that fetched it.
    public func takeResponse(for request: ImageRequest) -> LoadedResponse? { core.take(request) }
}
