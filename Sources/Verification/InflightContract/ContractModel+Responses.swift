public import InflightCore

// With a store: how a request is sent, how its response is interpreted, and how transient failures are handled.

extension ContractModel {
    /// The meaning of a response's head.
    enum HeadOutcome {
        /// No head has arrived yet.
        case none
        case content
        case redirect
        case failure(LoadError.Code)
        case stored(StoredCopy, LoadSource, isStale: Bool)
        /// All of the body was stored already.
        case complete
        case unusable
    }

    // MARK: Sending

    /// The engine requests an exchange.
    ///
    /// - Parameter receiver: the receiver, which is the same for all exchanges of one job.
    public func exchangeStarts(
        _ serial: Int, kind: RequestSpec.Kind, resource: UInt8, policy: ImageRequest.CachePolicy, origin: UInt8,
        isRedirected: Bool,
        hasCredentials: Bool, priority: ImageRequest.Priority, conditions: Conditions, receiver: ObjectIdentifier
    ) {
        sentExchanges += 1
        let group: RequestSpec.Kind? = kind == .header ? nil : kind
        func fits(_ job: Int) -> Bool {
            let spec = jobs[job].spec
            guard spec.resource == resource, spec.policy == policy, jobs[job].origin == origin,
                (jobs[job].redirects > 0) == isRedirected
            else { return false }
            return group == nil || (spec.kind == .bytes || spec.kind == .header ? .image : spec.kind) == group
        }
        if let index = exchanges.firstIndex(where: { $0.isBetween && $0.job >= 0 && fits($0.job) }) {
            exchanges[index].isBetween = false
            exchanges[index].isCancelled = false
            return begins(serial, index, conditions, hasCredentials, priority)
        }
        let queued = live.filter { jobs[$0].stage == 0 && jobs[$0].state == .queued && fits($0) }
        // Two jobs may look the same on the wire. The exchange then belongs to the next of them in the queue.
        let known = store.receivers[receiver].flatMap { queued.contains($0) ? $0 : nil }
        let best =
            known
            ?? queued.filter {
                !jobs[$0].wasSent && self.conditions(of: $0) == conditions && level(of: $0) == Int(priority.rawValue)
            }
            .min { isBefore($0, $1) } ?? queued.first
        guard let job = best else {
            exchanges.append(ExchangeRecord(serial: serial, job: -1, origin: origin))
            return report(7, "exchange \(serial) for resource \(resource) was started without a queued job")
        }
        if Int(priority.rawValue) != level(of: job) {
            report(7, "a fetch was started at priority \(priority), but its subscribers have \(level(of: job))")
        }
        store.receivers[receiver] = job
        startedExchanges += 1
        takeSlot(ExchangeRecord(serial: serial, job: job, origin: origin))
        begins(serial, exchanges.count - 1, conditions, hasCredentials, priority)
    }

    private func begins(
        _ serial: Int, _ index: Int, _ conditions: Conditions, _ hasCredentials: Bool, _ priority: ImageRequest.Priority
    ) {
        let job = exchanges[index].job
        exchanges[index].priority = priority
        exchanges[index].serial = serial
        exchanges[index].requestTime = wallTime
        exchanges[index].headOutcome = .none
        guard isLive(job) else { return report(7, "exchange \(serial) was started without a live job") }
        checkCredentials(hasCredentials, of: job)
        let expected = self.conditions(of: job)
        if conditions != expected {
            report(7, "exchange \(serial) was sent with \(conditions), expected \(expected)")
        }
        if !jobs[job].wasSent, jobs[job].failedTries == 0 {
            let origin = jobs[job].origin
            store.budgets[origin] = min(10_000, (store.budgets[origin] ?? 10_000) + 100)
        }
        jobs[job].wasSent = true
        jobs[job].state = .running
        jobs[job].exchange = serial
    }

    private func conditions(of job: Int) -> Conditions {
        guard let part = jobs[job].part else { return jobs[job].conditions }
        var conditions = Conditions()
        conditions.offset = part.copy.end
        conditions.hasIfRange = true
        return conditions
    }

