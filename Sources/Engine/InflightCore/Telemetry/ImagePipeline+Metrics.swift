internal import InflightConcurrency

extension ImagePipeline {
    /// Metrics computed from events: work in progress, sources of results, savings by coalescing, and durations.
    ///
    /// A value type: an ``Observer`` holds one under a lock or on its queue, and copies it for readers. It keeps state
    /// of loads and jobs in flight, and none of those that have ended. Durations are in nanoseconds.
    ///
    /// It counts neither events before its observer was registered nor dropped ones. ``ImagePipeline/statistics``
    /// counts everything without an observer, but has no histograms.
    ///
    /// ```swift
    /// func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
    ///     for event in events { metrics.record(event) }
    /// }
    /// ```
    public struct Metrics: Sendable {
        /// The number of loads whose result has not been delivered.
        public var loadsInFlight: Int { tasks.count }
        /// The number of jobs that wait for a slot, by lane.
        public private(set) var waiting: [Event.Lane: Int] = [:]
        /// The number of jobs that have a slot, by lane.
        public private(set) var running: [Event.Lane: Int] = [:]

        /// The number of successful loads by source.
        public private(set) var successes: [LoadSource: Int] = [:]
        /// The number of failed loads by error code.
        public private(set) var failures: [LoadError.Code: Int] = [:]
        /// The number of loads that were cancelled before their result was delivered.
        public private(set) var cancelledLoads = 0
        /// The number of requests handed to transports, repeated requests and redirects included.
        public private(set) var exchanges = 0
        /// The number of retries after transient failures.
        public private(set) var retries = 0
        /// The bytes of bodies on the wire, of successful exchanges.
        public private(set) var wireBytes: Int64 = 0
        /// The bytes of bodies that coalescing saved from being fetched again.
        public private(set) var bytesSavedBySharing: Int64 = 0
        /// The bytes read from the store.
        public private(set) var storedBytesRead: Int64 = 0

        /// The sizes of bodies in bytes, after content coding is decoded: each body once, as its fetch delivered it,
        /// from the network or the store, however many loads were coalesced.
        public private(set) var bodySizes = Histogram()
        /// The times that jobs were queued for a slot, in any lane.
        public private(set) var queueTimes = Histogram()
        /// The times from a request to the head of its response.
        public private(set) var firstByteTimes = Histogram()
        /// The times from a request to the end of its exchange.
        public private(set) var fetchTimes = Histogram()
        /// The running times of decodes and processors.
        public private(set) var decodeTimes = Histogram()
        /// The times from a load's start until its result is known.
        public private(set) var totalTimes = Histogram()
        /// The times from a load's result being known until it is delivered on its queue, or dropped by it.
        public private(set) var deliveryTimes = Histogram()

        private struct Task {
            var askedAt: MonotonicTime
            var finishedAt: MonotonicTime?
            var bytes: Int64 = 0
        }

        private struct Job {
            var queuedAt: MonotonicTime?
            var startedAt: MonotonicTime?
            var sentAt: MonotonicTime?
            var lane: Event.Lane?
            var isRunning = false
            var bytes: Int64 = 0
            /// Whether its bytes are a body that it fetched itself.
            var isFetch = false
            var tasks: [Event.TaskNumber] = []
            var dependents: [Event.JobNumber] = []
        }

        private var tasks: [Event.TaskNumber: Task] = [:]
        private var jobs: [Event.JobNumber: Job] = [:]

        /// Creates metrics that have counted nothing.
        public init() {}

        /// Counts an event, in about 100 ns.
        public mutating func record(_ event: Event) {
            if let task = event.task {
                record(event, task)
            } else if let job = event.job {
                record(event, job: job)
            }
        }

        private mutating func record(_ event: Event, _ number: Event.TaskNumber) {
            switch event.kind {
            case .requested: tasks[number] = Task(askedAt: event.time)
            case .subscribed:
                if let job = event.job { jobs[job]?.tasks.append(number) }
            case .finished(let outcome):
                guard let task = tasks[number] else { return }
                tasks[number]?.finishedAt = event.time
                totalTimes.record((event.time - task.askedAt).saturatedNanoseconds)
                switch outcome {
                case .success(let source):
                    successes[source, default: 0] += 1
                    if source == .shared { bytesSavedBySharing += task.bytes }
                case .failure(let code): failures[code, default: 0] += 1
                }
            case .delivered, .dropped:
                if let finished = tasks.removeValue(forKey: number)?.finishedAt {
                    deliveryTimes.record((event.time - finished).saturatedNanoseconds)
                }
            case .cancelled:
                tasks[number] = nil
                cancelledLoads += 1
            default: break
            }
        }

        private mutating func record(_ event: Event, job number: Event.JobNumber) {
            if case .created(let kind, _, let after) = event.kind {
                jobs[number] = Job(isFetch: kind == .fetch)
                if let after { jobs[after]?.dependents.append(number) }
                return
            }
            guard var job = jobs[number] else { return }
            switch event.kind {
            case .queued(let lane):
                move(&job, to: lane, isRunning: false)
                job.queuedAt = event.time
            case .started(let lane):
                if let queued = job.queuedAt { queueTimes.record((event.time - queued).saturatedNanoseconds) }
                move(&job, to: lane, isRunning: true)
                job.startedAt = event.time
            case .retryScheduled:
                retries += 1
                move(&job, to: nil, isRunning: false)
            case .readFromStore(let bytes):
                storedBytesRead += bytes
                job.bytes = bytes
            case .sent:
                exchanges += 1
                job.sentAt = event.time
            case .responded:
                if let sent = job.sentAt { firstByteTimes.record((event.time - sent).saturatedNanoseconds) }
            case .received(let bytes): job.bytes = bytes
            case .exchangeEnded(let bytes):
                wireBytes += bytes ?? 0
                if let sent = job.sentAt.take() { fetchTimes.record((event.time - sent).saturatedNanoseconds) }
            default: break
            }
            guard event.kind.endsJob else {
                jobs[number] = job
                return
            }
            if job.lane == .decode, let started = job.startedAt {
                decodeTimes.record((event.time - started).saturatedNanoseconds)
            }
            if job.isFetch, case .succeeded = event.kind { bodySizes.record(job.bytes) }
            move(&job, to: nil, isRunning: false)
            for task in job.tasks { tasks[task]?.bytes = job.bytes }
            for dependent in job.dependents { jobs[dependent]?.bytes = job.bytes }
            jobs[number] = nil
        }

        private mutating func move(_ job: inout Job, to lane: Event.Lane?, isRunning: Bool) {
            if let lane = job.lane {
                if job.isRunning { running[lane, default: 0] -= 1 } else { waiting[lane, default: 0] -= 1 }
            }
            if let lane {
                if isRunning { running[lane, default: 0] += 1 } else { waiting[lane, default: 0] += 1 }
            }
            (job.lane, job.isRunning) = (lane, isRunning)
        }
    }
}
