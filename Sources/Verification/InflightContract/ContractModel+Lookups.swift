import InflightCore

// With a store: lookups, their effects on subscribers, and checks that the store holds the expected responses.
// ContractModel+Responses.swift has the effects of responses.

/// The model's knowledge of the store and of responses.
struct StoreRecord {
    /// A pending lookup.
    struct Lookup {
        var number: Int
        var job: Int
        /// The time of the request. Freshness is judged at this time.
        var time: Int64
        /// The copies found by the lookup.
        var found: [StoredCopy] = []
        /// The copy whose body is requested.
        var chosen: StoredCopy?
        var decision: CachedRequest.Decision?
    }

    /// A requested or outstanding write.
    struct Write {
        enum Change {
            /// Stores the response of this delivery.
            case keep(StoredCopy, delivery: Int, replacing: Set<Int64>)
            case update(StoredCopy)
            case remove(Set<Int64>)
            case removeAll(key: String)
        }

        var change: Change
        var job: Int
        /// The keys that the group's changes affect, until all of these changes are done.
        var keys: [String]
        /// The group of changes that belong together. A job that retries may have written something before.
        var group: Int
        /// The store's number of the write, once it was requested.
        var number = -1
    }

    var copies: [Int64: StoredCopy] = [:]
    /// Jobs with a queued lookup, in order.
    var waiting: [Int] = []
    var lookups: [Lookup] = []
    var lastNumber = 0
    var lastGroup = 0
    /// Responses by the number of their delivery.
    var deliveries: [Int: StoredCopy] = [:]
    /// Deliveries that a decoder has rejected.
    var rejected: Set<Int> = []
    /// Outstanding and running writes.
    var writes: [Write] = []
    /// Bodies that are truncated or have no subscribers. The engine chooses whether to store them.
    var choices: [Int: (copy: StoredCopy, replaced: [Int64])] = [:]
    /// Jobs whose exchanges were seen, by the receiver of those exchanges.
    var receivers: [ObjectIdentifier: Int] = [:]
    /// The retry budget of each origin, in thousandths.
    var budgets: [UInt8: Int] = [:]

    func isChanging(_ key: String) -> Bool {
        writes.contains { $0.keys.contains(key) } || choices.values.contains { $0.copy.key == key }
    }
}

extension ContractModel {
    /// The date in milliseconds since 1970.
    var wallTime: Int64 { Self.beginning + now / 1_000_000 }

    /// The date at which the clock begins, in milliseconds since 1970.
    public static let beginning: Int64 = 1_700_000_000_000

    /// Returns whether a stored response could satisfy the request.
    func mayLookUp(_ spec: RequestSpec) -> Bool {
        bounds.hasStore && spec.source == .none && spec.policy != .noStore && !spec.isUnsafe
    }

    func key(of job: Int) -> String {
        cacheKey(jobs[job].spec.resource, jobs[job].origin, jobs[job].redirects > 0)
    }

    func request(of job: Int) -> CachedRequest {
        CachedRequest(
            policy: jobs[job].spec.policy, isOfCaller: jobs[job].spec.isOfCaller,
            hasCredentials: jobs[job].hasCredentials)
    }

    // MARK: Lookups

    /// The engine looks up a key.
    public func looksUp(_ key: String) -> Int {
        store.lastNumber += 1
        let job = nextLookup(key)
        if job == nil { report(7, "\(key) was looked up without a job") }
        store.lookups.append(StoreRecord.Lookup(number: store.lastNumber, job: job ?? -1, time: wallTime))
        return store.lastNumber
    }

    /// Returns the next job to look up this key: one without outstanding changes, or one that reads a copy.
    private func nextLookup(_ key: String) -> Int? {
        let next = store.waiting.firstIndex { self.key(of: $0) == key }
        // A job that had lost its subscribers before its turn counts too.
        let reading = exchanges.first { record in
            record.job >= 0 && record.isHeld && jobs[record.job].reads != nil && !jobs[record.job].isStoring
                && self.key(of: record.job) == key && !store.lookups.contains { $0.job == record.job }
        }?.job
        if let reading, next == nil || store.isChanging(key) { return reading }
        guard let next else { return nil }
        if store.isChanging(key) { report(12, "\(key) was looked up during a write") }
        return store.waiting.remove(at: next)
    }

