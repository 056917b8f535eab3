public import InflightConcurrency

extension ImagePipeline {
    /// The parts and the limits of a pipeline.
    public struct Configuration: Sendable {
        /// A transport, and its owner.
        public enum TransportSource: Sendable {
            /// Created for this pipeline, and shut down with it.
            case owned(@Sendable (Configuration) throws(LoadError) -> any Transport)
            /// Lent to this pipeline, which never shuts it down.
            case shared(any Transport)
        }

        /// A store, and its owner.
        public enum StoreSource: Sendable {
            /// Created for this pipeline, and shut down with it.
            case owned(@Sendable (Configuration) throws(LoadError) -> any ResponseStore)
            /// Lent to this pipeline, which never shuts it down. Several pipelines may share one.
            case shared(any ResponseStore)
        }

        /// The transports. If several serve a scheme, the last one is used.
        public var transports: [TransportSource]
        /// The URL schemes that may be loaded, in lower case, by requests and by redirects. Others fail with
        /// ``LoadError/Code/unsupportedScheme``. If nil, all that the transports serve.
        public var schemes: Set<String>?
        /// The codecs, which detect, decode and encode image formats.
        public var codecs: CodecRegistry
        /// Other codecs for requests that name them as their ``ImageRequest/decoder``, for example decoder processes
        /// for untrusted images only. They only decode: ``codecs`` encode, and decode stored processed images.
        public var decoders: [String: CodecRegistry] = [:]
        /// The content codings to accept and decode. A request with its own `Accept-Encoding` sends that instead; what
        /// is decoded does not depend on it. Decoding stops at a coding that is not among these, and the bytes are used
        /// as they are then. If there are none, the transport decides.
        public var contentCodings: [any ContentCoding] = []
        /// The clock for deadlines, delays, event times and the freshness of responses. Tests replace it.
        public var clock: any EngineClock = SystemClock()
        /// The limits of the cache of decoded images. The cost of an image is the size of its pixels, its metadata
        /// and its body, in bytes.
        public var memoryCache = MemoryCacheConfiguration()
        /// Whether the memory cache serves stale images to every load: see ``ImageRequest/allowsStaleFromMemory``.
        public var allowsStaleFromMemory = false
        /// The cache of decoded images. If nil, the pipeline creates one as ``memoryCache`` describes it.
        public var imageCache: (any ImageCaching)?
        /// The maximum number of running fetches, over all origins. Values below 1 count as 1. A quarter of the slots,
        /// at least one of several, is reserved for loads of at least normal priority.
        public var maximumConcurrentFetches = 64
        /// The maximum number of running fetches from one origin while it speaks HTTP/1.1, each on its own connection.
        /// Values below 1 count as 1. A quarter of the slots, at least one of several, is reserved for loads of at
        /// least normal priority: with the default of 6, loads of lower priority use 5.
        public var maximumConcurrentFetchesPerOrigin = 6
        /// The maximum number of running fetches from one origin that is known to speak HTTP/2 or HTTP/3, each a stream
        /// of a shared connection. A quarter of them is reserved likewise.
        public var maximumStreamsPerOrigin = 64
        /// The maximum number of bytes that the bodies of all transfers hold in memory together: decoded, and the coded
        /// bytes too if a store keeps them. A body counts from its first byte until its fetch ends. When the limit is
        /// reached, transfers pause until others end; the oldest continues, with its body in an unnamed temporary file.
        /// Transfers that share a connection (HTTP/2) are not paused, but spill likewise. Up to half of the limit is
        /// reserved for bytes that transfers already hold when they pause: 2 MiB for each of
        /// ``maximumConcurrentFetches``. While a transfer is paused, only its total timeout runs.
        public var maximumBodyBytesInFlight: Int64 = 256 << 20
        /// The folder for the temporary files of bodies in flight; if nil, `TMPDIR`, `/var/tmp` or `/tmp`.
        public var temporaryFolder: String?
        /// The maximum number of running decodes and processors, and of threads for them. By default the number of
        /// processors. Values below 1 count as 1.
        public var decodeConcurrency = MachineSize.processors
        /// The maximum memory for all running decodes together, in bytes, as their codecs estimate it from the headers.
        /// A decode that does not fit waits for others to end. One that can never fit fails with
        /// ``LoadError/Code/tooMuchMemory``. Memory of decoder processes counts too.
        public var maximumDecodeMemory = 1 << 30
        /// The maximum time for one decode, not counting the wait for a thread. After that it ends with
        /// ``LoadError/Code/timedOut``. If nil, there is no limit but that of decoder processes.
        public var maximumDecodeTime: Duration? = .seconds(60)
        /// The executor of decodes and processors instead of the pipeline's own threads, for a program that has threads
        /// for such work, or a test that steps it. It never gets more than ``decodeConcurrency`` work items at once,
        /// plus one at a time that decodes or spills a body outside the transport's thread.
        public var decodeExecutor: (any WorkExecutor)?
        /// The order of queued loads with the same priority whose ``ImageRequest/order`` is nil.
        public var order = LoadOrder.firstInFirstOut
        /// The names of header fields that cannot change a response's content. Requests that differ only in these are
        /// coalesced, unless the response's `Vary` names one of them.
        public var fieldsExcludedFromKey: [String] = []