    // MARK: The head arrives

    /// The head of a response is about to be delivered.
    ///
    /// - Parameters:
    ///   - start: the offset of its first byte, by `Content-Range`.
    ///   - total: the length of the whole body, as far as the head states it.
    public func headArrives(_ serial: Int, _ head: ServerHead, start: Int?, total: Int?) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        let job = exchanges[index].job
        guard job >= 0, isLive(job) else { return }
        var copy = StoredCopy(
            id: -1, key: key(of: job), head: head, isOfCaller: jobs[job].spec.isOfCaller,
            hasCredentials: jobs[job].hasCredentials, requestTime: exchanges[index].requestTime, responseTime: wallTime,
            end: 0,
            total: total)
        if copy.head.variesByCaller == false { copy.isOfCaller = false }
        exchanges[index].delivery = serial
        exchanges[index].received = 0
        exchanges[index].writes = []
        if let part = jobs[job].part {
            jobs[job].part = nil
            switch continues(part, head, start: start, total: total) {
            case .content:
                var merged = part.copy
                merged.head = merged.head.updated(by: head)
                // The stricter of both heads applies (RFC 9111 section 5.2.2.5).
                if part.copy.head.noStore { merged.head.noStore = true }
                (merged.requestTime, merged.responseTime) = (copy.requestTime, copy.responseTime)
                merged.total = total ?? merged.total
                merged.mayBeStored = request(of: job).mayStore(merged)
                exchanges[index].delivery = part.delivery
                exchanges[index].received = merged.end
                exchanges[index].replaced = part.copy.id < 0 ? [] : [part.copy.id]
                merged.id = -1
                store.deliveries[part.delivery] = merged
                exchanges[index].headOutcome = .content
                return
            case .complete:
                exchanges[index].delivery = part.delivery
                exchanges[index].headOutcome = .complete
                return
            case .unusable:
                exchanges[index].headOutcome = .unusable
                return
            default: break
            }
        }
        copy.mayBeStored = isReading(job) && request(of: job).mayStore(copy)
        store.deliveries[serial] = copy
        judge(index, job, copy)
    }

    /// Returns whether a response continues the stored part (RFC 9110 sections 14.4, 15.3.7 and 15.5.17).
    private func continues(_ part: JobRecord.Part, _ head: ServerHead, start: Int?, total: Int?) -> HeadOutcome {
        let isSame =
            part.copy.head.hasTag
            ? head.tag == part.copy.head.tag && !head.isWeak
            : !head.hasTag && head.lastModified == part.copy.head.lastModified && part.copy.head.hasStrongValidator
        let fits = total == nil || part.copy.total == nil || total == part.copy.total
        switch head.status {
        case 206: return start == part.copy.end && fits && isSame ? .content : .unusable
        case 416: return total == part.copy.end && fits && (head.tag == nil || isSame) ? .complete : .unusable
        case 304: return .unusable
        default: return .none
        }
    }

    private func judge(_ index: Int, _ job: Int, _ copy: StoredCopy) {
        let request = request(of: job)
        let spec = jobs[job].spec
        let head = copy.head
        if spec.isUnsafe, jobs[job].redirects == 0, (200..<400).contains(head.status) {
            // Images that are stored in their requested representation are removed with the bytes.
            for key in [copy.key, "picture of " + copy.key] { exchanges[index].writes.append(.removeAll(key: key)) }
        }
        if head.status == 304 {
            exchanges[index].headOutcome = freshens(index, job, copy)
            return
        }
        if [500, 502, 503, 504].contains(head.status), isReading(job),
            let copy = request.staleOnError(jobs[job].found, now: wallTime)
        {
            exchanges[index].headOutcome = .stored(copy, .disk, isStale: !copy.isFresh(at: wallTime))
            return
        }
        exchanges[index].replaced = []
        if isReading(job), spec.policy != .noStore {
            let matching = request.matching(jobs[job].found)
            if copy.mayBeStored {
                exchanges[index].shouldStore = true
                let old = head.status >= 500 ? matching.filter { $0.head.status >= 500 } : matching
                exchanges[index].replaced = Set(old.map(\.id))
            } else {
                exchanges[index].shouldStore = false
                if head.status == 200 || head.status == 404, !head.noStore, !matching.isEmpty {
                    exchanges[index].writes.append(.remove(Set(matching.map(\.id))))
                }
            }
        } else {
            exchanges[index].shouldStore = false
        }
        if head.status == 302 {
            exchanges[index].headOutcome = .redirect
        } else if head.status != 200, spec.kind != .response {
            exchanges[index].headOutcome = .failure(.badStatus)
        } else {
            exchanges[index].headOutcome = .content
        }
    }

    /// Returns whether the job's method is safe. After a redirect every method is.
    private func isReading(_ job: Int) -> Bool { !jobs[job].spec.isUnsafe || jobs[job].redirects > 0 }

    /// Returns the meaning of a 304 response (RFC 9111 sections 4.3.3 and 4.3.4).
    private func freshens(_ index: Int, _ job: Int, _ newer: StoredCopy) -> HeadOutcome {
        let offered = jobs[job].offered
        if offered.isEmpty { return jobs[job].spec.kind == .response ? .content : .failure(.badStatus) }
        var selected: [StoredCopy] = []
        if newer.head.hasTag {
            selected = offered.filter { $0.head.hasTag && $0.head.version == newer.head.version }
            if newer.head.isWeak { selected = Array(selected.prefix(1)) } else { selected.removeAll { $0.head.isWeak } }
        } else {
            selected = Array(offered.filter { $0.head.lastModified == newer.head.lastModified }.prefix(1))
        }
        guard let first = selected.first else { return .unusable }
        var gone: Set<Int64> = []
        for copy in selected {
            if newer.head.noStore {
                gone.insert(copy.id)
            } else {
                exchanges[index].writes.append(.update(freshened(copy, newer, job)))
            }
        }
        if !gone.isEmpty { exchanges[index].writes.append(.remove(gone)) }
        return .stored(freshened(first, newer, job), .revalidated, isStale: false)
    }

    private func freshened(_ copy: StoredCopy, _ newer: StoredCopy, _ job: Int) -> StoredCopy {
        var updated = copy
        updated.head = copy.head.updated(by: newer.head)
        (updated.requestTime, updated.responseTime) = (newer.requestTime, newer.responseTime)
        return updated
    }

    /// `count` bytes of an exchange are about to be delivered.
    public func bodyArrives(_ serial: Int, _ count: Int) {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        exchanges[index].received += count
        guard case .content = exchanges[index].headOutcome else { return }
        bytesArrive(serial, received: Int64(exchanges[index].received))
    }

    // MARK: The end

    /// An exchange is about to end.
    ///
    /// - Parameters:
    ///   - failure: its failure; nil if it did not fail.
    ///   - isRefused: whether the receiver refused the rest.
    public func servedExchangeEnds(_ serial: Int, failure: LoadError.Code?, isRefused: Bool, redirectsTo origin: UInt8)
    {
        guard let index = exchanges.firstIndex(where: { $0.serial == serial }) else { return }
        let record = exchanges[index]
        let job = record.job
        guard job >= 0 else {
            exchanges.remove(at: index)
            return
        }
        guard isLive(job) else { return endsWithoutSubscribers(record, job, index) }
        switch record.headOutcome {
        case .redirect:
            expectWrites(record, job, isWhole: failure == nil)
            exchanges.remove(at: index)
            rerouted(job, origin)
        case .failure(let code):
            expectWrites(record, job, isWhole: failure == nil && !isRefused)
            retryOrFail(job, code, record)
        case .stored(let copy, let source, let isStale):
            expectWrites(record, job, isWhole: false)
            exchanges[index].isHeld = true
            exchanges[index].serial = -1
            reads(job, copy, source, isStale: isStale)
            if jobs[job].spec.purpose.isRevalidation { waitForWrites(job) }
        case .complete: succeeds(job, record, index)
        case .unusable:
            expectWrites(record, job, isWhole: false)
            requestsUnconditionally(job)
        case .content where failure == nil || isRefused && jobs[job].spec.kind == .header:
            if jobs[job].spec.kind != .header { expectWrites(record, job, isWhole: true) }
            succeeds(job, record, index)
        case .content, .none: transferFailed(job, failure ?? .badResponse, record, index)
        }
    }

    /// The exchange of a job without subscribers ends. Its response still counts for the store and images in memory.
    private func endsWithoutSubscribers(_ record: ExchangeRecord, _ job: Int, _ index: Int) {
        switch record.headOutcome {
        case .stored(let copy, let source, let isStale):
            expectWrites(record, job, isWhole: false)
            exchanges[index].isHeld = true
            exchanges[index].serial = -1
            jobs[job].reads = JobRecord.Read(id: copy.id, copy: copy, source: source, isStale: isStale)
            jobs[job].isStoring =
                jobs[job].spec.purpose.isRevalidation && store.writes.contains { $0.group == jobs[job].group }
        case .failure:
            expectWrites(record, job, isWhole: false)
            exchanges.remove(at: index)
            _ = consumeRetry(job, .badStatus, record)
        default:
            if case .complete = record.headOutcome { recordResponse(of: record, job) }
            expectWrites(record, job, isWhole: false)
            exchanges.remove(at: index)
        }
    }

    private func recordResponse(of record: ExchangeRecord, _ job: Int) {
        var copy = store.deliveries[record.delivery]
        copy?.requestTime = record.requestTime
        copy?.responseTime = record.headTime
        recordResponse(of: copy, job, from: .network)
    }

    private func succeeds(_ job: Int, _ record: ExchangeRecord, _ index: Int) {
        (jobs[job].source, jobs[job].isStale, jobs[job].isFollowed, jobs[job].isOfStored) = (
            .network, false, false, false
        )
        jobs[job].exchange = record.delivery
        recordResponse(of: record, job)
        if jobs[job].spec.purpose.isRevalidation {
            exchanges[index].isHeld = true
            exchanges[index].serial = -1
            return waitForWrites(job)
        }
        exchanges.remove(at: index)
        succeeded(job, exchange: record.delivery)
    }

    private func waitForWrites(_ job: Int) {
        jobs[job].state = .storing
        jobs[job].isStoring = true
        finishIfStored(job)
    }

    private func transferFailed(_ job: Int, _ code: LoadError.Code, _ record: ExchangeRecord, _ index: Int) {
        if code == .cancelled {
            return report(7, "exchange \(record.serial) was stopped although its job has subscribers")
        }
        if isReading(job), let copy = request(of: job).staleOnError(jobs[job].found, now: wallTime) {
            // The failed response does not remove the copy that replaces it.
            jobs[job].lateWrites = []
            exchanges[index].isHeld = true
            exchanges[index].serial = -1
            return reads(job, copy, .disk, isStale: !copy.isFresh(at: wallTime))
        }
        retryOrFail(job, code, record)
    }

    /// Adds the response's changes to the writes that the engine has to request now.
    private func expectWrites(_ record: ExchangeRecord, _ job: Int, isWhole: Bool) {
        var writes = record.writes
        if case .none = record.headOutcome { writes = jobs[job].lateWrites }
        jobs[job].lateWrites = []
        let keys = [key(of: job)]
        store.lastGroup += 1
        let group = store.lastGroup
        jobs[job].group = group
        for change in writes {
            store.writes.append(StoreRecord.Write(change: change, job: job, keys: keys, group: group))
        }
        guard record.shouldStore || record.delivery != record.serial, isWhole, jobs[job].spec.kind != .header,
            var copy = store.deliveries[record.delivery], copy.mayBeStored
        else { return }
        copy.end = record.received
        copy.total = record.received
        store.deliveries[record.delivery]?.total = record.received
        store.writes.append(
            StoreRecord.Write(
                change: .keep(copy, delivery: record.delivery, replacing: record.replaced), job: job, keys: keys,
                group: group))
    }

    private func rerouted(_ job: Int, _ origin: UInt8) {
        guard follows(job) else { return failed(job, .badRedirect) }
        if origin != jobs[job].origin { jobs[job].hasCredentials = false }
        jobs[job].origin = origin
        (jobs[job].conditions, jobs[job].offered, jobs[job].found) = (Conditions(), [], [])
        (jobs[job].failedTries, jobs[job].lookups, jobs[job].part) = (0, 0, nil)
        (jobs[job].progressed, jobs[job].furthest) = (0, 0)
        if jobs[job].spec.policy == .noStore {
            enqueue(job, ahead: true)
        } else {
            enqueueLookup(job)
        }
    }

    // MARK: Retries

    private func retryOrFail(_ job: Int, _ code: LoadError.Code, _ record: ExchangeRecord) {
        exchanges.removeAll { $0.job == job }
        guard let wait = consumeRetry(job, code, record) else {
            if code != .badStatus { expectWrites(record, job, isWhole: false) }
            return failed(job, code)
        }
        if case .content = record.headOutcome { jobs[job].lateWrites = record.writes }
        jobs[job].state = .asleep
        jobs[job].wakesAt = now + wait * 1_000_000
        jobs[job].part = code == .badStatus ? nil : part(of: record) ?? jobs[job].earlierPart(record)
        // The stored part is looked up again when the body is complete.
        jobs[job].part?.copy.id = -1
    }

    /// Consumes one of the remaining retries. Returns its delay in milliseconds, or nil if no retry is left.
    private func consumeRetry(_ job: Int, _ code: LoadError.Code, _ record: ExchangeRecord) -> Int64? {
        guard bounds.retries > 0 else { return nil }
        if code == .truncated, isReading(job), makesProgress(job, record) { return 0 }
        jobs[job].failedTries += 1
        let head = code == .badStatus ? store.deliveries[record.serial]?.head : nil
        let mayPass =
            head.map { [408, 425, 429].contains($0.status) || $0.status >= 500 && $0.status != 501 }
            ?? [.cannotConnect, .connectionLost, .timedOut, .tooManyOpenFiles, .truncated].contains(code)
        let requested = (head?.retryAfter ?? 0) * 1000
        let budget = store.budgets[jobs[job].origin] ?? 10_000
        guard mayPass, requested <= bounds.longestRetryAfter, isReading(job), jobs[job].failedTries <= bounds.retries,
            budget >= 1000
        else { return nil }
        store.budgets[jobs[job].origin] = budget - 1000
        return requested
    }

    /// Returns whether an interrupted body got far enough beyond earlier attempts not to count against the retries: by
    /// 16 KiB or 1 %, and at most 100 times.
    private func makesProgress(_ job: Int, _ record: ExchangeRecord) -> Bool {
        guard let copy = part(of: record)?.copy else { return false }
        let brought = copy.end - jobs[job].furthest
        jobs[job].furthest = max(jobs[job].furthest, copy.end)
        let isEnough = brought >= 16_384 || copy.total.map { brought > 0 && brought * 100 >= $0 } ?? false
        guard isEnough, jobs[job].progressed < 100 else { return false }
        jobs[job].progressed += 1
        return true
    }

    /// Returns the part of an interrupted body if it can be resumed.
    private func part(of record: ExchangeRecord) -> JobRecord.Part? {
        guard case .content = record.headOutcome, var copy = store.deliveries[record.delivery] else { return nil }
        copy.end = record.received
        guard copy.head.status == 200, copy.head.hasStrongValidator, copy.end > 0, !copy.isComplete else { return nil }
        return JobRecord.Part(copy: copy, delivery: record.delivery)
    }

    /// Jobs whose backoff ends now are queued again.
    public func wakes() {
        for job in live where jobs[job].state == .asleep && jobs[job].wakesAt <= now { enqueue(job, ahead: true) }
    }
}

extension ContractModel.JobRecord {
    /// Returns the earlier part if the exchange broke before its head arrived, since that part is still stored.
    fileprivate func earlierPart(_ record: ContractModel.ExchangeRecord) -> Part? {
        if case .none = record.headOutcome { part } else { nil }
    }
}