    /// Enqueues the lookup of a job's key.
    func enqueueLookup(_ job: Int) {
        jobs[job].state = .looking
        store.waiting.append(job)
    }

    /// The store performs a lookup: it has these copies, newest first, and the engine has chosen the body at a
    /// position.
    public func performsLookup(_ number: Int, has ids: [Int64], under key: String, chosen position: Int?) {
        guard let index = store.lookups.firstIndex(where: { $0.number == number }) else { return }
        let found = ids.compactMap { store.copies[$0] }
        let expected = Set(store.copies.values.filter { $0.key == key }.map(\.id))
        if expected != Set(ids) {
            report(12, "\(ids.sorted()) are stored under \(key), expected \(expected.sorted())")
        }
        store.lookups[index].found = found
        let job = store.lookups[index].job
        guard job >= 0, isLive(job) else { return }
        let wanted: StoredCopy?
        if let read = jobs[job].reads {
            wanted = found.first { $0.id == read.id }
        } else {
            let decision = decide(job, found, at: store.lookups[index].time)
            store.lookups[index].decision = decision
            wanted = decision.copy
        }
        store.lookups[index].chosen = wanted
        let chosen = position.map { ids[$0] }
        if chosen != wanted?.id {
            report(
                12,
                "copy \(chosen ?? -1) is read for resource \(jobs[job].spec.resource), expected \(wanted?.id ?? -1)"
            )
        }
    }

    private func decide(_ job: Int, _ found: [StoredCopy], at time: Int64) -> CachedRequest.Decision {
        let request = request(of: job)
        switch jobs[job].spec.purpose {
        case .refetch: return request.mayAsk ? .ask(Conditions(), offered: []) : .fail
        case .usual: return request.decide(found, now: time)
        case .imageRevalidation, .revalidation:
            let decision = request.decide(found, now: time)
            // The background revalidation of a stale response makes a conditional request.
            if case .serveStale = decision { return request.conditionalRequest(found) }
            return decision
        }
    }

    /// The store is about to complete a lookup.
    ///
    /// - Parameter delivery: the number of the body that it read, or -1 if there was none or it was damaged.
    public func lookupEnds(_ number: Int, delivery: Int) {
        guard let index = store.lookups.firstIndex(where: { $0.number == number }) else { return }
        let lookup = store.lookups.remove(at: index)
        let job = lookup.job
        guard job >= 0, isLive(job) else {
            // The lookup has stopped, and so has the work that held its slot.
            exchanges.removeAll { $0.job == job && $0.isHeld }
            return
        }
        let found = lookup.found.filter { store.copies[$0.id] != nil || $0.id != lookup.chosen?.id }
        if let copy = lookup.chosen, delivery >= 0 { store.deliveries[delivery] = copy }
        if let read = jobs[job].reads {
            jobs[job].reads = nil
            guard delivery >= 0 else {
                // The copy was removed meanwhile. The job fetches the response again in the same slot.
                jobs[job].found = found
                return requestsUnconditionally(job)
            }
            return serve(job, read.copy, read.source, delivery: delivery, isStale: read.isStale, isFollowed: false)
        }
        jobs[job].found = found
        jobs[job].lookups += 1
        var decision = lookup.decision ?? decide(job, [], at: lookup.time)
        if decision.copy != nil, delivery < 0 {
            if jobs[job].lookups < 4 { return enqueueLookup(job) }
            decision = .ask(Conditions(), offered: [])
        }
        proceed(job, decision, delivery: delivery)
    }

    private func proceed(_ job: Int, _ decision: CachedRequest.Decision, delivery: Int) {
        switch decision {
        case .serve(let copy, let isStale):
            serve(job, copy, .disk, delivery: delivery, isStale: isStale, isFollowed: false)
        case .serveStale(let copy):
            revalidate(jobs[job].spec)
            serve(job, copy, .disk, delivery: delivery, isStale: true, isFollowed: true)
        case .fail: failed(job, .notStored)
        case .ask(let conditions, let offered):
            (jobs[job].conditions, jobs[job].offered) = (conditions, offered)
            enqueue(job, ahead: jobs[job].redirects > 0)
        case .resume(let copy):
            jobs[job].part = JobRecord.Part(copy: copy, delivery: delivery)
            jobs[job].furthest = copy.end
            enqueue(job, ahead: jobs[job].redirects > 0)
        }
    }

