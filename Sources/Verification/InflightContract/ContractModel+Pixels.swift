public import InflightCore

// The observations of decoders and processors, and the rules that hold while nothing is running.

extension ContractModel {
    /// The decode executor receives work.
    ///
    /// - Returns: the job that it is for if it is work on pixels; -1 if there is none.
    public func workIsDispatched() -> Int {
        dispatched += 1
        // Bodies that spill to files use the executor too, one at a time.
        let most = bounds.decodes + (bounds.bodyBytes == nil ? 0 : 1)
        if dispatched > most { report(11, "\(dispatched) decodes were dispatched at once") }
        let next = live.filter { jobs[$0].stage > 0 && jobs[$0].state == .queued && !jobs[$0].isDispatched }
        guard let job = next.max(by: { level(of: $0) < level(of: $1) }) else { return -1 }
        jobs[job].isDispatched = true
        return job
    }

    /// The decode executor is about to run its work.
    public func workBegins() {
        dispatched -= 1
    }

    /// A decoder begins to make a preview.
    public func previewBegins() {
        dispatched += 1
        decodeBegins()
    }

    public func previewEnds() {
        dispatched -= 1
        decodeEnds()
    }

    /// A decoder has been given memory.
    public func decodeBegins() {
        decoding += 1
        if decoding > bounds.decodesInMemory {
            report(11, "\(decoding) decodes are running, but there is memory for \(bounds.decodesInMemory)")
        }
    }

    public func decodeEnds() { decoding -= 1 }

    /// A decoder or a processor begins to work on this content.
    ///
    /// - Parameters:
    ///   - policy: the cache policy of the job's request, by which jobs on one image differ; nil if it is unknown.
    ///   - expected: what ``workIsDispatched()`` returned for this work.
    ///   - isOutermost: whether nothing else is running. Then every job without subscribers has been cancelled.
    /// - Returns: the job, or -1 if there is none.
    public func pixelsBegin(
        _ content: Content, policy: ImageRequest.CachePolicy?, expected: Int, pixels: Int, isOutermost: Bool
    ) -> Int {
        dispatched += 1
        let alike = live.filter {
            let spec = jobs[$0].spec
            let stage = content.second > 0 ? 3 : content.first > 0 ? 2 : 1
            return jobs[$0].stage == stage && jobs[$0].exchange == content.exchange && spec.size == content.size
                && (policy == nil || spec.policy == policy)
                && (stage < 2 || spec.first == content.first) && (stage < 3 || spec.second == content.second)
        }
        // Images in memory are processed per cache policy. Dispatched work begins first, by priority.
        let ready = alike.filter { jobs[$0].state == .queued }
        let handedOver = ready.filter { jobs[$0].isDispatched }
        let job =
            handedOver.first { $0 == expected }
            ?? (handedOver.isEmpty ? ready : handedOver).max { level(of: $0) < level(of: $1) } ?? alike.first
        if pixels > bounds.maximumPixels { report(11, "an image of \(pixels) pixels was decoded") }
        guard let job else {
            if isOutermost {
                report(7, "work on the pixels of exchange \(content.exchange) began without a job")
            }
            return -1
        }
        if jobs[job].state != .queued {
            report(7, "two jobs process the pixels of exchange \(content.exchange) in the same way")
        }
        jobs[job].state = .running
        return job
    }

    /// The work may have read its cancellation flag. Checked when nothing else is running.
    public func saw(isCancelled: Bool, inJob job: Int) {
        guard job >= 0 else { return }
        if isCancelled, isLive(job) { report(7, "work on pixels was cancelled although its job has subscribers") }
        if !isCancelled, !isLive(job) { report(7, "work on pixels continues without subscribers") }
    }

    /// The work is about to return.
    public func pixelsEnd(_ job: Int, _ failure: LoadError.Code?, varies: Bool) {
        dispatched -= 1
        if failure == .damaged, job >= 0, jobs[job].stage == 1 { rejects(jobs[job].exchange) }
        guard job >= 0, isLive(job) else { return }
        if let failure { return failed(job, failure) }
        if !varies { keep(job) }
        succeeded(job, exchange: jobs[job].exchange)
    }

    /// Stores the images that a task requested, but not those of earlier stages.
    func keep(_ job: Int) {
        let spec = jobs[job].spec
        // A stale image would hide its revalidated successor.
        if bounds.storesImages, !jobs[job].isStale || jobs[job].source == .memory, spec.policy != .noStore,
            waiting.contains(where: { tasks[$0].job == job })
        {
            let response = jobs[job].response
            if response >= 0, !responses[response].mayBeStored || responses[response].isSuperseded { return }
            kept[spec.memoryKey(stage: jobs[job].stage, varied: jobs[job].isVaried)] = CachedImage(
                exchange: jobs[job].exchange, response: response, isRedirected: jobs[job].redirects > 0)
        }
    }

    /// An image was refused by its header.
    public func imageIsRefused(exchange: Int, _ code: LoadError.Code) {
        guard let job = live.first(where: { jobs[$0].stage == 1 && jobs[$0].exchange == exchange })
        else { return }
        failed(job, code)
    }

    // MARK: At rest

