import InflightCore

// A task whose load has failed requests its next fallback, or ends.

extension ContractModel {
    /// Returns the tasks that subscribe to a job or to a later stage, the nearest first.
    func waiters(of job: Int) -> [Int] {
        var found = waiting.filter { tasks[$0].job == job }
        for next in live where jobs[next].upstream == job { found += waiters(of: next) }
        return found
    }

    private func nextFallback(of task: Int) -> RequestSpec? {
        // A background revalidation has no fallbacks.
        guard let next = fallbacks[tasks[task].first], tasks[task].fallbacks < next.count,
            tasks[task].queue != Self.ownQueue
        else { return nil }
        return next[tasks[task].fallbacks]
    }

    func fails(_ task: Int, _ code: LoadError.Code) {
        guard nextFallback(of: task) != nil else { return finish(task, .failure(code)) }
        if let index = waiting.firstIndex(of: task) { waiting.remove(at: index) }
        tasks[task].job = -1
        tasks[task].phase = .awaitingFallback
        tasks[task].failedOnThread = thread
        awaitingFallback.append(task)
    }

    /// A task is about to request this resource because another one failed. ``subscribes(_:)`` follows.
    public func requestsFallback(for resource: UInt8) -> Int {
        func mayAsk(_ task: Int) -> Bool {
            tasks[task].failedOnThread == thread && nextFallback(of: task)?.resource == resource
        }
        // A task that never had a job fails inside the call that requests it. That call may be further down this
        // thread's stack than the event in which other tasks fail.
        let index =
            awaitingFallback.lastIndex { mayAsk($0) && !tasks[$0].wasTaken }
            ?? byPriority(awaitingFallback.filter(mayAsk)).first.flatMap(awaitingFallback.firstIndex(of:))
        guard let index else {
            report(7, "resource \(resource) was requested as a fallback without a failed task")
            return -1
        }
        let task = awaitingFallback.remove(at: index)
        guard var spec = nextFallback(of: task) else { return -1 }
        let before = tasks[task].spec
        if spec.kind != .refused { spec.kind = before.kind == .refused ? .image : before.kind }
        (spec.size, spec.first, spec.second) = (before.size, before.first, before.second)
        (spec.language, spec.policy) = (before.language, before.policy)
        tasks[task].fallbacks += 1
        // The fallback is another image, so previews start again.
        tasks[task].shown = 0
        tasks[task].spec = spec
        tasks[task].phase = .preparing
        return task
    }
}
