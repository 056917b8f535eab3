/// The state machine of a prefetcher, as a value: events in, actions out. It returns the values that it drops, to be
/// released outside the lock.
///
/// A request is identified by its key. `started` and `stopped` only record the requested state. The end of the turn
/// applies it to the entries, so that a request that was started and stopped within the turn is never sent.
///
///     new ──turn ends──▶ waiting ──a slot──▶ sending ──wasSent──▶ running ──ended──▶ kept, or gone
struct PrefetchMachine {
    typealias ID = Int

    /// The actions. Cancellations come first, because the sends take their slots.
    struct Actions {
        var cancels: [ImageTask] = []
        var sends: [(id: ID, request: ImageRequest)] = []
        /// The requests and responses that are no longer needed, to be released outside the lock.
        var droppedRequests: [ImageRequest] = []
        var droppedResponses: [LoadedResponse] = []
    }

    enum Ending {
        case loaded
        /// The image was in memory.
        case found
        /// A response to keep.
        case received(LoadedResponse)
        case failed
    }

    fileprivate enum Phase {
        case new
        case waiting
        /// Returned in ``Actions/sends``; ``wasSent(_:as:)`` has not been called yet.
        case sending
        case running(ImageTask)
        case kept(LoadedResponse)
    }

    fileprivate struct Entry {
        var key: RequestKey
        var request: ImageRequest
        var isWanted = true
        var isTouched = false
        var phase = Phase.new
    }

    private(set) var limit: Int
    private let keptLimit: Int64
    private(set) var isPaused = false
    private(set) var isClosed = false
    private var counters = Prefetcher.Statistics()
    private var inFlight = 0
    private var waiting = 0
    private var keptBytes: Int64 = 0
    private var keptCount = 0

    private var ids: [RequestKey: ID] = [:]
    private var entries: [ID: Entry] = [:]
    private var latest = 0
    /// In the order of the calls.
    private var touched: [ID] = []
    private var isTurnOpen = false
    /// The waiting entries in the order of their requests, including some that have left.
    private var line: ArraySlice<ID> = []
    /// The kept entries, oldest first, including some that have left.
    private var kept: ArraySlice<ID> = []

    /// - Parameter keptLimit: the maximum total size of the bodies of kept responses, in bytes.
    init(limit: Int, keptLimit: Int64 = 0) {
        self.limit = max(1, limit)
        self.keptLimit = keptLimit
    }

    var statistics: Prefetcher.Statistics {
        var statistics = counters
        statistics.waiting = waiting
        statistics.inFlight = inFlight
        statistics.keptBytes = keptBytes
        return statistics
    }

    /// Whether no request is new, queued or in flight, and no turn is open.
    var isIdle: Bool { waiting == 0 && inFlight == 0 && !isTurnOpen }

    // MARK: Owner events

    /// - Returns: whether this begins a turn. Its end must be reported.
    mutating func started(_ requests: [(key: RequestKey, request: ImageRequest)]) -> Bool {
        if isClosed { return false }
        for (key, request) in requests {
            if let id = ids[key] {
                touch(id, isWanted: true)
                continue
            }
            counters.requested += 1
            latest += 1
            ids[key] = latest
            entries[latest] = Entry(key: key, request: request)
            touch(latest, isWanted: true)
        }
        return beginTurn()
    }

    /// Requests were started that can never be loaded.
    mutating func refused(_ count: Int) {
        counters.requested += count
        counters.failed += count
    }

    /// - Returns: whether this begins a turn. Its end must be reported.
    mutating func stopped(_ keys: [RequestKey]) -> Bool {
        for key in keys {
            if let id = ids[key] { touch(id, isWanted: false) }
        }
        return beginTurn()
    }

    /// - Returns: whether this begins a turn. Its end must be reported.
    mutating func allStopped() -> Bool {
        for id in entries.keys.sorted() { touch(id, isWanted: false) }
        return beginTurn()
    }

    mutating func turnEnded() -> Actions {
        var actions = Actions()
        isTurnOpen = false
        let ids = touched
        touched = []
        for id in ids { settle(id, &actions) }
        sendNext(&actions)
        return actions
    }

    mutating func paused() { isPaused = true }

    mutating func resumed() -> Actions {
        isPaused = false
        return next()
    }

    mutating func limitSet(_ new: Int) -> Actions {
        limit = max(1, new)
        return next()
    }

    /// Takes a kept response. Leaves it if `isRight` returns false, because it is not valid for the request.
    mutating func taken(
        _ key: RequestKey, where isRight: (ImageRequest, LoadedResponse) -> Bool
    ) -> (response: LoadedResponse, request: ImageRequest)? {
        guard let id = ids[key], let entry = entries[id], case .kept(let response) = entry.phase,
            isRight(entry.request, response)
        else { return nil }
        keptBytes -= Int64(response.body.count)
        keptCount -= 1
        remove(id)
        return (response, entry.request)
    }

