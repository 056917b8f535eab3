import InflightConcurrency

// Revalidation and retries, which concern all fetches of the engine.

extension Engine {
    /// The current date of the engine's clock.
    var wallTime: WallTime { WallTime(secondsSince1970: clock.secondsSince1970()) }

    /// The maximum number of concurrent revalidations. Beyond it, the next request for the URL tries again.
    private static let maximumRevalidations = 64

    /// Revalidates a stale response for the store, in a task that only the engine observes.
    func revalidate(_ stale: RequestPlan) {
        var request = stale.request
        request.priority = .low
        request.fallbacks = []
        // A revalidation fetches the bytes: the stored ones are stale.
        request.storedForm = .original
        let purpose = RequestPlan.Purpose.revalidation(ofPicture: stale.wantsPicture)
        let goal = stale.goal == .response ? RequestPlan.Goal.response : .data
        guard let plan = try? plan(request, goal: goal, purpose: purpose), !hasJob(plan.fetchKey) else { return }
        let isRoom = revalidations.withLock { count in
            guard count < Self.maximumRevalidations else { return false }
            count += 1
            return true
        }
        guard isRoom else { return }
        let sink = CallbackSink(
            queue: .executor(OwnQueue()), progress: nil,
            completion: .response { [revalidations] _, _ in revalidations.withLock { $0 -= 1 } })
        let task = ImageTask(request: request, plan: plan, engine: self, sink: sink, hearsProgress: false)
        if let telemetry { task.begins(telemetry) }
        begin(task, plan: plan)
    }

    /// A fetch is about to send its first request to a URL.
    ///
    /// - Returns: the error to fail with, if the server asked for a pause that has not ended.
    func beginsToAsk(_ url: ResourceURL, policy: CachePolicy) -> LoadError? {
        guard retry != nil else { return nil }
        retryBudgets.noteFirstTry(of: url.originKey)
        // A request that bypasses the cache is sent anyway.
        if policy.asksAnew { return nil }
        return retryBudgets.remembered(url.string, now: clock.now())
    }

    func decideRetry(
        after failure: RetryPolicy.Failure, method: String, failedTries: Int, origin: OriginKey
    ) -> RetryPolicy.Decision {
        guard let retry else { return .fail }
        return retryBudgets.decide(
            retry, after: failure, method: method, failedTries: failedTries, origin: origin, now: wallTime,
            random: random())
    }
}

/// Runs the engine's own callbacks, which only count, on the thread where a load ended, with no lock held. They stay
/// off the decode executor, so that its documented limit holds.
private struct OwnQueue: CallbackExecutor {
    func submit(_ work: @escaping @Sendable () -> Void) {
        work()
    }

    var isCurrent: Bool { false }
}
