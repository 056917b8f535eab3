public import InflightConcurrency

extension ImagePipeline {
    /// What a pipeline is made of, and the bounds that it keeps.
    public struct Configuration: Sendable {
        /// A transport, and who ends it.
        public enum TransportSource: Sendable {
            /// Made for this pipeline, and ended with it.
            case owned(@Sendable (Configuration) throws(LoadError) -> any Transport)
            /// Lent to this pipeline, which never ends it.
            case shared(any Transport)
        }

        /// A store, and who ends it.
        public enum StoreSource: Sendable {
            /// Made for this pipeline, and ended with it.
            case owned(@Sendable (Configuration) throws(LoadError) -> any ResponseStore)
            /// Lent to this pipeline, which never ends it. Several pipelines may share one.
            case shared(any ResponseStore)
        }

        /// Who moves the bytes. For a scheme that several serve, the last.
        public var transports: [TransportSource]
        public var codecs: CodecRegistry
        /// The content codings that are asked for and undone; a request with an `Accept-Encoding` of its own asks for what
        /// it says. Where there are none, the transport does as it likes.
        public var contentCodings: [any ContentCoding] = []
        public var clock: any EngineClock = SystemClock()
        /// Decoded pictures; their cost is the bytes of their pixels.
        public var memoryCache = MemoryCacheConfiguration()
        /// Whether the memory cache serves stale images to every load, as ``ImageRequest/allowsStaleFromMemory`` says for one.
        public var allowsStaleFromMemory = false
        /// What keeps decoded pictures in place of the cache that ``memoryCache`` describes.
        public var imageCache: (any ImageCaching)?
        /// Fetches under way at once, over all origins.
        public var maximumConcurrentFetches = 64
        /// Fetches under way at once from one origin, as long as it speaks HTTP/1.1: that many connections.
        public var maximumConcurrentFetchesPerOrigin = 6
        /// The same for an origin that was found to speak HTTP/2: that many streams, on one connection.
        public var maximumStreamsPerOrigin = 64
        /// The maximum number of bytes that the bodies of all transfers hold in memory together: content coding undone, and
        /// the coded bytes too where a store keeps them. A body counts from its first byte until its fetch ends. When they
        /// are used up, transfers pause until others end; the oldest goes on, with its body in a temporary file that has no
        /// name. Transfers that share a connection (HTTP/2) are not paused, but spill likewise. Up to half of the limit is
        /// set aside for the pieces that transfers have at hand when they pause: 2 MiB for each of
        /// ``maximumConcurrentFetches``. Time in which a transfer is paused counts for its total timeout alone.
        public var maximumBodyBytesInFlight: Int64 = 256 << 20
        /// The folder for such files; if `nil`, `TMPDIR`, `/var/tmp` or `/tmp`.
        public var temporaryFolder: String?
        /// Decodes and processors under way at once: that many threads.
        public var decodeConcurrency = MachineSize.processors
        /// What all decodes under way may take in memory together, in bytes, as their codecs estimate it from the headers. One
        /// that does not fit waits for others to end; one that never fits is refused with
        /// ``LoadError/Code/tooMuchMemory``. What is in processes of their own counts too.
        public var maximumDecodeMemory = 1 << 30
        /// How long one decode may take, waiting for a thread not counted: then it ends with
        /// ``LoadError/Code/timedOut``. `nil`: as long as it takes, but for what decoders in processes of their own are
        /// allowed.
        public var maximumDecodeTime: Duration? = .seconds(60)
        /// Where they run instead of on threads of the pipeline's own: for a program that has threads for such work
        /// already, or a test that steps it. It is never given more at once than ``decodeConcurrency``,
        /// and one turn for a body that is decoded or spilled behind its transfer.
        public var decodeExecutor: (any WorkExecutor)?
        /// Who goes first among loads of one priority.
        public var order = LoadOrder.firstInFirstOut
        /// Names of header fields that cannot change what an answer holds. Loads that differ in nothing else share their
        /// work, unless the answer's `Vary` names one of them.
        public var harmlessFields: [String] = []

        /// Where answers are kept beyond the life of the process; `nil`: nowhere.
        public var store: StoreSource?
        /// What is done about failures that may pass; `nil`: they are told at once.
        public var retry: RetryPolicy?
        /// When the pipeline stops connecting to an origin that cannot be reached. If nil, every load tries by itself.
        public var circuitBreaker: CircuitBreaker?
        /// The maximum number of loads in progress, queued and running; further loads fail at once with
        /// ``LoadError/Code/overloaded``, on their callback queues. It counts every task that waits for work: those that
        /// share work, prefetches and requests for responses behind stale ones too. An image in memory is always served,
        /// and a load that was admitted is never refused later. If nil, there is no limit.
        public var maximumQueuedTasks: Int?
        /// Gives numbers from 0 to 1 for jitter, which spreads retries and probes over time. Any thread, with no lock held.
        public var random: @Sendable () -> Double = { Double.random(in: 0...1) }
        /// Bytes of bodies that may wait to be kept: what comes beyond them is not kept. The store's own threads write.
        public var maximumBytesToStore: Int64 = 64 << 20

        /// Changes each request before it goes out over HTTP: a token, a signature. Asked once more after a 401, and for
        /// each redirect. It may be slow and may be called for many loads at once; ``SharedValue`` fetches a token once
        /// for all of them. What it throws ends the load. Loads share their work by what they were asked for, so what
        /// it adds must not make answers differ.
        ///
        /// Called on ``taskExecutor``, with no lock held, while the load holds its place. Where the load is cancelled,
        /// or its whole time is up, the task that it runs in is cancelled.
        public var willSend: (@Sendable (inout OutgoingRequest) async throws -> Void)?
        /// Judges each answer over HTTP that is no redirect, by its status and its fields, before its body is taken.
        /// The body waits meanwhile. What it throws ends the load. Called as ``willSend`` is.
        public var didReceive: (@Sendable (ReceivedHead) async throws -> HeadDecision)?
        /// Hears what happens. Called on whichever thread it happens, with no lock held, so it must be quick; unset it
        /// costs nothing.
        public var log: (@Sendable (LogEntry) -> Void)?
        /// Hears of every stage of every load, with times, in order; unset it costs nothing.
        public var listening: PipelineListening?
        /// Where hooks and sources run; `nil`: where tasks without an executor do.
        public var taskExecutor: (any TaskExecutor)?

        public init(transports: [TransportSource], codecs: CodecRegistry) {
            self.transports = transports
            self.codecs = codecs
        }
    }

    public enum LoadOrder: Sendable {
        case firstInFirstOut
        /// For lists that scroll: what was asked for last is what is seen.
        case lastInFirstOut
    }
}