    /// Stops all requests. None will be started again.
    mutating func closed() -> Actions {
        isClosed = true
        _ = allStopped()
        return turnEnded()
    }

    // MARK: Work events

    /// Whether the entry was not stopped, and has not ended.
    func contains(_ id: ID) -> Bool { entries[id] != nil }

    /// The load of an entry has been started.
    ///
    /// - Returns: whether it is still wanted and has not ended.
    mutating func wasSent(_ id: ID, as task: ImageTask) -> Bool {
        guard let entry = entries[id], case .sending = entry.phase else { return false }
        entries[id]?.phase = .running(task)
        return true
    }

    mutating func ended(_ id: ID, with ending: Ending) -> Actions {
        var actions = Actions()
        guard let entry = entries[id] else {
            // Stopped meanwhile: the response is not wanted.
            if case .received(let response) = ending { actions.droppedResponses.append(response) }
            return actions
        }
        inFlight -= 1
        switch ending {
        case .loaded: counters.loaded += 1
        case .found: counters.found += 1
        case .failed: counters.failed += 1
        case .received(let response):
            counters.loaded += 1
            let bytes = Int64(response.body.count)
            if bytes <= keptLimit {
                makeRoom(for: bytes, &actions)
                keptBytes += bytes
                entries[id]?.phase = .kept(response)
                keptCount += 1
                append(id, to: \.kept, living: keptCount) { if case .kept = $0 { true } else { false } }
                sendNext(&actions)
                return actions
            }
            counters.evicted += 1
            actions.droppedResponses.append(response)
        }
        remove(id)
        actions.droppedRequests.append(entry.request)
        sendNext(&actions)
        return actions
    }

    // MARK: Implementation

    private mutating func touch(_ id: ID, isWanted: Bool) {
        guard let entry = entries[id] else { return }
        entries[id]?.isWanted = isWanted
        if entry.isTouched { return }
        entries[id]?.isTouched = true
        touched.append(id)
    }

    private mutating func beginTurn() -> Bool {
        if isTurnOpen || touched.isEmpty { return false }
        isTurnOpen = true
        return true
    }

    /// Applies the requested state of an entry at the end of a turn.
    private mutating func settle(_ id: ID, _ actions: inout Actions) {
        guard let entry = entries[id] else { return }
        entries[id]?.isTouched = false
        if entry.isWanted {
            guard case .new = entry.phase else { return }
            entries[id]?.phase = .waiting
            waiting += 1
            append(id, to: \.line, living: waiting) { if case .waiting = $0 { true } else { false } }
            return
        }
        switch entry.phase {
        case .new: break
        case .waiting: waiting -= 1
        case .sending: inFlight -= 1
        case .running(let task):
            inFlight -= 1
            actions.cancels.append(task)
        case .kept(let response):
            keptBytes -= Int64(response.body.count)
            keptCount -= 1
            actions.droppedResponses.append(response)
        }
        if case .kept = entry.phase {} else { counters.stopped += 1 }
        remove(id)
        actions.droppedRequests.append(entry.request)
    }

    private mutating func next() -> Actions {
        var actions = Actions()
        sendNext(&actions)
        return actions
    }

    private mutating func sendNext(_ actions: inout Actions) {
        while !isPaused, inFlight < limit, let id = line.popFirst() {
            guard let entry = entries[id], case .waiting = entry.phase else { continue }
            waiting -= 1
            guard entry.isWanted else {
                // The request was stopped in the current turn. The end of the turn decides what happens to it.
                entries[id]?.phase = .new
                continue
            }
            entries[id]?.phase = .sending
            inFlight += 1
            counters.sent += 1
            actions.sends.append((id, entry.request))
        }
    }

    private mutating func makeRoom(for bytes: Int64, _ actions: inout Actions) {
        while keptBytes + bytes > keptLimit, let id = kept.popFirst() {
            guard let entry = entries[id], case .kept(let response) = entry.phase else { continue }
            keptBytes -= Int64(response.body.count)
            keptCount -= 1
            counters.evicted += 1
            remove(id)
            actions.droppedResponses.append(response)
            actions.droppedRequests.append(entry.request)
        }
    }

    /// Appends an entry to a queue. Entries leave a queue lazily; when they outnumber the living, they are removed, so
    /// that a queue that is never emptied from its front does not grow.
    private mutating func append(
        _ id: ID, to queue: WritableKeyPath<Self, ArraySlice<ID>>, living count: Int, isLiving: (Phase) -> Bool
    ) {
        self[keyPath: queue].append(id)
        guard self[keyPath: queue].count > 2 * count + 16 else { return }
        self[keyPath: queue] = ArraySlice(
            self[keyPath: queue].filter { id in entries[id].map { isLiving($0.phase) } ?? false })
    }

    private mutating func remove(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        ids[entry.key] = nil
    }
}
