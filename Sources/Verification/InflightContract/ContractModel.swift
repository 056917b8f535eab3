public import InflightCore

/// The contract as a reference model. It receives the calls of callers and the observations of callers, transport and
/// decoder, and reports the violated rule.
///
/// It is written from the contract, uses only the engine's public names, and is as simple as possible: subscribers are
/// found by a search through all tasks. Calls are reported before they are made, the engine's actions when seen.
public final class ContractModel {
    struct TaskRecord {
        enum Phase {
            /// The task's request is still being prepared.
            case preparing
            /// The task's load has failed, and the task is about to request its next fallback.
            case awaitingFallback
            /// The task waits for a job or a slot.
            case waiting
            /// The task's outcome exists, but is not delivered yet.
            case undelivered
            case ended
            case cancelled
            /// The queue dropped work that may have been the task's ending.
            case lost
            /// As `lost`, and then cancelled. The task receives nothing more. Whether the cancel was in time is
            /// unknown.
            case silent
            /// An awaiting caller that has left. It receives nothing.
            case gone
        }

        var spec: RequestSpec
        /// The resource that was requested first, and the number of fallbacks requested since.
        let first: UInt8
        /// The origin whose limit of tasks it counts for; nil for sources and invalid URLs.
        let limitedOrigin: UInt8?
        var fallbacks = 0
        /// The thread on which the task's load failed.
        var failedOnThread = 0
        /// The task that leaves after this one has subscribed.
        var replaces: Int?
        /// Whether the task has ever subscribed to a job.
        var wasTaken = false
        var priority: ImageRequest.Priority
        /// Whether its jobs precede the others of their level while they are queued.
        let isNewestFirst: Bool
        var queue: Int
        var phase = Phase.preparing
        var job = -1
        /// How long the fetch had had a slot when the task subscribed, in nanoseconds.
        var joinedAfter: Int64 = 0
        var isShared = false
        /// The task left a job whose response varies. Which of the leaving tasks subscribes to the next job first is
        /// unspecified.
        var isMoved = false
        var isFromMemory = false
        var outcome = Outcome.none
        /// The source that the task's result names, and whether that result is stale.
        var source = LoadSource.network
        var isStale = false
        /// Whether the task receives stale content before the revalidated content.
        var receivesStale = false
        /// The delivery of the stale content that the task has, which is its result if its deadline passes.
        var standIn = -1
        /// The time from the call to the deadline; 0 for none.
        var timeLimit: Int64 = 0
        var deadline = Int64.max
        /// Whether the deadline passed while another thread was about to end the task.
        var mayHaveExpired = false
        /// Whether the total time was over when the fetch failed for another reason.
        var mayHaveTimedOut = false
        /// The delivery of the stale content that the task has not received yet.
        var stale = -1
        var hasRefetched = false
        /// The highest progress that was delivered to the task, and the highest that exists.
        var delivered: Int64 = -1
        var sent: Int64 = 0
        /// The amount of the image that was shown.
        var shown = 0
        var isInCallback = false
        var hasClosures: Bool
    }

    enum Outcome: Equatable {
        case none
        case content(Int)
        case failure(LoadError.Code)
    }

    struct JobRecord {
        enum State {
            /// Waiting for the job before it.
            case blocked
            /// Waiting for a slot. (The slot of a decode is visible only once the decode begins.)
            case queued
            case running
            /// Looking up in the store.
            case looking
            /// Waiting for the store to read a body or to finish writes. The job keeps its slot.
            case reading, storing
            /// Waiting for a time.
            case asleep
            case over
        }

        var key: Int
        var stage: Int
        var spec: RequestSpec
        var origin: UInt8
        /// Whether tasks with one identity have different URLs, so that the model cannot see whose URL is fetched.
        var hasAnyOrigin = false
        var isVaried: Bool
        var hasCredentials: Bool
        var upstream: Int
        var isInTable = true
        var state: State
        /// Whether the executor has received the job's work on pixels, as far as the model can see.
        var isDispatched = false
        /// The exchange that the job runs, or whose bytes it processes.
        var exchange = -1
        /// The number of body bytes received last.
        var received: Int64 = 0
        var level = -1
        var sequence = 0
        /// Whether a task has subscribed that wants it to precede the others of its level.
        var isNewestFirst = false
        var redirects = 0
        var startedAt: Int64 = -1
        /// The time at which it gave its slot back, to wait for another; -1 if it does not wait.
        var waitsSince: Int64 = -1

