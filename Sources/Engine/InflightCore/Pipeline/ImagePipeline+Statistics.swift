extension ImagePipeline {
    /// The counters of a pipeline, and its state now. Always counted, with or without an observer.
    ///
    /// They cost a load one or two additions, and a reader a lock for the time of copying some numbers. Distributions
    /// are not included: histograms of queueing, first byte, fetch, decode and delivery, from `p50` to `p99`, are those
    /// of a ``Metrics``, which an ``Observer`` maintains if a program wants them. Counters with the same name in both
    /// have the same meaning, except ``exchanges``.
    public struct Statistics: Sendable, Hashable {
        /// The number of tasks that had to wait for a job. Images found in memory are not counted. A task that
        /// continues with another request, such as a fallback, is counted again.
        public internal(set) var tasks = 0
        /// The number of tasks that were coalesced with a job in flight.
        public internal(set) var coalescedTasks = 0
        /// The number of slots in the fetch lane that were put to use by fetches and sources. Each redirect and each
        /// retry takes another slot. The repeated request after a 401 takes none.
        public internal(set) var exchanges = 0

        /// The number of tasks that wait for a job now.
        public internal(set) var tasksInFlight = 0
        /// The number of jobs that are queued or running, or have not stopped yet.
        public internal(set) var jobsInFlight = 0
        /// The bytes of bodies in flight that are in memory; see
        /// ``ImagePipeline/Configuration/maximumBodyBytesInFlight``.
        public internal(set) var bodyBytesInFlight: Int64 = 0
        /// The number of transfers that are paused now, because bodies in flight have used up their memory.
        public internal(set) var pausedTransfers = 0
        var waitingJobs = Lanes()
        var runningJobs = Lanes()

        /// The number of successful loads by source. Only sources with a success are included.
        ///
        /// A load is counted when its result becomes known. A lookup in ``ImagePipeline/cache`` is no load:
        /// ``ImagePipeline/Cache/statistics`` counts it.
        public internal(set) var successes: [LoadSource: Int] = [:]
        /// The number of failed loads by error code. A load whose fallback succeeded counts as a success.
        public internal(set) var failures: [LoadError.Code: Int] = [:]
        /// The number of loads that were cancelled before their result was delivered. If the result was known already,
        /// the load is also in ``successes`` or ``failures``.
        public internal(set) var cancelledLoads = 0
        /// The bytes of bodies, after content coding is decoded, that coalescing saved from being fetched again.
        public internal(set) var bytesSavedBySharing: Int64 = 0

        struct Lanes: Sendable, Hashable {
            var store = 0
            var fetch = 0
            var decode = 0

            var byName: [Event.Lane: Int] { [.store: store, .fetch: fetch, .decode: decode] }
        }

        /// Creates statistics whose counters are all 0.
        public init() {}
    }
}

extension ImagePipeline.Statistics {
    /// The number of jobs that wait for a slot now, by lane. Every lane is included.
    public var waiting: [ImagePipeline.Event.Lane: Int] { waitingJobs.byName }

    /// The number of jobs that have a slot now, by lane. Every lane is included. Running previews have decode slots.
    public var running: [ImagePipeline.Event.Lane: Int] { runningJobs.byName }

    /// The sources with a counter of their own. Others are counted by name.
    static let knownSources: [LoadSource] = [
        .memory, .network, .shared, .disk, .revalidated, .file, .data, .source,
    ]
}
