public import InflightConcurrency

extension Prefetcher {
    /// Where what is loaded ahead goes.
    public struct Destination: Sendable, Hashable {
        enum Kind: Hashable, Sendable {
            case memory
            case bytes(limit: Int64)
        }

        let kind: Kind

        /// Decoded, and processed, into the pipeline's memory cache: whoever asks for the same finds it there at once.
        public static let memory = Destination(kind: .memory)

        /// Fetched and not decoded: the prefetcher keeps the bytes, 64 MB of them at most, until they are taken by
        /// ``Prefetcher/takeResponse(for:)``, stopped, or replaced by newer ones.
        public static let bytes = Destination(kind: .bytes(limit: 64 << 20))

        /// As ``bytes``, with another limit. It counts the bodies that are kept, content coding undone.
        public static func bytes(limit: Int64) -> Destination {
            Destination(kind: .bytes(limit: max(0, limit)))
        }
    }

    /// What belongs together: nothing goes out for what was started and stopped within one turn.
    public struct Turn: Sendable {
        enum Kind: Sendable {
            case queue(CallbackQueue)
            case time(Duration)
        }

        let kind: Kind

        /// A turn ends when `queue` comes to what was submitted to it with the turn's first call. So all that the caller
        /// does on that queue, which has to be serial, before it gives the queue back is one turn, exactly. Calls from
        /// elsewhere count into the turn under way. A queue that is suspended holds back this prefetcher alone.
        public static func queue(_ queue: CallbackQueue) -> Turn { Turn(kind: .queue(queue)) }

        /// A turn of the main queue, for programs that serve it: see ``queue(_:)``.
        public static let main = queue(MainCallbackQueue.main.queue)

        /// A turn ends that long after its first call, by the pipeline's clock, on whatever threads the calls come.
        public static func time(_ duration: Duration) -> Turn { Turn(kind: .time(duration)) }
    }

    /// What a prefetcher did so far, and what it has to do.
    public struct Statistics: Sendable, Hashable {
        /// Different wishes that were started.
        public var asked = 0
        /// Loads that were begun.
        public var sent = 0
        /// Loads that went well.
        public var loaded = 0
        /// Loads that found in the memory cache what they wanted, or what only processors had to be applied to.
        public var found = 0
        /// Wishes that failed, those among them that can never be loaded.
        public var failed = 0
        /// Wishes that were stopped before they had ended.
        public var stopped = 0
        /// Bodies that were dropped because there was no room for them.
        public var evicted = 0
        /// Wishes that wait for their turn.
        public var waiting = 0
        /// Loads under way.
        public var underWay = 0
        /// Bytes that are kept.
        public var keptBytes: Int64 = 0

        public init() {}
    }
}