        /// The first part of a body that is being resumed.
        struct Part {
            var copy: StoredCopy
            var delivery: Int
        }

        /// The stored copy that the job reads.
        struct Read {
            var id: Int64
            var copy: StoredCopy
            var source: LoadSource
            var isStale: Bool
        }

        // With a store:
        /// The copies that were found, and the validators sent to the origin.
        var found: [StoredCopy] = []
        var offered: [StoredCopy] = []
        var conditions = Conditions()
        var part: Part?
        var reads: Read?
        var lookups = 0
        var wasSent = false
        var failedTries = 0
        /// The number of attempts that made progress, and the end of the longest first part.
        var progressed = 0
        var furthest = 0
        var wakesAt: Int64 = 0
        var isStoring = false
        /// The group of the job's last writes.
        var group = 0
        /// The writes of a failed response, made if no better response follows.
        var lateWrites: [StoreRecord.Write.Change] = []
        /// The source and the staleness of the job's content.
        var source = LoadSource.network
        var isStale = false
        /// Whether a background revalidation is requested.
        var isFollowed = false
        var isOfStored = false
        /// The response that the job's images share; -1 if HTTP's rules do not apply.
        var response = -1
    }

    /// The slot of a fetch, occupied by an exchange or by a call of the caller's code.
    struct ExchangeRecord {
        /// The exchange, or -1 if there is none now.
        var serial: Int
        var job: Int
        var origin: UInt8
        /// The priority that the transport was last given.
        var priority = ImageRequest.Priority.normal
        var isCancelled = false
        /// The call of `willSend` or of a source, or -1.
        var call = -1
        /// A 401 was received, and `willSend` is about to be called again.
        var isBetween = false
        /// It was cancelled because the total time was over for all tasks.
        var isOutOfTime = false
        /// The request was changed again by `willSend` after a 401.
        var isSecond = false

        // With a store:
        /// The exchange is over, and its job keeps the slot.
        var isHeld = false
        var headOutcome = HeadOutcome.none
        var requestTime: Int64 = 0
        var headTime: Int64 = 0
        var status = 0
        /// The delivery of the exchange's body, and the number of bytes received.
        var delivery = -1
        var received = 0
        var shouldStore = false
        var replaced: Set<Int64> = []
        var writes: [StoreRecord.Write.Change] = []

        init(
            serial: Int, job: Int, origin: UInt8, call: Int = -1, isSecond: Bool = false
        ) {
            self.serial = serial
            self.job = job
            self.origin = origin
            self.call = call
            self.isSecond = isSecond
        }
    }

    public let bounds: Bounds
    /// The fallbacks of a resource, in order, without kind, size and processors.
    public var fallbacks: [UInt8: [RequestSpec]] = [:]
    public internal(set) var violation: Violation?
    /// Returns the key of a stored response by resource, origin, and whether a redirect led there.
    public var cacheKey: (UInt8, UInt8, Bool) -> String = { _, _, _ in "" }
    /// The running thread among those nested on this stack.
    public var thread = 0

    var tasks: [TaskRecord] = []
    /// The tasks in phase `waiting`.
    var waiting: [Int] = []
    var jobs: [JobRecord] = []
    var live: [Int] = []
    var exchanges: [ExchangeRecord] = []
    /// The images in memory.
    var kept: [Int: CachedImage] = [:]
    var responses: [CachedResponse] = []
    /// The newest response of each resource.
    var newest: [Resource: Int] = [:]
    var multiplexed: UInt8 = 0
    var circuits: [UInt8: CircuitRecord] = [:]
    var isClosed = false
    var isStopped = false
    var store = StoreRecord()
    var now: Int64 = 0
    var lastSequence = 0
    /// The work on pixels that the decode executor received and has not finished.
    var dispatched = 0
    /// The number of running decoders.
    var decoding = 0
    /// The numbers of occupied slots and of exchanges that the model has seen so far.
    var startedExchanges = 0
    var sentExchanges = 0
    /// The number of exchanges that the log hook received.
    var loggedExchanges = 0
    var lastCall = -1
    /// The number of calls of `willSend` that may still follow a 401 of a job without subscribers.
    var lateQuestions = 0
    var tokens = Tokens()
    var loaders: [LoaderRecord] = []
    var prefetcher: PrefetchRecord?
    /// The queue on which the prefetcher receives endings, and the endings that wait there.
    var prefetchQueue = -1
    var deliveries: [Int] = []
    /// Whether a shutdown ended several of the prefetcher's loads at once, in any order. The prefetcher's state is
    /// unknown then.
    var isPrefetcherUnknown = false
    /// The tasks in phase `awaitingFallback`, in order.
    var awaitingFallback: [Int] = []
    var coalescedTasks = 0
    var requestedTasks = 0
    /// The number of tasks that left a job whose response varies. A task that is cancelled before the next job is not
    /// counted again.
    var movedTasks = 0

