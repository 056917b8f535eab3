public import InflightCore

/// The contract as a reference: told what callers do and what they, the transport and the decoder see, it says which rule
/// is broken.
///
/// It is written from the contract and knows nothing of the engine but its public names. It is as plain as can be: who
/// waits for what is found by looking through everybody who waits. What callers do is told before it is done, what the
/// engine does when it is seen.
public final class ContractModel {
    struct TaskRecord {
        enum Phase {
            /// Its request is still being made ready.
            case asking
            /// What it asked for has failed; it is about to ask for its next fallback.
            case falling
            /// For a job, or a place.
            case waiting
            /// Its outcome exists; the caller has not heard.
            case told
            case ended
            case cancelled
            /// Its queue let go of what may have been its ending.
            case lost
            /// The same, and cancelled then: it hears nothing more, but whether it was cancelled in time nobody knows.
            case silent
            /// An awaiting caller that went away: it hears nothing.
            case gone
        }

        var wish: Wish
        /// Which resource was asked for first, and how many of its fallbacks since.
        let first: UInt8
        var fallbacks = 0
        /// The thread on which it fails.
        var fallsOn = 0
        /// What leaves when this has joined.
        var replaces: Int?
        /// Work was under way for it.
        var wasTaken = false
        var priority: LoadPriority
        var queue: Int
        var phase = Phase.asking
        var job = -1
        var isShared = false
        /// It left a job whose answer varies: who among those that leave is the first of the next is not said.
        var isMoved = false
        var isFromMemory = false
        var outcome = Outcome.none
        /// Where it says that it came from, and whether that is past its time.
        var source = LoadSource.network
        var isStale = false
        /// It hears of what is stale before what follows.
        var hearsStale = false
        /// What is stale and was not heard of yet: what delivered it.
        var stale = -1
        var hasRefetched = false
        /// The furthest progress that was heard, and the furthest there is.
        var heard: Int64 = -1
        var sent: Int64 = 0
        /// How much of the picture was shown.
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
            /// For the job before it.
            case blocked
            /// For a place. (Of a decode it cannot be seen whether it has one before it begins.)
            case wanting
            case running
            /// For the store.
            case looking
            /// For a body to be read from the store, or for what is to be written; it keeps its place.
            case reading, settling
            /// For a time to come.
            case asleep
            case over
        }

        var key: Int
        var stage: Int
        var wish: Wish
        var origin: UInt8
        /// Several who are known by one identity have other URLs, and who of them came first cannot be seen.
        var hasAnyOrigin = false
        var isVaried: Bool
        var hasCredentials: Bool
        var upstream: Int
        var isInTable = true
        var state: State
        /// The executor has its work on pixels, as far as can be seen.
        var isHanded = false
        /// The exchange that it runs, or whose bytes it works on.
        var exchange = -1
        /// How much of a body came last.
        var received: Int64 = 0
        var level = -1
        var sequence = 0
        var redirects = 0
        var startedAt: Int64 = -1

        /// The first part of a body, whose rest is asked for.
        struct Part {
            var copy: StoredCopy
            var delivery: Int
        }

        /// What is read for it.
        struct Read {
            var id: Int64
            var copy: StoredCopy
            var source: LoadSource
            var isStale: Bool
        }

