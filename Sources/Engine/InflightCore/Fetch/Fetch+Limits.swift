import InflightConcurrency
internal import Synchronization

// The limits of the tasks that share a fetch. They are in no key: a fetch continues as long as the laxest allows.
// A task whose own limit is exceeded fails alone. If it is exceeded for all of them, the fetch fails, as it does for
// one task.

extension ImageRequest.Limits {
    /// Returns limits that allow whatever one of both allows.
    func together(with other: Self) -> Self {
        func laxer(_ left: Duration?, _ right: Duration?) -> Duration? {
            if let left, let right { max(left, right) } else { nil }
        }
        var limits = self
        limits.connectTimeout = laxer(connectTimeout, other.connectTimeout)
        limits.stallTimeout = laxer(stallTimeout, other.stallTimeout)
        limits.totalTimeout = laxer(totalTimeout, other.totalTimeout)
        limits.minimumBytesPerSecond = min(minimumBytesPerSecond, other.minimumBytesPerSecond)
        limits.minimumRatePeriod = max(minimumRatePeriod, other.minimumRatePeriod)
        limits.maximumBodyBytes = max(maximumBodyBytes, other.maximumBodyBytes)
        limits.maximumRedirects = max(maximumRedirects, other.maximumRedirects)
        return limits
    }
}

/// The time for which a fetch has had a slot. Its tasks' total times are measured in it.
struct ActiveTime {
    /// The start, moved by the times without a slot.
    private var start: MonotonicTime
    /// The time at which the fetch gave its slot back, to wait for another or before a retry.
    private var waitsSince: MonotonicTime?

    init(since start: MonotonicTime) {
        self.start = start
    }

    mutating func slotTaken(at now: MonotonicTime) {
        if let since = waitsSince.take() { start = start + (now - since) }
    }

    mutating func slotGiven(at now: MonotonicTime) { waitsSince = now }

    func passed(at now: MonotonicTime) -> Duration { (waitsSince ?? now) - start }

    /// Returns the time at which this much time will have passed; nil while the fetch has no slot.
    func end(of time: Duration) -> MonotonicTime? { waitsSince == nil ? start + time : nil }
}

/// The total times of the tasks that wait for a fetch, by the active time of the fetch at which they end. Guarded by
/// the engine's lock.
final class TotalTimes {
    private var queue = TimerQueue<JobGraph.TaskID>()

    func add(_ task: JobGraph.TaskID, endingAt time: Duration, isOver: (JobGraph.TaskID) -> Bool) {
        _ = queue.insert(task, at: .zero + time, sweeping: isOver)
    }

    /// The earliest end.
    var next: Duration? { queue.earliest.map { $0 - .zero } }

    func takeDue(at time: Duration) -> JobGraph.TaskID? { queue.takeDue(at: .zero + time) }
}

extension FetchJob {
    /// The laxest limits of the tasks.
    var limits: ImageRequest.Limits {
        hasMixedLimits.load(ordering: .relaxed) ? engine.laxestLimits(of: self) : plan.request.limits
    }

    /// Whether a task has a total time.
    var isTimed: Bool {
        plan.request.limits.totalTimeout != nil || hasTimedTasks.load(ordering: .relaxed)
    }

    /// A task waits for the fetch now. Called with the engine's lock held.
    ///
    /// - Returns: whether ``limitsChanged()`` has to be called.
    func added(
        _ task: ImageTask, as id: JobGraph.TaskID, at now: MonotonicTime, isOver: (JobGraph.TaskID) -> Bool
    ) -> Bool {
        let wasMixed = hasMixedLimits.load(ordering: .relaxed)
        if !wasMixed, !isTimed, task.request.hasDefaults, plan.request.hasDefaults { return false }
        var (own, first) = (task.limits, plan.request.limits)
        let active = stripe.lock.withLock { fetch?.active }
        if let total = own.totalTimeout {
            hasTimedTasks.store(true, ordering: .relaxed)
            let times = totalTimes ?? TotalTimes()
            totalTimes = times
            times.add(id, endingAt: max(.zero, active?.passed(at: now) ?? .zero) + total, isOver: isOver)
        }
        (own.totalTimeout, first.totalTimeout) = (nil, nil)
        if own != first { hasMixedLimits.store(true, ordering: .relaxed) }
        return active != nil && (isTimed || wasMixed || own != first)
    }

    /// Returns an error if the result exceeds these limits.
    func excess(in value: JobResult.Value?, of limits: ImageRequest.Limits) -> LoadError? {
        switch value {
        case .failure, .image, nil: nil
        case .info(let info):
            excess(redirects: Int(followedRedirects), limits: limits, url: info.url, status: nil)
        case .response(let response):
            excess(
                redirects: Int(followedRedirects), limits: limits, url: response.url, status: response.head.status)
                ?? excess(Int64(response.byteCount), of: "The body", limits: limits)
        }
    }

    fileprivate func excess(redirects: Int, limits: ImageRequest.Limits, url: String, status: Int?) -> LoadError? {
        guard redirects > limits.maximumRedirects else { return nil }
        return LoadError(
            .badRedirect, stage: .fetch, url: url,
            message: "More than \(limits.maximumRedirects) redirects. Raise maximumRedirects.", status: status)
    }