    public init(bounds: Bounds) {
        self.bounds = bounds
        tasks.reserveCapacity(32)
        waiting.reserveCapacity(32)
        jobs.reserveCapacity(64)
        live.reserveCapacity(32)
        exchanges.reserveCapacity(16)
    }

    /// Records a violation that another check has found.
    public func report(_ other: Violation) {
        if violation == nil { violation = other }
    }

    func report(_ rule: Int, _ message: @autoclosure () -> String) {
        if violation == nil { violation = Violation(rule: rule, message: message()) }
    }

    // MARK: Calls

    /// A load is requested. ``subscribes(_:)`` follows when its request has been prepared.
    ///
    /// - Parameters:
    ///   - queue: the callback queue, or -1 if the caller awaits.
    ///   - isCancelled: whether the surrounding Swift task was already cancelled.
    ///   - receivesStale: whether its caller consumes its events.
    ///   - timeLimit: the time from the call to the deadline in nanoseconds; 0 for none.
    /// - Returns: the number of the task.
    public func requested(
        _ spec: RequestSpec, priority: ImageRequest.Priority, queue: Int, isCancelled: Bool = false,
        receivesStale: Bool = false, timeLimit: Int64 = 0, order: ImagePipeline.LoadOrder? = nil
    ) -> Int {
        let task = tasks.count
        tasks.append(
            TaskRecord(
                spec: spec, first: spec.resource,
                limitedOrigin: spec.kind == .refused || spec.source != .none ? nil : spec.origin, priority: priority,
                isNewestFirst: (spec.order ?? order ?? bounds.order) == .lastInFirstOut, queue: queue,
                hasClosures: queue >= 0))
        tasks[task].receivesStale = receivesStale
        tasks[task].timeLimit = timeLimit
        if isCancelled { tasks[task].phase = .cancelled }
        return task
    }

    /// No more of the caller's code runs before the engine takes the load.
    public func subscribes(_ task: Int) {
        // One that was cancelled before may still have its timer. One that loads a fallback has had it from its call.
        if tasks[task].timeLimit > 0 { tasks[task].deadline = now + tasks[task].timeLimit }
        tasks[task].timeLimit = 0
        guard tasks[task].phase == .preparing else { return }
        tasks[task].phase = .waiting
        waiting.append(task)
        subscribe(task, varied: false)
        if tasks[task].phase != .awaitingFallback, let old = tasks[task].replaces { cancels(old) }
    }

    /// `cancel()` is about to be called, or the caller's own Swift task is about to be cancelled.
    public func cancels(_ task: Int) {
        switch tasks[task].phase {
        case .waiting:
            leave(task)
            tasks[task].phase = .cancelled
        case .preparing, .undelivered: tasks[task].phase = .cancelled
        case .awaitingFallback:
            awaitingFallback.removeAll { $0 == task }
            tasks[task].phase = .cancelled
            if let old = tasks[task].replaces { cancels(old) }
        case .lost: tasks[task].phase = .silent
        case .ended, .cancelled, .silent, .gone: break
        }
    }

    /// The timer of the deadlines is about to fire. Tasks whose deadline has passed end now, in the order of their
    /// deadlines.
    public func deadlinesPass() {
        let due = tasks.indices.filter { tasks[$0].deadline <= now }
        for task in due.sorted(by: { tasks[$0].deadline < tasks[$1].deadline }) {
            tasks[task].deadline = .max
            let standIn = tasks[task].standIn
            let outcome = standIn >= 0 ? Outcome.content(standIn) : .failure(.deadlineExceeded)
            switch tasks[task].phase {
            case .waiting:
                leave(task)
                if standIn >= 0 { tasks[task].isStale = true }
                finish(task, outcome)
            // Between two of its fallbacks.
            case .awaitingFallback, .preparing:
                awaitingFallback.removeAll { $0 == task }
                finish(task, outcome)
            // Its result is known, but another thread has not passed it to the gate yet.
            case .undelivered: tasks[task].mayHaveExpired = !bounds.isFlat
            case .ended, .cancelled, .lost, .silent, .gone: break
            }
        }
    }

