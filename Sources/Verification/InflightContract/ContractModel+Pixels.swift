public import InflightCore

// The observations of decoders and processors, and the rules that hold while nothing is running.

extension ContractModel {
    /// The decode executor receives work.
    public func workIsHanded() {
        handed += 1
        // Bodies that spill to files use the executor too, one at a time.
        let most = bounds.decodes + (bounds.bodyBytes == nil ? 0 : 1)
        if handed > most { broken(11, "\(handed) decodes were dispatched at once") }
        let next = live.filter { jobs[$0].stage > 0 && jobs[$0].state == .wanting && !jobs[$0].isHanded }
        if let job = next.max(by: { level(of: $0) < level(of: $1) }) { jobs[job].isHanded = true }
    }

    /// The decode executor is about to run its work.
    public func workBegins() {
        handed -= 1
    }

    /// A decoder begins to make a preview.
    public func previewBegins() {
        handed += 1
        decodeBegins()
    }

    public func previewEnds() {
        handed -= 1
        decodeEnds()
    }

    /// A decoder has been given memory.
    public func decodeBegins() {
        decoding += 1
        if decoding > bounds.decodesInMemory {
            broken(11, "\(decoding) decodes are running, but there is memory for \(bounds.decodesInMemory)")
        }
    }

    public func decodeEnds() { decoding -= 1 }

    /// A decoder or a processor begins to work on this content.
    ///
    /// - Parameters:
    ///   - policy: the cache policy of the job's request, by which jobs on one image differ; nil if it is unknown.
    ///   - isOutermost: whether nothing else is running. Then every job without subscribers has been cancelled.
    /// - Returns: the job, or -1 if there is none.
    public func pixelsBegin(_ content: Content, policy: ImageRequest.CachePolicy?, pixels: Int, isOutermost: Bool)
        -> Int
    {
        handed += 1
        let alike = live.filter {
            let wish = jobs[$0].wish
            let stage = content.second > 0 ? 3 : content.first > 0 ? 2 : 1
            return jobs[$0].stage == stage && jobs[$0].exchange == content.exchange && wish.size == content.size
                && (policy == nil || wish.policy == policy)
                && (stage < 2 || wish.first == content.first) && (stage < 3 || wish.second == content.second)
        }
        // Images in memory are processed per cache policy. Dispatched work begins first, by priority.
        let ready = alike.filter { jobs[$0].state == .wanting }
        let handedOver = ready.filter { jobs[$0].isHanded }
        let job = (handedOver.isEmpty ? ready : handedOver).max { level(of: $0) < level(of: $1) } ?? alike.first
        if pixels > bounds.maximumPixels { broken(11, "an image of \(pixels) pixels was decoded") }
        guard let job else {
            if isOutermost {
                broken(7, "work on the pixels of exchange \(content.exchange) began without a job")
            }
            return -1
        }
        if jobs[job].state != .wanting {
            broken(7, "two jobs process the pixels of exchange \(content.exchange) in the same way")
        }
        jobs[job].state = .running
        return job
    }

    /// The work may have read its cancellation flag. Checked when nothing else is running.
    public func saw(isCancelled: Bool, inJob job: Int) {
        guard job >= 0 else { return }
        if isCancelled, isLive(job) { broken(7, "work on pixels was cancelled although its job has subscribers") }
        if !isCancelled, !isLive(job) { broken(7, "work on pixels continues without subscribers") }
    }

    /// The work is about to return.
    public func pixelsEnd(_ job: Int, _ failure: LoadError.Code?, varies: Bool) {
        handed -= 1
        if failure == .damaged, job >= 0, jobs[job].stage == 1 { rejects(jobs[job].exchange) }
        guard job >= 0, isLive(job) else { return }
        if let failure { return failed(job, failure) }
        if !varies { keep(job) }
        succeeded(job, exchange: jobs[job].exchange)
    }

    /// Stores the images that a task requested, but not those of earlier stages.
    func keep(_ job: Int) {
        let wish = jobs[job].wish
        // A stale image would hide its revalidated successor.
        if bounds.keepsPictures, !jobs[job].isStale || jobs[job].source == .memory, wish.policy != .noStore,
            waiting.contains(where: { tasks[$0].job == job })
        {
            let life = jobs[job].life
            if life >= 0, !lives[life].mayBeKept || lives[life].isSuperseded { return }
            kept[wish.memoryKey(stage: jobs[job].stage, varied: jobs[job].isVaried)] = Kept(
                exchange: jobs[job].exchange, life: life, isRedirected: jobs[job].redirects > 0)
        }
    }