        /// Returns the ``ImageRequest/identity`` of a request that has none, or nil if its URL identifies the image.
        /// For example, returns the URL without a signature. Not called for requests with a ``ImageRequest/source``.
        ///
        /// Called for each request, and again for its fallbacks, on any thread, with no lock held. It must be quick,
        /// and always return the same for a request. The ``ImageTask/request`` of a task has the identity.
        public var identity: (@Sendable (ImageRequest) -> String?)?

        /// The cookies that responses set, for later requests (RFC 6265). If nil, a load forgets the cookies of its
        /// redirects when it ends, and no others are kept.
        public var cookies: CookieStore?

        /// The store that keeps responses beyond the life of the process. If nil, none are stored.
        public var store: StoreSource?
        /// The policy for retries after transient failures. If nil, such failures are delivered at once.
        public var retry: RetryPolicy?
        /// The policy for unreachable origins, to which the pipeline stops connecting for a while. If nil, every load
        /// tries to connect.
        public var circuitBreaker: CircuitBreaker?
        /// The maximum number of loads in progress, queued and running. Further loads fail at once with
        /// ``LoadError/Code/overloaded``, on their callback queues. Every task that waits for a job counts, including
        /// coalesced ones, prefetches and requests that revalidate a stale response. An image in memory is always
        /// served, and a load that was admitted is never refused later. If nil, there is no limit.
        public var maximumQueuedTasks: Int?
        /// The maximum number of loads in progress from one origin, queued and running, so that one slow origin does
        /// not take all of ``maximumQueuedTasks``. Counted and refused as there, by the origin of the request's own
        /// URL. URLs without an origin, such as files, are not limited. If nil, there is no limit.
        public var maximumQueuedTasksPerOrigin: Int?
        /// The deadline of requests that have none, or a later one: see ``ImageRequest/deadline``. If nil, only theirs
        /// counts.
        public var maximumDeadline: Duration?
        /// The maximum number of bytes of one body, whatever ``ImageRequest/Limits/maximumBodyBytes`` allows. By
        /// default, only that counts.
        public var maximumBodyBytes = Int64.max
        /// A source of numbers from 0 to 1 for the jitter of retries and probes. Called on any thread, with no lock
        /// held.
        public var random: @Sendable () -> Double = { Double.random(in: 0...1) }
        /// The maximum number of body bytes queued for the store, whose threads write them. A response whose bytes
        /// would exceed it is delivered but not stored.
        public var maximumBytesToStore: Int64 = 64 << 20

        /// Changes each request before it is sent over HTTP, for example to add a token or a signature. Called again
        /// after a 401, and for each redirect. It may be slow, and may be called for many loads at once;
        /// ``SharedValue`` fetches a token once for all of them. An error that it throws ends the load. Requests are
        /// coalesced by their values before this call, so the fields that it adds must not make responses differ.
        ///
        /// Called on ``taskExecutor``, with no lock held, while the load keeps its slot in the lane. If the load is
        /// cancelled, or its total timeout passes, the task that runs it is cancelled.
        public var willSend: (@Sendable (inout OutgoingRequest) async throws -> Void)?
        /// Judges each HTTP response other than redirects by its status and header fields, before its body is received.
        /// The body waits meanwhile. An error that it throws ends the load. Called as ``willSend`` is.
        public var didReceive: (@Sendable (ReceivedHead) async throws -> HeadDecision)?
        /// Receives log entries. Called on the thread where the event happens, with no lock held, so it must be quick.
        /// If nil, it costs nothing.
        public var log: (@Sendable (LogEntry) -> Void)?
        /// The observer of every stage of every load, with times, in order. If nil, it costs nothing.
        public var observer: Observation?
        /// The executor of hooks and sources. If nil, they run where tasks without an executor do.
        public var taskExecutor: (any TaskExecutor)?