    /// Checks the limit of the bodies in flight and that their memory is released. Each fetch may exceed it by one
    /// piece, and the oldest body may exceed it until it is in its file.
    private func checkBodies(_ statistics: ImagePipeline.Statistics) {
        let bytes = statistics.bodyBytesInFlight
        let piece = bounds.hasStore ? 40_000 : 64
        if let limit = bounds.bodyBytes, bytes > limit + Int64(bounds.fetches * piece) {
            report(11, "\(bytes) bytes of bodies are in flight; the limit is \(limit)")
        }
        if statistics.jobsInFlight == 0, bytes != 0 || statistics.pausedTransfers != 0 {
            report(11, "\(bytes) bytes and \(statistics.pausedTransfers) pauses remain after all jobs have ended")
        }
    }

    /// The engine is idle. Checks what must hold now.
    public func checkIdle(_ statistics: ImagePipeline.Statistics) {
        for task in waiting where tasks[task].deadline <= now {
            report(11, "task \(task) has no result at its deadline, and continues")
        }
        // A task between two of its fallbacks has no job.
        if statistics.tasksInFlight != waiting.count {
            report(7, "\(statistics.tasksInFlight) tasks are in flight, expected \(waiting.count)")
        }
        checkBodies(statistics)
        checkPriorities()
        var stopping = 0
        for exchange in exchanges where exchange.job < 0 || !isLive(exchange.job) {
            stopping += 1
            if !exchange.isCancelled, !exchange.isBetween, !exchange.isHeld {
                let what = exchange.serial < 0 ? "a hook or a source" : "exchange \(exchange.serial)"
                report(7, "\(what) continues without subscribers")
            }
        }
        for lookup in store.lookups where lookup.job >= 0 && !isLive(lookup.job) {
            // The lookup holds no other slot.
            if !exchanges.contains(where: { $0.job == lookup.job }) { stopping += 1 }
        }
        for job in store.waiting {
            if !isLive(job) { stopping += 1 }
            if store.lookups.count < 24, !store.isChanging(key(of: job)) {
                report(7, "the queued lookup of resource \(jobs[job].spec.resource) does not start")
            }
        }
        checkWrites()
        // Work that has started without being seen yet.
        let hidden = bounds.startsAreHidden ? max(0, statistics.exchanges - startedExchanges) : 0
        var wanted = 0
        var running = 0
        for job in live {
            if jobs[job].stage > 0 {
                if jobs[job].state != .blocked { wanted += 1 }
                if jobs[job].state == .running { running += 1 }
            } else if hidden == 0, jobs[job].state == .queued, hasFreeSlot(job) {
                report(11, "a fetch of resource \(jobs[job].spec.resource) is queued although a slot is free")
            }
        }
        // A decode that waits for memory holds its slot, and the model cannot see which decodes wait.
        if dispatched < min(bounds.decodes, bounds.decodesInMemory, wanted) {
            report(11, "\(wanted) decodes are ready, \(dispatched) are running; the limit is \(bounds.decodes)")
        }
        let least = live.count + stopping
        let most = least + dispatched - running + hidden + lateQuestions
        if statistics.jobsInFlight < least || statistics.jobsInFlight > most {
            report(7, "\(statistics.jobsInFlight) jobs are in flight, expected \(least) to \(most)")
        }
        let isCounted = abs(statistics.tasks - requestedTasks) <= movedTasks
        if !isCounted || abs(statistics.coalescedTasks - coalescedTasks) > movedTasks {
            report(
                7,
                "\(statistics.tasks) tasks, \(statistics.coalescedTasks) coalesced; expected \(requestedTasks), \(coalescedTasks)"
            )
        }
        if bounds.isOrderKnown, statistics.exchanges != startedExchanges {
            report(7, "\(statistics.exchanges) exchanges are counted, expected \(startedExchanges)")
        }
        if bounds.isLogged, loggedExchanges != sentExchanges {
            report(7, "the log has \(loggedExchanges) exchanges, expected \(sentExchanges)")
        }
    }

    /// `shutdown` has returned.
    public func isShutDown() {
        if !live.isEmpty || !exchanges.isEmpty || dispatched > 0 {
            report(10, "shutdown returned while \(live.count + exchanges.count + dispatched) jobs are running")
        }
        if !store.writes.isEmpty || !store.choices.isEmpty || !store.lookups.isEmpty {
            report(10, "shutdown returned while the store has pending operations")
        }
    }

    /// A task or a job does not end although time passes.
    public func neverEnds() { report(3, "a task or a job never ends") }

    /// All references to the pipeline are gone and everything has ended, but its parts still exist.
    public func leaks() { report(10, "the pipeline is never released") }

    public var taskCount: Int { tasks.count }

    /// The number of different first-stage keys that were requested.
    public var keyCount: Int { Set(tasks.map { $0.spec.key(stage: 0, varied: false) }).count }

    /// Everything that could happen has happened.
    public func finishes() {
        for task in tasks.indices {
            switch tasks[task].phase {
            case .preparing, .awaitingFallback, .waiting, .undelivered: report(3, "task \(task) received no ending")
            case .cancelled:
                if tasks[task].queue < 0 { report(3, "the awaiting caller of task \(task) received no cancellation") }
            case .ended, .lost, .silent, .gone: break
            }
            if tasks[task].hasClosures { report(10, "the closures of task \(task) were never released") }
        }
        checkLoadersAtEnd()
        if !live.isEmpty { report(7, "\(live.count) jobs never ended") }
        if dispatched != 0 { report(11, "work on pixels never returned") }
    }
}