    fileprivate func excess(_ bytes: Int64, of what: String, limits: ImageRequest.Limits) -> LoadError? {
        let limit = min(limits.maximumBodyBytes, engine.maximumBodyBytes)
        return bytes > limit ? LoadError(.tooLarge, stage: .fetch, message: Fetch.tooLong(what, limit)) : nil
    }

    func timedOut(after time: Duration?) -> LoadError {
        LoadError(
            .timedOut, stage: .fetch, url: plan.url.string,
            message: "The request timed out after \(time.text). Raise totalTimeout, or try again later.")
    }

    /// A task whose limits may matter has come or left.
    func limitsChanged() {
        guard let fetch = stripe.lock.withLock({ fetch }) else { return }
        if isTimed { fetch.checkTimeLater() }
        guard hasMixedLimits.load(ordering: .relaxed) else { return }
        // Calls may overlap. Each repeats its own until it has passed the latest limits on.
        var passed: TransportRequest.Limits?
        while case let limits = fetch.transportLimits, limits != passed {
            stripe.lock.withLock { fetch.state.limitsChanged() }?.setLimits(limits)
            passed = limits
        }
    }
}

extension Fetch {
    /// The limits of the next exchange. The total time is the engine's own matter.
    var transportLimits: TransportRequest.Limits {
        var limits = TransportRequest.Limits()
        let wanted = job.limits
        limits.connectTimeout = wanted.connectTimeout
        limits.stallTimeout = wanted.stallTimeout
        limits.maximumBodyBytes = min(wanted.maximumBodyBytes, engine.maximumBodyBytes)
        return limits
    }

    // MARK: Time

    /// Whether the total time is over for all tasks.
    var isOutOfTime: Bool {
        guard job.isTimed else { return false }
        let now = clock.now()
        return engine.isOver(forTasksOf: job, after: stripe.lock.withLock { active.passed(at: now) })
    }

    /// Ends the tasks whose total time is over, unless it is for all of them.
    ///
    /// - Returns: whether it is.
    private func endLateTasks(at now: MonotonicTime) -> Bool {
        engine.endLateTasks(of: job, after: stripe.lock.withLock { active.passed(at: now) })
    }

    /// Has ``check(at:)`` called when the next total time ends.
    func checkTimeLater() {
        guard let time = nextEnd else { return }
        engine.checker.add(self, checkAt: time)
        // The fetch may have ended meanwhile, on another thread.
        if stripe.lock.withLock({ hasEnded }) { engine.checker.remove(self) }
    }

    /// The time at which the next total time ends; nil without one, and while the fetch has no slot.
    private var nextEnd: MonotonicTime? {
        guard job.isTimed, let next = engine.nextEnd(of: job) else { return nil }
        return stripe.lock.withLock { hasEnded ? nil : active.end(of: next) }
    }

    /// Ends the tasks whose total time is over. If no other is left, stops what the fetch waits for, so that it ends.
    ///
    /// - Returns: the time of the next check.
    func checkTime(at now: MonotonicTime) -> MonotonicTime? {
        guard job.isTimed, let next = nextEnd else { return nil }
        guard next <= now else { return next }
        guard endLateTasks(at: now) else { return nextEnd }
        let (transfer, call) = stripe.lock.withLock { state.timeIsOver() }
        transfer?.cancel()
        call?.cancel()
        return nil
    }

    func timedOut() -> LoadError { job.timedOut(after: job.limits.totalTimeout) }

    // MARK: Bytes and redirects

    /// Returns an error if the body has more bytes than any task allows. Tasks that allow fewer, while others continue,
    /// fail with it alone.
    ///
    /// - Parameter what: what is too long, as the error's message begins.
    func excess(_ bytes: Int64, of what: String = "The body") -> LoadError? {
        let error = refusal { job.excess(bytes, of: what, limits: $0) }
        if error != nil { exchange.exceedingBytes = bytes }
        return error
    }

    /// Returns whether the exchange was stopped by the limits of all tasks, but a task that allows more has joined.
    func suitsNewcomer(_ stop: FetchState.Stop?) -> Bool {
        if stop == .outOfTime, exchange.verdict == nil { return !endLateTasks(at: clock.now()) }
        guard let bytes = exchange.exceedingBytes, job.hasMixedLimits.load(ordering: .relaxed) else { return false }
        return excess(bytes) == nil
    }

    /// Returns an error if no task allows so many redirects. Tasks that allow fewer, while others continue, fail alone.
    func excess(redirects: Int) -> LoadError? {
        refusal {
            job.excess(redirects: redirects, limits: $0, url: currentURL.string, status: exchange.head?.status)
        }
    }

    private func refusal(_ error: (ImageRequest.Limits) -> LoadError?) -> LoadError? {
        job.hasMixedLimits.load(ordering: .relaxed) ? engine.refuse(tasksOf: job, error) : error(plan.request.limits)
    }
}