    /// Returns whether a task has this deadline.
    public func hasDeadline(at time: Int64) -> Bool { tasks.contains { $0.deadline == time } }

    /// `isCancelled` was read.
    public func saw(isCancelled: Bool, of task: Int) {
        let isExpected = tasks[task].phase == .cancelled || tasks[task].phase == .gone
        // The model cannot see whether a queue dropped an ending with its other work.
        if tasks[task].phase == .lost || tasks[task].phase == .silent || isCancelled == isExpected { return }
        report(3, "isCancelled of task \(task), which is \(tasks[task].phase), is \(isCancelled)")
    }

    /// The consumer of a task's events releases them.
    public func releasesEvents(_ task: Int) {
        let wasOver = tasks[task].phase == .ended
        cancels(task)
        if !wasOver { tasks[task].phase = .gone }
    }

    public func prioritizes(_ task: Int, to priority: ImageRequest.Priority) {
        guard tasks[task].priority != priority else { return }
        tasks[task].priority = priority
        noteLevels()
    }

    /// A queue is about to drop all its pending work.
    public func drops(queue: Int) {
        for task in tasks.indices where tasks[task].queue == queue && tasks[task].phase == .undelivered {
            tasks[task].phase = .lost
        }
    }

    /// The pipeline is about to be shut down.
    public func shutsDown(_ mode: ImagePipeline.ShutdownMode) {
        isClosed = true
        guard case .cancel = mode else { return }
        isStopped = true
        if waiting.count(where: { tasks[$0].queue == prefetchQueue }) > 1 {
            isPrefetcherUnknown = true
            prefetcher = nil
        }
        for task in waiting {
            tasks[task].job = -1
            tasks[task].phase = tasks[task].queue == Self.ownQueue ? .ended : .undelivered
            tasks[task].outcome = .failure(.shutDown)
            if tasks[task].queue == prefetchQueue { deliveries.append(task) }
        }
        waiting.removeAll(keepingCapacity: true)
        for job in live { abandon(job) }
        live.removeAll(keepingCapacity: true)
    }

    public func emptiesMemory() {
        kept.removeAll(keepingCapacity: true)
    }

    /// `cached` has returned for an image.
    public func saw(cached exchange: Int?, isStale: Bool, for spec: RequestSpec) {
        let image = kept[spec.memoryKey(stage: spec.stages - 1, varied: false)]
        if let image, exchange != nil, isStale == isFresh(image) {
            report(7, "cached resource \(spec.resource) is wrongly marked as \(isStale ? "stale" : "fresh")")
        }
        let expected = image?.exchange
        if exchange != expected {
            report(
                7,
                "the image in memory for resource \(spec.resource) is of exchange \(text(exchange)), expected \(text(expected))"
            )
        }
    }

    private func text(_ exchange: Int?) -> String { exchange.map { "\($0)" } ?? "none" }

    // MARK: Callbacks

    public func progressBegins(_ task: Int, received: Int64, at context: CallContext) {
        callbackBegins(task, "progress", at: context)
        if received <= tasks[task].delivered {
            report(5, "progress of task \(task) went from \(tasks[task].delivered) to \(received)")
        }
        if received > tasks[task].sent {
            report(5, "task \(task) received progress of \(received) bytes; \(tasks[task].sent) have arrived")
        }
        tasks[task].delivered = received
    }

    public func previewBegins(_ task: Int, _ content: Content, detail: Int, at context: CallContext) {
        callbackBegins(task, "a preview", at: context)
        if detail <= tasks[task].shown {
            report(5, "the preview detail of task \(task) went from \(tasks[task].shown) to \(detail)")
        }
        let spec = tasks[task].spec
        if content.size != spec.size || content.first != spec.first || content.second != spec.second {
            report(7, "task \(task) received a preview of another image")
        }
        tasks[task].shown = detail
    }

