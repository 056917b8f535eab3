import InflightConcurrency

// What the engine does about what is stored, and about origins that fail, for all its fetches together.

extension Engine {
    /// The date, as the clock has it.
    var wallTime: WallTime { WallTime(secondsSince1970: clock.secondsSince1970()) }

    /// More answers that follow stale ones than these are not asked for at once: the next who asks begins again.
    private static let maximumRevalidations = 64

    /// Asks for the answer that follows a stale one, for the store: nobody waits for it but the engine.
    func revalidate(_ stale: RequestPlan) {
        var request = stale.request
        request.priority = .low
        request.fallbacks = []
        // It is about the bytes: those that are stored are stale.
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

    /// A load asks a URL for the first time.
    ///
    /// - Returns: why it is not asked, where its server wanted to be left alone for longer.
    func beginsToAsk(_ url: ResourceURL, policy: CachePolicy) -> LoadError? {
        guard retry != nil else { return nil }
        retryBudgets.noteFirstTry(of: url.originKey)
        // Whoever says that he wants it anew has his reasons.
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

/// The engine's own callbacks, which only count: where a load ended, with no lock held. The decode executor is given no more
/// than it may be.
private struct OwnQueue: CallbackExecutor {
    func submit(_ work: @escaping @Sendable () -> Void) {
        work()
    }

    var isCurrent: Bool { false }
}