        /// Creates a configuration with the defaults for everything else: no store, no retries, no circuit breaker, and
        /// no content codings. `Inflight` has an initializer with standard parts.
        ///
        /// - Parameters:
        ///   - transports: the transports. If several serve a scheme, the last one is used.
        ///   - codecs: the codecs.
        public init(transports: [TransportSource], codecs: CodecRegistry) {
            self.transports = transports
            self.codecs = codecs
        }
    }

    /// The place of a queued load among those of the same priority.
    ///
    /// Loads of both orders may be mixed: those with ``lastInFirstOut`` go first, the newest before the others; then
    /// those with ``firstInFirstOut``, the oldest first. A load that has waited for ten seconds is raised to the next
    /// priority, where it has the second order: so the newest loads of a list cannot hold up its oldest for ever.
    public enum LoadOrder: Sendable {
        /// Behind the loads that are queued.
        case firstInFirstOut
        /// Before the loads that are queued: for lists that scroll, where the newest request is the one in view.
        case lastInFirstOut
    }
}

extension ImagePipeline {
    /// The policy for unreachable origins: when the pipeline stops connecting, and how the origin's loads behave
    /// meanwhile.
    ///
    /// The origin's circuit opens after ``failuresToOpen`` connection failures in a row: refused connections, names
    /// that do not resolve, unreachable networks, and timeouts before any response. A status is a response, and closes
    /// it. While the circuit is open, the pipeline sends nothing to the origin. After a backoff it sends one load's
    /// request as a probe: its success closes the circuit, its failure opens it again for a longer time.
    ///
    /// Retries by ``RetryPolicy`` are sent whether the circuit is open or not, unless ``whileOpen`` is `wait`. Files
    /// and `data:` URLs have no origin.
    public struct CircuitBreaker: Sendable, Hashable {
        /// The behaviour of a load while its origin's circuit is open.
        public enum OpenPolicy: String, Sendable, Hashable, CaseIterable {
            /// Fail at once with ``LoadError/Code/originUnavailable``, queued loads too.
            case fail
            /// Wait in the queue until the circuit closes, or the load is the probe.
            case wait
        }

        /// The number of connection failures in a row that open a circuit, 1 or more.
        public var failuresToOpen = 5
        /// The time from opening a circuit to its first probe. It doubles with each probe that fails. The actual wait
        /// is random, between half of it and all of it.
        public var firstBackoff: Duration = .seconds(1)
        /// The maximum time from opening a circuit to its next probe, however many probes have failed.
        public var maximumBackoff: Duration = .seconds(60)
        /// The behaviour of an origin's loads while its circuit is open.
        public var whileOpen = OpenPolicy.fail
        /// The maximum number of failing origins to remember. Failures of origins beyond these are not counted.
        public var maximumOrigins = 1024

        /// Creates the defaults: five failures, then one second.
        public init() {}
    }
}

extension ImagePipeline.CircuitBreaker {
    /// Returns the time to the next probe.
    ///
    /// - Parameters:
    ///   - openings: how often the circuit has opened in a row, from 1.
    ///   - random: the part of the jitter, from 0 to 1.
    func backoff(opening openings: Int, random: Double) -> Duration {
        let first = max(0, firstBackoff.saturatedNanoseconds)
        let doubled = first.multipliedReportingOverflow(by: 1 << Int64(min(max(0, openings - 1), 40)))
        let longest = min(doubled.overflow ? .max : doubled.partialValue, max(0, maximumBackoff.saturatedNanoseconds))
        let part = random.isNaN ? 0 : min(max(random, 0), 1)
        let jitter = Int64(exactly: (Double(longest / 2) * part).rounded(.down)) ?? 0
        return .nanoseconds(longest - longest / 2 + min(jitter, longest / 2))
    }
}
