import InflightConcurrency

/// Takes a task from its request to its ending: plans the request, looks in memory, submits the plan to the scheduler,
/// and submits the next request after a result that does not end the task.
final class TaskDriver: Sendable {
    let scheduler: Scheduler
    let endings = EndingCounters()
    private let images: CachedImages
    private let fetching: FetchStage
    private let decoding: DecodeStage
    /// The number of revalidations in flight that only the engine observes.
    private let refreshes = Guarded(0)

    init(fetching: FetchStage, decoding: DecodeStage) {
        scheduler = decoding.scheduler
        images = decoding.images
        self.fetching = fetching
        self.decoding = decoding
    }

    // MARK: Planning

    /// Creates a task that starts only with ``start(_:)``, for callers that must be able to cancel it first.
    func makeTask(_ request: ImageRequest, goal: RequestPlan.Goal, observesProgress: Bool) -> ImageTask {
        ImageTask(subject(of: request, goal: goal), driver: self, sink: nil, observesProgress: observesProgress)
    }

    /// Returns the plan of a request, or the reason why it cannot be loaded. Calls processors for their identity.
    func subject(of request: ImageRequest, goal: RequestPlan.Goal) -> ImageTask.Subject {
        do throws(LoadError) {
            let plan = try RequestPlan(request, goal: goal, fieldsExcludedFromKey: fetching.fieldsExcludedFromKey)
            guard let error = unsupported(plan) else { return .plan(plan) }
            return .rejected(ImageTask.RejectedRequest(request, error, goal, key: plan.finalKey))
        } catch {
            return .rejected(ImageTask.RejectedRequest(request, error, goal))
        }
    }

    private func plan(
        _ request: ImageRequest, goal: RequestPlan.Goal, varying: Set<String> = [],
        purpose: RequestPlan.Purpose = .usual
    ) throws(LoadError) -> RequestPlan {
        let plan = try RequestPlan(
            request, goal: goal, fieldsExcludedFromKey: fetching.fieldsExcludedFromKey, varying: varying,
            purpose: purpose)
        if let error = unsupported(plan) { throw error }
        return plan
    }

    /// Returns an error if no transport serves the scheme of the URL, unless the program has put the image into the
    /// memory cache.
    private func unsupported(_ plan: RequestPlan) -> LoadError? {
        guard plan.request.source == nil, fetching.transports[plan.url.scheme] == nil,
            plan.goal != .image || images.find(plan) == nil
        else { return nil }
        return fetching.transports.unsupported(plan.url)
    }

    /// Returns the step of a plan at a position.
    func step(_ position: Int, of plan: RequestPlan) -> Scheduler.Machine.Step {
        if position > 0 { return .init(key: plan.imageKey(position - 1), lane: .decode, group: .none) }
        let looksUp = fetching.storage.store != nil && plan.mayBeStored
        return .init(key: plan.fetchKey, lane: looksUp ? .store : .fetch, group: looksUp ? .none : plan.origin)
    }

    /// Creates the job of a plan's step. Called with the scheduler's lock held.
    func makeJob(_ position: Int, id: Scheduler.Machine.JobID, plan: RequestPlan) -> EngineJob {
        switch position {
        case 0 where plan.isProcessedLookUp: ProcessedLookUpJob(stage: fetching, id: id, plan: plan)
        case 0 where plan.request.source != nil: SourceJob(stage: fetching, id: id, plan: plan)
        case 0: FetchJob(stage: fetching, id: id, plan: plan)
        case 1: DecodeJob(stage: decoding, id: id, plan: plan)
        default: ProcessJob(stage: decoding, id: id, plan: plan, position: position - 2)
        }
    }

    // MARK: Starting

    /// Creates a task and starts it. Never calls back inside this call.
    func load(_ subject: ImageTask.Subject, sink: CallbackSink) -> ImageTask {
        let task = ImageTask(subject, driver: self, sink: sink, observesProgress: sink.progress != nil)
        start(task)
        return task
    }

