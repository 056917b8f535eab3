public import InflightConcurrency

extension Prefetcher {
    /// The destination of prefetched images.
    public struct Destination: Sendable, Hashable {
        enum Kind: Hashable, Sendable {
            case memory
            case bytes(limit: Int64)
            case store
        }

        let kind: Kind

        /// Stores decoded, processed images in the pipeline's memory cache, where later requests find them at once.
        public static let memory = Destination(kind: .memory)

        /// Fetches without decoding. The prefetcher keeps the bytes, at most 64 MiB, until they are taken by
        /// ``Prefetcher/takeResponse(for:)-(ImageRequest)``, stopped, or replaced by newer ones.
        public static let bytes = Destination(kind: .bytes(limit: 64 << 20))

        /// Fetches without decoding, as ``bytes`` does, with another limit.
        ///
        /// - Parameter limit: the maximum total size of kept bodies in bytes, after their content coding is decoded.
        ///   A larger body is dropped and counted as evicted.
        public static func bytes(limit: Int64) -> Destination {
            Destination(kind: .bytes(limit: max(0, limit)))
        }

        /// Fetches without decoding, into the pipeline's response store, as HTTP allows. The prefetcher keeps nothing.
        /// Without a store (``ImagePipeline/Configuration/store``), the fetched bytes are lost.
        public static let store = Destination(kind: .store)
    }

    /// The unit in which calls are compared: a request that is started and stopped within one turn is never sent.
    public struct Turn: Sendable {
        enum Kind: Sendable {
            case queue(CallbackQueue)
            case time(Duration)
        }

        let kind: Kind

        /// A turn ends when `queue` runs the work that was submitted to it with the turn's first call. So a turn is
        /// exactly everything that the caller does on that queue, which must be serial, before it returns to the queue.
        /// Calls from elsewhere count towards the current turn. A suspended queue holds back this prefetcher alone.
        public static func queue(_ queue: CallbackQueue) -> Turn { Turn(kind: .queue(queue)) }

        /// A turn of the main queue, for programs that run it: see ``queue(_:)``.
        public static let main = queue(MainCallbackQueue.main.queue)

        /// A turn ends this long after its first call, by the pipeline's clock, on whatever threads the calls come.
        public static func time(_ duration: Duration) -> Turn { Turn(kind: .time(duration)) }
    }

    /// Counters of a prefetcher since its creation, and its current state.
    public struct Statistics: Sendable, Hashable {
        /// The number of different requests that were started. A request that is started again while it is queued, in
        /// flight or kept is not counted again.
        public var requested = 0
        /// The number of loads that were sent.
        public var sent = 0
        /// The number of loads that succeeded, except those in ``found``.
        public var loaded = 0
        /// The number of loads that found their image in the memory cache, or one that only needed processors.
        public var found = 0
        /// The number of requests that failed, including those that can never be loaded.
        public var failed = 0
        /// The number of requests that were stopped before they had ended.
        public var stopped = 0
        /// The number of bodies that were dropped to stay within the limit.
        public var evicted = 0
        /// The number of queued requests.
        public var waiting = 0
        /// The number of loads in flight.
        public var inFlight = 0
        /// The number of bytes that are kept.
        public var keptBytes: Int64 = 0

        /// Creates statistics whose counters are all 0.
        public init() {}
    }
}
