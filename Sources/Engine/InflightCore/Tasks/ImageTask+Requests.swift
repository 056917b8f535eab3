import InflightConcurrency

// The way of a task from its request to the graph of jobs, and what follows a result that does not end it: another
// lookup, a refetch, a fallback, or a revalidation.

extension ImageTask {
    // MARK: Starting

    /// Starts the task. Never calls back inside this call.
    func start() {
        if let telemetry = engine.telemetry { begins(telemetry) }
        if let time = timeLimit(of: subject) { limitTime(to: time) }
        switch subject {
        case .plan(let plan): start(plan)
        case .rejected(let rejected): continueAfterFailure(JobResult(.failure(rejected.error)), wasAdmitted: false)
        }
    }

    /// Submits the task, after a lookup of the finished image if the request stores processed images.
    ///
    /// - Parameter wasAdmitted: whether the task was admitted before. A graceful shutdown finishes such tasks.
    private func start(_ plan: RequestPlan, wasAdmitted: Bool = false) {
        if engine.storage.store != nil, plan.looksForProcessed, !engine.images.hasResult(of: plan) {
            let count = plan.request.processors.count
            looksForProcessed(prefix: count)
            if lookUp(count, of: plan.request, wasAdmitted: wasAdmitted) { return }
        }
        submit(plan, wasAdmitted: wasAdmitted)
    }

    /// Submits a lookup of the stored image that the first `count` processors made.
    private func lookUp(_ count: Int, of request: ImageRequest, wasAdmitted: Bool) -> Bool {
        guard
            let lookUp = try? engine.plan(
                request, goal: goal, purpose: .processed(prefix: count, confirmedAt: confirmedAt))
        else { return false }
        submit(lookUp, wasAdmitted: wasAdmitted)
        return true
    }

    private func submit(_ plan: RequestPlan, wasAdmitted: Bool) {
        // A task that has ended before it is submitted starts nothing.
        guard isPending else { return }
        var now: MonotonicTime?
        while true {
            // Read the count before the lookup. The lookup runs without a lock, because the cache may be the caller's
            // code.
            let count = engine.images.count
            if plan.goal == .encoded, let file = engine.images.findEncoded(plan) {
                engine.telemetry?.emit(.foundInMemory, task: number)
                return didEnd(JobResult(.response(file)))
            }
            let hit = engine.images.find(plan)
            if let hit, hit.steps == plan.stepCount {
                engine.telemetry?.emit(.foundInMemory, task: number)
                return didEnd(JobResult(.image(hit.image)))
            }
            if hit == nil, let refusal = engine.refusal(toFetch: plan) {
                return continueAfterFailure(JobResult(.failure(refusal)), wasAdmitted: wasAdmitted)
            }
            let time = now ?? engine.clock.now()
            now = time
            switch engine.add(
                self, plan: plan, prefix: hit, wasAdmitted: wasAdmitted, now: time,
                isOutdated: { plan.mayBeInMemory && engine.images.count != count })
            {
            case .lookUpAgain: continue
            case .refused(let error): return didEnd(JobResult(.failure(error)))
            case .added(let isShared, let progress):
                if let progress { didProgress(progress) }
                return engine.log(.trace, "task added") {
                    [("url", plan.url.string), ("shared", "\(isShared)")]
                        + plan.request.userInfo.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
                }
            }
        }
    }

    // MARK: Continuing