    func start(_ task: ImageTask) {
        if let telemetry = scheduler.telemetry { task.begins(telemetry) }
        switch task.subject {
        case .plan(let plan): start(task, plan: plan)
        case .rejected(let rejected): loadFailed(task, JobResult(.failure(rejected.error)), wasAdmitted: false)
        }
    }

    /// Submits a task, after a lookup of the finished image if the request stores processed images.
    ///
    /// - Parameter wasAdmitted: whether the task was admitted before. A graceful shutdown finishes such tasks.
    private func start(_ task: ImageTask, plan: RequestPlan, wasAdmitted: Bool = false) {
        if fetching.storage.store != nil, plan.looksForProcessed, images.find(plan) == nil {
            let count = plan.request.processors.count
            task.looksForProcessed(prefix: count)
            if lookUp(count, of: plan.request, task, wasAdmitted: wasAdmitted) { return }
        }
        submit(task, plan: plan, wasAdmitted: wasAdmitted)
    }

    /// Submits a lookup of the stored image that the first `count` processors made.
    private func lookUp(_ count: Int, of request: ImageRequest, _ task: ImageTask, wasAdmitted: Bool) -> Bool {
        guard
            let lookUp = try? plan(
                request, goal: .image, purpose: .processed(prefix: count, confirmedAt: task.confirmedAt))
        else { return false }
        submit(task, plan: lookUp, wasAdmitted: wasAdmitted)
        return true
    }

    private func submit(_ task: ImageTask, plan: RequestPlan, wasAdmitted: Bool) {
        // A task that was cancelled before it is submitted starts nothing.
        if task.isCancelled { return }
        var now: MonotonicTime?
        while true {
            // Read the count before the lookup. The lookup runs without a lock, because the cache may be the caller's
            // code.
            let count = images.count
            let hit = images.find(plan)
            if let hit, hit.steps == plan.stepCount {
                scheduler.telemetry?.emit(.foundInMemory, task: task.number)
                return task.didEnd(JobResult(.image(hit.image)))
            }
            let time = now ?? scheduler.clock.now()
            now = time
            switch scheduler.add(
                task, plan: plan, prefix: hit, wasAdmitted: wasAdmitted, now: time,
                isOutdated: { plan.mayBeInMemory && images.count != count })
            {
            case .lookUpAgain: continue
            case .refused(let error): return task.didEnd(JobResult(.failure(error)))
            case .added(let isShared, let progress):
                if let progress { task.didProgress(progress) }
                return scheduler.log(.trace, "task added") { [("url", plan.url.string), ("shared", "\(isShared)")] }
            }
        }
    }

    // MARK: Continuing