    public func endingBegins(_ task: Int, _ ending: Ending, at context: CallContext) {
        callbackBegins(task, "the ending", at: context)
        check(task, ending)
        tasks[task].phase = .ended
    }

    public func callbackReturned(_ task: Int) {
        tasks[task].isInCallback = false
    }

    private func callbackBegins(_ task: Int, _ what: String, at context: CallContext) {
        let record = tasks[task]
        if context.loading == task { report(2, "\(what) of task \(task) was delivered inside its load call") }
        if context.queue != record.queue {
            report(1, "\(what) of task \(task) was delivered on queue \(context.queue), not \(record.queue)")
        }
        if record.phase == .cancelled || record.phase == .silent {
            report(4, "\(what) of task \(task) was delivered after cancel()")
        }
        if record.phase == .ended { report(3, "\(what) of task \(task) was delivered after its ending") }
        if record.isInCallback { report(5, "\(what) of task \(task) was delivered during another callback") }
        if record.queue >= 0 { tasks[task].isInCallback = true }
    }

    /// An awaiting caller receives progress.
    public func delivered(_ task: Int, progress received: Int64) {
        progressBegins(task, received: received, at: CallContext())
    }

    /// An awaiting caller receives a preview.
    public func delivered(_ task: Int, preview content: Content, detail: Int) {
        previewBegins(task, content, detail: detail, at: CallContext())
    }

    /// An awaiting caller receives its one ending.
    public func delivered(_ task: Int, _ ending: Ending) {
        if tasks[task].phase == .cancelled {
            if case .failure(.cancelled) = ending {
                tasks[task].phase = .gone
            } else {
                report(3, "task \(task) was cancelled, but its caller received \(ending)")
            }
            return
        }
        if tasks[task].phase == .gone { report(3, "task \(task) received two endings") }
        endingBegins(task, ending, at: CallContext())
    }

    private func check(_ task: Int, _ ending: Ending) {
        let record = tasks[task]
        if record.stale >= 0 { report(5, "task \(task) ended without its stale image") }
        if record.mayHaveExpired, case .failure(.deadlineExceeded) = ending { return }
        if record.mayHaveTimedOut, case .failure(.timedOut) = ending { return }
        switch (record.outcome, ending) {
        case (.failure(let expected), .failure(let code)):
            if code != expected { report(3, "task \(task) failed with \(code), expected \(expected)") }
        case (.content(let exchange), .content(let content, let source)):
            check(content, exchange: exchange, task: task)
            let expected: LoadSource =
                record.isFromMemory || record.source == .memory
                ? .memory
                : record.spec.source != .none
                    ? .source : record.source != .network ? record.source : record.isShared ? .shared : .network
            if let source, source != expected, !record.isMoved {
                report(7, "task \(task) reports source \(source), expected \(expected)")
            }
        case (.none, _): report(3, "task \(task) ended with \(ending) while its job is in flight")
        case (_, let ending): report(3, "task \(task) ended with \(ending), expected \(record.outcome)")
        }
    }

    private func check(_ content: Content, exchange: Int, task: Int) {
        let spec = tasks[task].spec
        if content.resource != spec.resource {
            report(8, "task \(task) received resource \(content.resource), expected \(spec.resource)")
        }
        if content.language != 0, content.language != spec.language {
            report(8, "task \(task) received language \(content.language), expected \(spec.language)")
        }
        if content.exchange != exchange {
            report(7, "task \(task) received the content of exchange \(content.exchange), expected \(exchange)")
        }
        checkVersion(content, task)
        if spec.kind == .image, (content.size, content.first, content.second) != (spec.size, spec.first, spec.second) {
            report(8, "task \(task) received an image of another size or by other processors")
        }
    }

    /// The closures of a task and their captures are released.
    public func released(_ task: Int, at context: CallContext) {
        tasks[task].hasClosures = false
        let queue = tasks[task].queue
        // Work that the queue dropped may be released in any context that held its last reference.
        if tasks[task].phase == .lost || tasks[task].phase == .silent { return }
        // Inside the call that requests the load, the caller holds the closures itself.
        if context.queue == queue || context.cancelling == task || context.dropping == queue || context.loading == task
        {
            return
        }
        report(10, "the captures of task \(task) were released on a thread of the engine")
    }
}