    /// The load has failed. It continues with its next request, if it has one, or ends.
    func continueAfterFailure(_ failure: JobResult, wasAdmitted: Bool) {
        var failure = failure
        if failure.isFromStore, let (request, prefix) = takeProcessedLookUp() {
            if let prefix, lookUp(prefix, of: request, wasAdmitted: true) { return }
            report("The processed image is not cached.")
            do throws(LoadError) {
                return submit(try engine.plan(request, goal: goal), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isFromStore, let request = takeConfirmation() {
            report("The server has confirmed the processed image.")
            if goal.makesImage, storesProcessedImages {
                let count = request.processors.count
                looksForProcessed(prefix: count)
                if lookUp(count, of: request, wasAdmitted: true) { return }
            }
            // It joined the request for another subscriber's image, and needs the bytes.
            do throws(LoadError) {
                return submit(try engine.plan(request, goal: goal), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        if failure.isFromStore, let request = takeRefetch() {
            report("The cached response is unusable: \(failure.error?.message ?? "")")
            log("the cached response is unusable: loading it again", request, failure)
            do throws(LoadError) {
                return submit(try engine.plan(request, goal: goal, purpose: .refetch), wasAdmitted: true)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        while let request = takeFallback() {
            report("The load failed and continues with a fallback: \(failure.error?.message ?? "")")
            log("loading a fallback", request, failure)
            do throws(LoadError) {
                return start(try engine.plan(request, goal: goal), wasAdmitted: wasAdmitted)
            } catch {
                failure = JobResult(.failure(error))
            }
        }
        didEnd(failure)
    }

    /// Delivers a stale image to the task, and submits the revalidation.
    func continueAfterStale(_ stale: JobResult) {
        guard didReceiveStale(stale) else { return }
        report("The cached image is stale and was delivered. It is being revalidated.")
        do throws(LoadError) {
            let plan = try engine.plan(
                currentRequest, goal: goal, purpose: .revalidation(ofImage: goal.makesImage))
            submit(plan, wasAdmitted: true)
        } catch {
            didEnd(JobResult(.failure(error)))
        }
    }

    /// Reports that the task continues with another load.
    private func report(_ why: @autoclosure () -> String) {
        engine.telemetry?.emit(.rerouted(why: why()), task: number)
    }

    private func log(_ message: String, _ request: ImageRequest, _ failure: JobResult) {
        engine.log(.notice, message) {
            [("url", URLParts.shown(request.url)), ("because", failure.error?.description ?? "")]
        }
    }

    // MARK: The next request

    /// The continuation of a task after a result.
    enum Continuation {
        case end
        /// The task failed, and has a fallback or a refetch.
        case nextRequest(LoadError)
        /// The task receives a stale image, and waits for its revalidation.
        case revalidation

        var isEnd: Bool { if case .end = self { true } else { false } }
    }

    func continuation(after result: JobResult) -> Continuation {
        if let error = result.error(for: goal) {
            return result.isFromStore || hasFallback ? .nextRequest(error) : .end
        }
        return result.isStaleImageBeingRevalidated && observesStale ? .revalidation : .end
    }

    /// The request in progress: ``latestRequest``, or a fallback of it.
    var currentRequest: ImageRequest {
        let (taken, latest) = stripe.lock.withLock { (state.takenFallbacks, state.amended ?? subject) }
        return latest.request.fallback(Int(taken)) ?? latest.request
    }

    /// Whether a fallback remains if this request fails.
    var hasFallback: Bool {
        stripe.lock.withLock {
            state.isPending && state.takenFallbacks < (state.amended ?? subject).request.fallbackCount
        }
    }

    /// Takes the next fallback. Returns nil if there is none, or if the task has ended.
    private func takeFallback() -> ImageRequest? {
        let (next, preview): ((number: UInt16, of: Subject)?, BoxedPreview?) = stripe.lock.withLock {
            let latest = state.amended ?? subject
            guard state.isPending, state.takenFallbacks < latest.request.fallbackCount else { return (nil, nil) }
            state.takenFallbacks += 1
            return ((state.takenFallbacks, latest), state.machine.backlog.fallbackTaken())
        }
        withExtendedLifetime(preview) {}
        return next.flatMap { $0.of.request.fallback(Int($0.number)) }
    }

    /// Returns the request to repeat because its stored response is useless, or nil if it was repeated before.
    private func takeRefetch() -> ImageRequest? {
        let isFirst = stripe.lock.withLock {
            guard state.isPending, !state.hasRefetched else { return false }
            state.hasRefetched = true
            return true
        }
        return isFirst ? currentRequest : nil
    }

    /// The representation that a store keeps for this task.
    var storedRepresentation: ImageRequest.StoredRepresentation {
        latestRequest.storedRepresentation
    }

    /// Whether the task stores, and so looks for, processed images.
    var storesProcessedImages: Bool { storedRepresentation.processedOptions != nil }

    private func looksForProcessed(prefix: Int) {
        stripe.lock.withLock { state.lookedForPrefix = Int16(clamping: prefix) }
    }

    /// Returns the identities of the stored images that would serve the task if the origin confirmed their response,
    /// the preferred one first; nil if the task needs the bytes. Calls processors for their identity.
    var confirmableIdentities: [String]? {
        let isFirst = stripe.lock.withLock { if case .none = state.confirmation { state.isPending } else { false } }
        guard isFirst, let plan, plan.looksForProcessed else { return nil }
        let request = currentRequest
        let count = request.processors.count
        let isExact = request.storedRepresentation.processedOptions?.isExact ?? false
        let prefixes = isExact ? Array((0...count).reversed()) : [count]
        return prefixes.flatMap { request.processedIdentities($0) }
    }

    /// The origin has confirmed the response that stored images were made from.
    func processedImagesWereConfirmed(at time: WallTime) {
        stripe.lock.withLock { if case .none = state.confirmation { state.confirmation = .received(time) } }
    }

    /// Returns the request to continue with after the origin has confirmed the response that stored images were made
    /// from; nil if it has not.
    private func takeConfirmation() -> ImageRequest? {
        let isTaken = stripe.lock.withLock {
            guard state.isPending, case .received(let time) = state.confirmation else { return false }
            state.confirmation = .used(time)
            return true
        }
        return isTaken ? currentRequest : nil
    }

    /// The time of the confirmation after which the task looks for its processed image again.
    var confirmedAt: WallTime? {
        stripe.lock.withLock { if case .used(let time) = state.confirmation { time } else { nil } }
    }

    /// Returns the request to continue with after a processed image was not found in the store, with the next shorter
    /// prefix of processors to look up, or nil to load the bytes. Returns nil if no such lookup was in progress.
    private func takeProcessedLookUp() -> (request: ImageRequest, prefix: Int?)? {
        guard stripe.lock.withLock({ state.lookedForPrefix }) >= 0 else { return nil }
        let request = currentRequest
        let isExact = request.storedRepresentation.processedOptions?.isExact ?? false
        let next = stripe.lock.withLock {
            state.lookedForPrefix = isExact ? state.lookedForPrefix - 1 : -1
            return state.lookedForPrefix
        }
        return (request, next < 0 ? nil : Int(next))
    }
}