        // Where there is a store:
        /// What was found when it was looked for, and what the origin is asked about.
        var found: [StoredCopy] = []
        var offered: [StoredCopy] = []
        var conditions = Conditions()
        var part: Part?
        var reads: Read?
        var lookUps = 0
        var wasSent = false
        var failedTries = 0
        var wakesAt: Int64 = 0
        var isSettling = false
        /// What was settled last for it.
        var group = 0
        /// What an answer that broke has to have written, where nothing better comes.
        var lateWrites: [StoreRecord.Write.Change] = []
        /// Of what it gives, or works on.
        var source = LoadSource.network
        var isStale = false
        /// What follows it is asked for.
        var isFollowed = false
        var isOfStored = false
        /// What images made of it share; -1 where HTTP has no say.
        var life = -1
    }

    /// A place that a fetch takes: with an exchange, or while the caller's code is asked for it.
    struct ExchangeRecord {
        /// -1 where there is no exchange now.
        var serial: Int
        var job: Int
        var origin: UInt8
        /// What the transport was told last.
        var priority = LoadPriority.normal
        var isCancelled = false
        /// The call of `willSend`, or of a source, or -1.
        var call = -1
        /// It was answered 401, and `willSend` is about to be asked again.
        var isBetween = false
        /// What is sent was asked for again after a 401.
        var isSecond = false

        // Where there is a store:
        /// The exchange is over, and its job keeps the place.
        var isHeld = false
        var judgement = Judgement.none
        var requestTime: Int64 = 0
        var headTime: Int64 = 0
        var status = 0
        /// What its body is known by, and how much there is of that.
        var delivery = -1
        var received = 0
        var isToBeKept = false
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
    /// What is asked for where a resource fails, in order: all but kind, size and processors.
    public var fallbacks: [UInt8: [Wish]] = [:]
    public internal(set) var violation: Violation?
    /// What an answer is stored under, by resource, origin, and whether it was redirected there.
    public var cacheKey: (UInt8, UInt8, Bool) -> String = { _, _, _ in "" }
    /// Which of the threads that stand above one another runs now.
    public var thread = 0

    var tasks: [TaskRecord] = []
    /// Those in phase `waiting`.
    var waiting: [Int] = []
    var jobs: [JobRecord] = []
    var live: [Int] = []
    var exchanges: [ExchangeRecord] = []
    /// The images in memory.
    var kept: [Int: Kept] = [:]
    var lives: [Life] = []
    /// The newest response of each resource.
    var newest: [Resource: Int] = [:]
    var multiplexed: UInt8 = 0
    var circuits: [UInt8: CircuitRecord] = [:]
    var isClosed = false
    var isStopped = false
    var store = StoreRecord()
    var now: Int64 = 0
    var lastSequence = 0
    /// Work on pixels that the decode executor was handed and that is not done.
    var handed = 0
    /// Decoders that are at work.
    var decoding = 0
    /// Places that were seen to be taken, and exchanges.
    var startedExchanges = 0
    var sentExchanges = 0
    /// Exchanges that the log hook heard of.
    var loggedExchanges = 0
    var lastCall = -1
    /// After a 401 of what nobody waits for the hook may still be asked.
    var lateQuestions = 0
    var tokens = Tokens()
    var loaders: [LoaderRecord] = []
    var prefetcher: PrefetchRecord?
    /// The queue on which the prefetcher hears of endings, and those that wait there.
    var prefetchQueue = -1
    var deliveries: [Int] = []
    /// Several of its loads were ended at once by a shutdown, in whatever order: what it has and does is not known any more.
    var isPrefetcherUnknown = false
    /// Those in phase `falling`, in their order.
    var falling: [Int] = []
    var joinedTasks = 0
    var askedTasks = 0
    /// Tasks that left a job whose answer varies. Whoever is cancelled on the way to the next is not counted again.
    var movedTasks = 0

    public init(bounds: Bounds) {
        self.bounds = bounds
        tasks.reserveCapacity(32)
        waiting.reserveCapacity(32)
        jobs.reserveCapacity(64)
        live.reserveCapacity(32)
        exchanges.reserveCapacity(16)
    }

    /// Somebody else found a rule broken.
    public func breaks(_ other: Violation) {
        if violation == nil { violation = other }
    }

    func broken(_ rule: Int, _ message: @autoclosure () -> String) {
        if violation == nil { violation = Violation(rule: rule, message: message()) }
    }

    // MARK: What callers do

    /// A load is asked for; ``joins(_:)`` follows when its request has been made ready.
    ///
    /// - Parameters:
    ///   - queue: the callback queue, or -1 where the caller awaits.
    ///   - isCancelled: the surrounding task was cancelled before.
    /// - Returns: the number of the task.
    ///   - hearsStale: its caller goes through its events.
    public func asked(
        _ wish: Wish, priority: LoadPriority, queue: Int, isCancelled: Bool = false, hearsStale: Bool = false
    ) -> Int {
        let task = tasks.count
        tasks.append(
            TaskRecord(
                wish: wish, first: wish.resource, priority: priority, queue: queue, hasClosures: queue >= 0))
        tasks[task].hearsStale = hearsStale
        if isCancelled { tasks[task].phase = .cancelled }
        return task
    }

    /// No more of the caller's code comes between this and the engine.
    public func joins(_ task: Int) {
        guard tasks[task].phase == .asking else { return }
        tasks[task].phase = .waiting
        waiting.append(task)
        join(task, varied: false)
        if tasks[task].phase != .falling, let old = tasks[task].replaces { cancels(old) }
    }

    /// To be told before each `cancel()`, and before the caller's own task is cancelled.
    public func cancels(_ task: Int) {
        switch tasks[task].phase {
        case .waiting:
            leave(task)
            tasks[task].phase = .cancelled
        case .asking, .told: tasks[task].phase = .cancelled
        case .falling:
            falling.removeAll { $0 == task }
            tasks[task].phase = .cancelled
            if let old = tasks[task].replaces { cancels(old) }
        case .lost: tasks[task].phase = .silent
        case .ended, .cancelled, .silent, .gone: break
        }
    }

    /// `isCancelled` was looked at.
    public func saw(isCancelled: Bool, of task: Int) {
        let isExpected = tasks[task].phase == .cancelled || tasks[task].phase == .gone
        // Whether an ending was lost with its queue's work cannot be seen.
        if tasks[task].phase == .lost || tasks[task].phase == .silent || isCancelled == isExpected { return }
        broken(3, "isCancelled of task \(task), which is \(tasks[task].phase), is \(isCancelled)")
    }

    /// Whoever went through the events of a task lets go of them.
    public func goesAway(_ task: Int) {
        let wasOver = tasks[task].phase == .ended
        cancels(task)
        if !wasOver { tasks[task].phase = .gone }
    }

    public func prioritizes(_ task: Int, to priority: LoadPriority) {
        guard tasks[task].priority != priority else { return }
        tasks[task].priority = priority
        noteLevels()
    }

    /// A queue is about to let go of all that waits on it.
    public func drops(queue: Int) {
        for task in tasks.indices where tasks[task].queue == queue && tasks[task].phase == .told {
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
            tasks[task].phase = tasks[task].queue == Self.ownQueue ? .ended : .told
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

    /// What `cached` gave for a picture.
    public func saw(cached exchange: Int?, isStale: Bool, for wish: Wish) {
        let image = kept[wish.memoryKey(stage: wish.stages - 1, varied: false)]
        if let image, exchange != nil, isStale == isFresh(image) {
            broken(7, "what is in memory for resource \(wish.resource) is said to be \(isStale ? "stale" : "fresh")")
        }
        let expected = image?.exchange
        if exchange != expected {
            broken(
                7,
                "in memory for resource \(wish.resource) is the picture of exchange \(text(exchange)), not of \(text(expected))"
            )
        }
    }

    private func text(_ exchange: Int?) -> String { exchange.map { "\($0)" } ?? "none" }

    // MARK: What callers hear

    public func progressBegins(_ task: Int, received: Int64, at place: Place) {
        callbackBegins(task, "progress", at: place)
        if received <= tasks[task].heard {
            broken(5, "progress of task \(task) went from \(tasks[task].heard) to \(received)")
        }
        if received > tasks[task].sent {
            broken(5, "task \(task) heard of \(received) bytes, but \(tasks[task].sent) have come")
        }
        tasks[task].heard = received
    }

    public func previewBegins(_ task: Int, _ content: Content, detail: Int, at place: Place) {
        callbackBegins(task, "a preview", at: place)
        if detail <= tasks[task].shown {
            broken(5, "task \(task) was shown \(tasks[task].shown) of its picture, and then \(detail)")
        }
        let wish = tasks[task].wish
        if content.size != wish.size || content.first != wish.first || content.second != wish.second {
            broken(7, "task \(task) was shown another picture than it asked for")
        }
        tasks[task].shown = detail
    }

    public func endingBegins(_ task: Int, _ ending: Ending, at place: Place) {
        callbackBegins(task, "the ending", at: place)
        check(task, ending)
        tasks[task].phase = .ended
    }

    public func callbackReturned(_ task: Int) {
        tasks[task].isInCallback = false
    }

    private func callbackBegins(_ task: Int, _ what: String, at place: Place) {
        let record = tasks[task]
        if place.loading == task { broken(2, "\(what) of task \(task) came inside the call that asked for it") }
        if place.queue != record.queue {
            broken(1, "\(what) of task \(task) came on queue \(place.queue), not on queue \(record.queue)")
        }
        if record.phase == .cancelled || record.phase == .silent {
            broken(4, "\(what) of task \(task) came after cancel()")
        }
        if record.phase == .ended { broken(3, "\(what) of task \(task) came after its ending") }
        if record.isInCallback { broken(5, "\(what) of task \(task) came while another callback of it runs") }
        if record.queue >= 0 { tasks[task].isInCallback = true }
    }

    /// An awaiting caller hears of progress.
    public func heard(_ task: Int, progress received: Int64) {
        progressBegins(task, received: received, at: Place())
    }

    /// An awaiting caller is shown a preview.
    public func heard(_ task: Int, preview content: Content, detail: Int) {
        previewBegins(task, content, detail: detail, at: Place())
    }

    /// An awaiting caller got its one ending.
    public func heard(_ task: Int, _ ending: Ending) {
        if tasks[task].phase == .cancelled {
            if case .failure(.cancelled) = ending {
                tasks[task].phase = .gone
            } else {
                broken(3, "task \(task) was cancelled, but its caller got \(ending)")
            }
            return
        }
        if tasks[task].phase == .gone { broken(3, "task \(task) had two endings") }
        endingBegins(task, ending, at: Place())
    }

    private func check(_ task: Int, _ ending: Ending) {
        let record = tasks[task]
        if record.stale >= 0 { broken(5, "task \(task) ended, and was not told what is stale before") }
        switch (record.outcome, ending) {
        case (.failure(let expected), .failure(let code)):
            if code != expected { broken(3, "task \(task) failed with \(code), its work with \(expected)") }
        case (.content(let exchange), .content(let content, let source)):
            check(content, exchange: exchange, task: task)
            let expected: LoadSource =
                record.isFromMemory || record.source == .memory
                ? .memory
                : record.wish.source != .none
                    ? .source : record.source != .network ? record.source : record.isShared ? .shared : .network
            if let source, source != expected, !record.isMoved {
                broken(7, "task \(task) says \(source), but its source is \(expected)")
            }
        case (.none, _): broken(3, "task \(task) ended with \(ending) while its work is under way")
        case (_, let ending): broken(3, "task \(task) ended with \(ending), its work with \(record.outcome)")
        }
    }

    private func check(_ content: Content, exchange: Int, task: Int) {
        let wish = tasks[task].wish
        if content.resource != wish.resource {
            broken(8, "task \(task) wanted resource \(wish.resource) and got resource \(content.resource)")
        }
        if content.language != 0, content.language != wish.language {
            broken(8, "task \(task) asked in language \(wish.language) and got language \(content.language)")
        }
        if content.exchange != exchange {
            broken(7, "task \(task) got what exchange \(content.exchange) gave; its job's was \(exchange)")
        }
        checkVersion(content, task)
        if wish.kind == .picture, (content.size, content.first, content.second) != (wish.size, wish.first, wish.second)
        {
            broken(8, "task \(task) got a picture of another size, or other processors")
        }
    }

    /// The closures of a task, and what they captured, are released here.
    public func released(_ task: Int, at place: Place) {
        tasks[task].hasClosures = false
        let queue = tasks[task].queue
        // What the queue itself let go of may go wherever somebody held it last.
        if tasks[task].phase == .lost || tasks[task].phase == .silent { return }
        // Inside the call that asks for the load, the caller holds them itself.
        if place.queue == queue || place.cancelling == task || place.dropping == queue || place.loading == task {
            return
        }
        broken(10, "what the closures of task \(task) captured was released on a thread of the engine")
    }
}