    /// An image was refused by its header.
    public func pictureIsRefused(exchange: Int, _ code: LoadError.Code) {
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
            broken(11, "\(bytes) bytes of bodies are in flight; the limit is \(limit)")
        }
        if statistics.jobsInFlight == 0, bytes != 0 || statistics.pausedTransfers != 0 {
            broken(11, "\(bytes) bytes and \(statistics.pausedTransfers) pauses remain after all jobs have ended")
        }
    }

    /// The engine is idle. Checks what must hold now.
    public func rests(_ statistics: ImagePipeline.Statistics) {
        // A task between two of its fallbacks has no job.
        if statistics.tasksInFlight != waiting.count {
            broken(7, "\(statistics.tasksInFlight) tasks are in flight, expected \(waiting.count)")
        }
        checkBodies(statistics)
        checkPriorities()
        var stopping = 0
        for exchange in exchanges where exchange.job < 0 || !isLive(exchange.job) {
            stopping += 1
            if !exchange.isCancelled, !exchange.isBetween, !exchange.isHeld {
                let what = exchange.serial < 0 ? "a hook or a source" : "exchange \(exchange.serial)"
                broken(7, "\(what) continues without subscribers")
            }
        }
        for lookUp in store.lookUps where lookUp.job >= 0 && !isLive(lookUp.job) {
            // The lookup holds no other slot.
            if !exchanges.contains(where: { $0.job == lookUp.job }) { stopping += 1 }
        }
        for job in store.waiting {
            if !isLive(job) { stopping += 1 }
            if store.lookUps.count < 24, !store.isChanging(key(of: job)) {
                broken(7, "the queued lookup of resource \(jobs[job].wish.resource) does not start")
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
            } else if hidden == 0, jobs[job].state == .wanting, hasPlace(job) {
                broken(11, "a fetch of resource \(jobs[job].wish.resource) is queued although a slot is free")
            }
        }
        // A decode that waits for memory holds its slot, and the model cannot see which decodes wait.
        if handed < min(bounds.decodes, bounds.decodesInMemory, wanted) {
            broken(11, "\(wanted) decodes are ready, \(handed) are running; the limit is \(bounds.decodes)")
        }
        let least = live.count + stopping
        let most = least + handed - running + hidden + lateQuestions
        if statistics.jobsInFlight < least || statistics.jobsInFlight > most {
            broken(7, "\(statistics.jobsInFlight) jobs are in flight, expected \(least) to \(most)")
        }
        let isCounted = abs(statistics.tasks - askedTasks) <= movedTasks
        if !isCounted || abs(statistics.coalescedTasks - joinedTasks) > movedTasks {
            broken(
                7,
                "\(statistics.tasks) tasks, \(statistics.coalescedTasks) coalesced; expected \(askedTasks), \(joinedTasks)"
            )
        }
        if bounds.isOrderKnown, statistics.exchanges != startedExchanges {
            broken(7, "\(statistics.exchanges) exchanges are counted, expected \(startedExchanges)")
        }
        if bounds.isLogged, loggedExchanges != sentExchanges {
            broken(7, "the log has \(loggedExchanges) exchanges, expected \(sentExchanges)")
        }
    }

    /// `shutdown` has returned.
    public func isShutDown() {
        if !live.isEmpty || !exchanges.isEmpty || handed > 0 {
            broken(10, "shutdown returned while \(live.count + exchanges.count + handed) jobs are running")
        }
        if !store.writes.isEmpty || !store.choices.isEmpty || !store.lookUps.isEmpty {
            broken(10, "shutdown returned while the store has pending operations")
        }
    }

    /// A task or a job does not end although time passes.
    public func neverEnds() { broken(3, "a task or a job never ends") }

    /// All references to the pipeline are gone and everything has ended, but its parts still exist.
    public func leaks() { broken(10, "the pipeline is never released") }

    /// The number of jobs so far.
    public var jobCount: Int { jobs.count }

    public var taskCount: Int { tasks.count }

    /// The number of different first-stage keys that were requested.
    public var keyCount: Int { Set(tasks.map { $0.wish.key(stage: 0, varied: false) }).count }

    /// Everything that could happen has happened.
    public func finishes() {
        for task in tasks.indices {
            switch tasks[task].phase {
            case .asking, .falling, .waiting, .told: broken(3, "task \(task) received no ending")
            case .cancelled:
                if tasks[task].queue < 0 { broken(3, "the awaiting caller of task \(task) received no cancellation") }
            case .ended, .lost, .silent, .gone: break
            }
            if tasks[task].hasClosures { broken(10, "the closures of task \(task) were never released") }
        }
        checkLoadersAtEnd()
        if !live.isEmpty { broken(7, "\(live.count) jobs never ended") }
        if handed != 0 { broken(11, "work on pixels never returned") }
    }
}