    /// The task's load has failed. It continues with its next request, if it has one, or ends.
    func loadFailed(_ task: ImageTask, _ failure: JobResult, wasAdmitted: Bool) {
        var failure = failure
        if failure.isFromStore, let (request, prefix) = task.takeProcessedLookUp() {
            if let prefix, lookUp(prefix, of: request, task, wasAdmitted: true) { return }
            report(task, "The processed image is not cached.")
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isFromStore, let request = task.takeConfirmation() {
            report(task, "The server has confirmed the processed image.")
            if task.goal == .image, task.storesProcessedImages {
                let count = request.processors.count
                task.looksForProcessed(prefix: count)
                if lookUp(count, of: request, task, wasAdmitted: true) { return }
            }
            // It joined the request for another subscriber's image, and needs the bytes.
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isFromStore, let request = task.takeRefetch() {
            report(task, "The cached response is unusable: \(failure.error?.message ?? "")")
            log("the cached response is unusable: loading it again", request, failure)
            do throws(LoadError) {
                return submit(task, plan: try plan(request, goal: task.goal, purpose: .refetch), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        while let request = task.takeFallback() {
            report(task, "The load failed and continues with a fallback: \(failure.error?.message ?? "")")
            log("loading a fallback", request, failure)
            do throws(LoadError) {
                return start(task, plan: try plan(request, goal: task.goal), wasAdmitted: wasAdmitted)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        task.didEnd(failure)
    }

    /// Delivers a stale image to the task, and submits the revalidation.
    func deliverStale(_ stale: JobResult, to task: ImageTask) {
        guard task.didReceiveStale(stale) else { return }
        report(task, "The cached image is stale and was delivered. It is being revalidated.")
        do throws(LoadError) {
            let plan = try plan(
                task.currentRequest, goal: task.goal, purpose: .revalidation(ofPicture: task.goal == .image))
            submit(task, plan: plan, wasAdmitted: true)
        } catch {
            task.didEnd(JobResult(.failure(error)))
        }
    }

    /// Reports that the task continues with another load.
    private func report(_ task: ImageTask, _ why: @autoclosure () -> String) {
        scheduler.telemetry?.emit(.rerouted(why: why()), task: task.number)
    }

    private func log(_ message: String, _ request: ImageRequest, _ failure: JobResult) {
        scheduler.log(.notice, message) {
            [("url", URLParts.shown(request.url)), ("because", failure.error?.description ?? "")]
        }
    }

    // MARK: Revalidation

    /// The maximum number of concurrent revalidations. Beyond it, a later request for the URL starts the revalidation.
    private static let maximumRefreshes = 64

    /// Revalidates a stale response for the store, in a task that only the engine observes.
    func refresh(_ stale: RequestPlan) {
        var request = stale.request
        request.priority = .low
        request.fallbacks = []
        // Store the bytes that the revalidation fetches. It makes no processed image.
        request.storedRepresentation = .original
        let purpose = RequestPlan.Purpose.revalidation(ofPicture: stale.requiresImage)
        let goal = stale.goal == .response ? RequestPlan.Goal.response : .data
        guard let plan = try? plan(request, goal: goal, purpose: purpose), !scheduler.read({ $0.hasJob(plan.fetchKey) })
        else { return }
        let isAllowed = refreshes.withLock { count in
            guard count < Self.maximumRefreshes else { return false }
            count += 1
            return true
        }
        guard isAllowed else { return }
        let sink = CallbackSink(
            queue: .executor(EndingThread()), progress: nil, preview: nil,
            completion: .response { [refreshes] _, _ in refreshes.withLock { $0 -= 1 } })
        start(ImageTask(.plan(plan), driver: self, sink: sink, observesProgress: false))
    }

    // MARK: Vary

    /// A job's response varies by header fields that the key leaves out. Subscribers with other values of them leave
    /// and fetch for themselves; those whose values agree coalesce.
    func splitByVary(
        _ tasks: [(id: Scheduler.Machine.TaskID, task: ImageTask)], from plan: RequestPlan, by names: Set<String>
    ) {
        let varying = names.union(plan.varying)
        var reassignments: [Scheduler.Reassignment] = []
        // Tasks that agree share a fetch, which is sent with the priority of the first.
        let sorted = tasks.map { ($0.id, $0.task, $0.task.priority) }.sorted { $0.2 > $1.2 }
        for (id, task, _) in sorted {
            let request = task.currentRequest
            if request.agrees(with: plan.request, in: names) { continue }
            let own = Result { () throws(LoadError) in
                try self.plan(request, goal: task.goal, varying: varying)
            }
            reassignments.append(Scheduler.Reassignment(id: id, task: task, plan: own))
        }
        guard !reassignments.isEmpty else { return }
        var isMoved = false
        while !isMoved {
            let count = images.count
            let hits = reassignments.map { departure in
                if case .success(let own) = departure.plan { images.find(own) } else { MemoryHit?.none }
            }
            isMoved = scheduler.move(reassignments, hits: hits) { images.count != count }
        }
        scheduler.log(.notice, "separate fetches, because the response varies") {
            [
                ("url", plan.url.string), ("by", names.sorted().joined(separator: ", ")),
                ("loads", "\(reassignments.count)"),
            ]
        }
    }
}

/// Runs the engine's own callbacks, which only count, with no lock held, on the thread where a load ended. They stay
/// off the decode executor, so that its documented limit holds.
private struct EndingThread: CallbackExecutor {
    func submit(_ work: @escaping @Sendable () -> Void) {
        work()
    }

    var isCurrent: Bool { false }
}