    func enqueue(_ job: Int, ahead: Bool) {
        jobs[job].state = .queued
        jobs[job].level = level(of: job)
        lastSequence += 1
        jobs[job].sequence = ahead || jobs[job].isNewestFirst ? -lastSequence : lastSequence
    }

    /// Requests the background revalidation of a stale response, for the store.
    private func revalidate(_ spec: RequestSpec) {
        var revalidation = spec
        revalidation.purpose = spec.kind == .image ? .imageRevalidation : .revalidation
        if spec.kind != .response { revalidation.kind = .bytes }
        (revalidation.size, revalidation.first, revalidation.second) = (0, 0, 0)
        let key = revalidation.key(stage: 0, varied: false)
        if live.contains(where: { jobs[$0].key == key && jobs[$0].isInTable }) { return }
        let task = requested(revalidation, priority: .low, queue: Self.ownQueue)
        tasks[task].hasClosures = false
        subscribes(task)
    }

    /// The queue of the engine's own tasks.
    static var ownQueue: Int { -3 }

    // MARK: Serving

    /// A job ends with a stored copy.
    func serve(
        _ job: Int, _ copy: StoredCopy, _ source: LoadSource, delivery: Int, isStale: Bool, isFollowed: Bool
    ) {
        exchanges.removeAll { $0.job == job }
        if copy.head.status != 200, jobs[job].spec.kind != .response { return failed(job, .badStatus) }
        (jobs[job].source, jobs[job].isStale, jobs[job].isFollowed) = (source, isStale, isFollowed)
        jobs[job].isOfStored = true
        recordResponse(of: isStale ? nil : copy, job, from: source)
        succeeded(job, exchange: delivery)
    }

    /// The body of a copy is to be read for a job that has a slot.
    func reads(_ job: Int, _ copy: StoredCopy, _ source: LoadSource, isStale: Bool) {
        jobs[job].state = .reading
        jobs[job].reads = JobRecord.Read(id: copy.id, copy: copy, source: source, isStale: isStale)
    }

    /// A response is unusable. The job requests it again in the same slot, without conditions.
    func requestsUnconditionally(_ job: Int) {
        jobs[job].state = .running
        (jobs[job].conditions, jobs[job].offered, jobs[job].part) = (Conditions(), [], nil)
        guard let index = exchanges.firstIndex(where: { $0.job == job }) else {
            return report(11, "a fetch continues without a slot")
        }
        exchanges[index].serial = -1
        exchanges[index].isHeld = false
        exchanges[index].isBetween = true
    }
}

extension ContractModel {
    // MARK: Delivery

    /// A consumer of events receives a stale image.
    public func receivesStale(_ task: Int, _ content: Content) {
        if tasks[task].phase == .cancelled || tasks[task].phase == .gone {
            return report(4, "task \(task) received a stale image after cancel()")
        }
        if tasks[task].stale < 0 { report(5, "task \(task) received an unexpected stale image") }
        if content.exchange != tasks[task].stale {
            report(7, "task \(task) received stale image \(content.exchange), expected \(tasks[task].stale)")
        }
        tasks[task].stale = -1
        checkVersion(content, task)
    }

    /// A task's result is marked as stale or not. Reported before its ending.
    public func receivesResult(_ task: Int, isStale: Bool) {
        guard bounds.hasStore, case .content = tasks[task].outcome, tasks[task].phase == .undelivered else { return }
        if isStale != tasks[task].isStale {
            report(7, "the result of task \(task) is wrongly marked as \(isStale ? "stale" : "fresh")")
        }
    }

    /// Checks that all bytes are of one version, and of the right one.
    func checkVersion(_ content: Content, _ task: Int) {
        guard bounds.hasStore, tasks[task].spec.source == .none else { return }
        if content.version < 0 { report(12, "task \(task) received bytes of several versions, or corrupt ones") }
        guard let copy = store.deliveries[content.exchange] else {
            return report(12, "task \(task) received content without a response")
        }
        if tasks[task].spec.kind != .header, copy.head.version != content.version {
            report(12, "task \(task) received version \(content.version), expected \(copy.head.version)")
        }
    }
}
