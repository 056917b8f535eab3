public import InflightCore

// A prefetcher's entries and loads. Its loads are ordinary tasks of the lowest priority.

/// One `Prefetcher`, as its documentation specifies it.
struct PrefetchRecord {
    enum Phase: Equatable {
        /// The entry was requested in the current turn. Nothing else is known yet.
        case new
        case waiting
        case running(Int)
        /// The bytes of this exchange are stored.
        case kept(Int)
    }

    struct Entry {
        var key: Int
        var spec: RequestSpec
        var isWanted = true
        var phase = Phase.new
    }

    /// The queue on which the prefetcher receives endings.
    let queue: Int
    var limit: Int
    /// The maximum number of stored bodies; nil if images go into memory.
    let room: Int?
    var isPaused = false
    var entries: [Entry] = []
    /// Keys in the order in which they were touched in this turn, were queued, and were stored.
    var touched: [Int] = []
    var line: [Int] = []
    var kept: [Int] = []
    var counters = Prefetcher.Statistics()

    subscript(key: Int) -> Entry? { entries.first { $0.key == key } }

    mutating func change(_ key: Int, _ body: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
        body(&entries[index])
    }

    mutating func touch(_ key: Int, isWanted: Bool) {
        change(key) { $0.isWanted = isWanted }
        if !touched.contains(key) { touched.append(key) }
    }

    mutating func remove(_ key: Int) {
        entries.removeAll { $0.key == key }
        line.removeAll { $0 == key }
        kept.removeAll { $0 == key }
        touched.removeAll { $0 == key }
    }

    var running: Int {
        var count = 0
        for entry in entries { if case .running = entry.phase { count += 1 } }
        return count
    }
}

extension ContractModel {
    /// A prefetcher is created.
    ///
    /// - Parameter room: the maximum number of stored bodies; nil if images go into memory.
    public func prefetcherIsCreated(queue: Int, limit: Int, room: Int?) {
        prefetchQueue = queue
        isPrefetcherUnknown = false
        prefetcher = PrefetchRecord(queue: queue, limit: limit, room: room)
    }

    private func key(_ spec: RequestSpec) -> Int { spec.key(stage: spec.stages - 1, varied: false) }

    // MARK: Calls of the owner

    public func prefetcherStarts(_ specs: [RequestSpec]) {
        for spec in specs {
            let key = key(spec)
            if prefetcher?[key] == nil {
                prefetcher?.counters.requested += 1
                prefetcher?.entries.append(PrefetchRecord.Entry(key: key, spec: spec))
            }
            prefetcher?.touch(key, isWanted: true)
        }
    }

    public func prefetcherStops(_ specs: [RequestSpec]) {
        for spec in specs where prefetcher?[key(spec)] != nil { prefetcher?.touch(key(spec), isWanted: false) }
    }

    public func prefetcherStopsAll() {
        for entry in prefetcher?.entries ?? [] { prefetcher?.touch(entry.key, isWanted: false) }
    }

    public func prefetcherPauses() { prefetcher?.isPaused = true }

    public func prefetcherResumes() {
        prefetcher?.isPaused = false
        sendNext()
    }

    public func prefetcherMaySend(_ limit: Int) {
        prefetcher?.limit = limit
        sendNext()
    }

    /// A stored body was requested. It came from this exchange, or there was none. A varying response is only for equal
    /// requests.
    public func prefetcherReturned(_ exchange: Int?, for spec: RequestSpec, varies: (Int) -> Bool = { _ in false }) {
        var expected: Int?
        if let entry = prefetcher?[key(spec)], case .kept(let kept) = entry.phase,
            entry.spec.language == spec.language || !varies(kept)
        {
            expected = kept
            prefetcher?.remove(key(spec))
        }
        if exchange != expected, !isPrefetcherUnknown {
            report(
                7,
                "a prefetcher returned bytes of \(exchange ?? -1) for resource \(spec.resource), expected \(expected ?? -1)"
            )
        }
    }

    /// The prefetcher is about to be released. Other subscribers are not affected.
    public func prefetcherIsReleased() {
        for entry in prefetcher?.entries ?? [] {
            if case .running(let task) = entry.phase { cancels(task) }
        }
        prefetcher = nil
    }

    // MARK: Events

    /// The turn of its calls ends. The requested entries are compared with the existing ones.
    public func turnEnds() {
        guard let touched = prefetcher?.touched else { return }
        prefetcher?.touched = []
        for key in touched {
            guard let entry = prefetcher?[key] else { continue }
            if entry.isWanted {
                guard entry.phase == .new else { continue }
                prefetcher?.change(key) { $0.phase = .waiting }
                prefetcher?.line.append(key)
                continue
            }
            if case .running(let task) = entry.phase { cancels(task) }
            if case .kept = entry.phase {} else { prefetcher?.counters.stopped += 1 }
            prefetcher?.remove(key)
        }
        sendNext()
    }

    /// The next ending in its queue is about to run.
    public func endingIsDelivered() {
        guard !deliveries.isEmpty else {
            if !isPrefetcherUnknown { report(3, "a prefetcher received an unexpected ending") }
            return
        }
        let task = deliveries.removeFirst()
        guard tasks[task].phase == .undelivered else { return }
        tasks[task].phase = .ended
        guard let entry = prefetcher?.entries.first(where: { $0.phase == .running(task) }) else { return }
        switch tasks[task].outcome {
        case .none, .failure: prefetcher?.counters.failed += 1
        case .content(let exchange):
            if tasks[task].isFromMemory || tasks[task].source == .memory {
                prefetcher?.counters.found += 1
            } else {
                prefetcher?.counters.loaded += 1
            }
            if keep(exchange, entry.key) { return sendNext() }
        }
        prefetcher?.remove(entry.key)
        sendNext()
    }

    private func keep(_ exchange: Int, _ key: Int) -> Bool {
        guard let room = prefetcher?.room else { return false }
        while let oldest = prefetcher?.kept.first, prefetcher?.kept.count ?? 0 >= max(1, room) {
            prefetcher?.counters.evicted += 1
            prefetcher?.remove(oldest)
        }
        if room == 0 {
            prefetcher?.counters.evicted += 1
            return false
        }
        prefetcher?.change(key) { $0.phase = .kept(exchange) }
        prefetcher?.kept.append(key)
        return true
    }

    /// Starts queued entries in order, up to the limit.
    private func sendNext() {
        while let record = prefetcher, !record.isPaused, record.running < record.limit, let key = record.line.first {
            prefetcher?.line.removeFirst()
            guard let entry = record[key] else { continue }
            guard entry.isWanted else {
                // The entry was stopped in the current turn. The end of the turn decides whether it stays stopped.
                prefetcher?.change(key) { $0.phase = .new }
                continue
            }
            let task = requested(entry.spec, priority: .veryLow, queue: record.queue)
            tasks[task].hasClosures = false
            prefetcher?.counters.sent += 1
            prefetcher?.change(key) { $0.phase = .running(task) }
            subscribes(task)
        }
    }

    /// The prefetcher's statistics were read.
    public func prefetcherReports(_ statistics: Prefetcher.Statistics, bodySize: Int64) {
        guard let record = prefetcher else { return }
        var expected = record.counters
        expected.inFlight = record.running
        expected.waiting = record.line.count
        expected.keptBytes = Int64(record.kept.count) * bodySize
        if statistics != expected { report(7, "a prefetcher counts \(statistics), expected \(expected)") }
    }
}
