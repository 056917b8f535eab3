extension ImagePipeline {
    /// What a pipeline did so far, and what it has under way: always counted, whoever listens or not.
    ///
    /// It costs a load an addition or two, and a reader a lock for the time of copying some numbers. How times and sizes
    /// are spread is not here: histograms of waiting, first byte, fetch, decode and delivery, from `p50` to `p99`, are those
    /// of a ``PipelineMeter``, which a ``PipelineListener`` keeps for a program that wants them. What both count has the
    /// same name and the same meaning.
    public struct Statistics: Sendable, Hashable {
        /// Tasks that had to wait for work; what was in memory is not counted.
        public internal(set) var tasks = 0
        /// Tasks that found work under way that they could share.
        public internal(set) var sharedTasks = 0
        /// Turns that fetches and sources were given in time: one for each redirect too, none for what is asked again after
        /// a 401.
        public internal(set) var exchanges = 0

        /// Tasks that wait for work now.
        public internal(set) var tasksUnderWay = 0
        /// Jobs that wait, work, or have not stopped yet.
        public internal(set) var jobsUnderWay = 0
        /// Bytes of bodies in flight that are in memory now; see ``ImagePipeline/Configuration/maximumBodyBytesInFlight``.
        public internal(set) var bodyBytesInFlight: Int64 = 0
        /// Transfers that are paused now, because bodies in flight use up their memory.
        public internal(set) var pausedTransfers = 0
        var waitingJobs = Lanes()
        var runningJobs = Lanes()

        /// Loads that went well, by where their answers came from: hits by kind. Only sources that gave something are there.
        ///
        /// Counted where a load's result becomes known. What ``ImagePipeline/cached(_:)`` finds is no load: it is among the
        /// hits of ``ImagePipeline/memoryCacheStatistics``.
        public internal(set) var successes: [LoadSource: Int] = [:]
        /// Loads that went badly, by why; a fallback that went well instead makes a load a success.
        public internal(set) var failures: [LoadError.Code: Int] = [:]
        /// Loads that were cancelled before they were told an ending. One of which the result was known already is among
        /// ``successes`` or ``failures`` too.
        public internal(set) var cancelledLoads = 0
        /// Bytes of bodies, content coding undone, that were not fetched once more, because loads shared what was under
        /// way.
        public internal(set) var bytesSavedBySharing: Int64 = 0

        struct Lanes: Sendable, Hashable {
            var store = 0
            var fetch = 0
            var decode = 0

            var byName: [PipelineEvent.Lane: Int] { [.store: store, .fetch: fetch, .decode: decode] }
        }

        public init() {}
    }
}

extension ImagePipeline.Statistics {
    /// Jobs that wait for a place now, by lane; every lane is there.
    public var waiting: [PipelineEvent.Lane: Int] { waitingJobs.byName }

    /// Jobs that have a place now, by lane; every lane is there. Previews that are being made have places for decoding.
    public var running: [PipelineEvent.Lane: Int] { runningJobs.byName }

    /// In the order of ``place(of:)``.
    static let knownSources: [LoadSource] = [
        .memory, .network, .shared, .disk, .revalidated, .file, .data, .source,
    ]

    /// Where a source is counted; `nil`: by its name.
    static func place(of source: LoadSource) -> Int? {
        switch source {
        case .memory: 0
        case .network: 1
        case .shared: 2
        case .disk: 3
        case .revalidated: 4
        case .file: 5
        case .data: 6
        case .source: 7
        default: nil
        }
    }
}
