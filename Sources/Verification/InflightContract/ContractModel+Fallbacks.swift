import InflightCore

// A task whose load has failed requests its next fallback, or ends.

extension ContractModel {
    /// Returns the tasks that subscribe to a job or to a later stage, the nearest first.
    func waiters(of job: Int) -> [Int] {
        var found = waiting.filter { tasks[$0].job == job }
        for next in live where jobs[next].upstream == job { found += waiters(of: next) }
        return found
    }

    private func nextFallback(of task: Int) -> Wish? {
        // A background revalidation has no fallbacks.
        guard let next = fallbacks[tasks[task].first], tasks[task].fallbacks < next.count,
            tasks[task].queue != Self.ownQueue
        else { return nil }
        return next[tasks[task].fallbacks]
    }

    func fails(_ task: Int, _ code: LoadError.Code) {
        guard nextFallback(of: task) != nil else { return tell(task, .failure(code)) }
        if let index = waiting.firstIndex(of: task) { waiting.remove(at: index) }
        tasks[task].job = -1
        tasks[task].phase = .falling
        tasks[task].fallsOn = thread
        falling.append(task)
    }

    /// A task is about to request this resource because another one failed. ``joins(_:)`` follows.
    public func asksElsewhere(for resource: UInt8) -> Int {
        func mayAsk(_ task: Int) -> Bool {
            tasks[task].fallsOn == thread && nextFallback(of: task)?.resource == resource
        }
        // A task that never had a job fails inside the call that requests it. That call may be further down this
        // thread's stack than the event in which other tasks fail.
        let index =
            falling.lastIndex { mayAsk($0) && !tasks[$0].wasTaken } ?? falling.firstIndex { mayAsk($0) }
        guard let index else {
            broken(7, "resource \(resource) was requested as a fallback without a failed task")
            return -1
        }
        let task = falling.remove(at: index)
        guard var wish = nextFallback(of: task) else { return -1 }
        let before = tasks[task].wish
        if wish.kind != .refused { wish.kind = before.kind == .refused ? .picture : before.kind }
        (wish.size, wish.first, wish.second) = (before.size, before.first, before.second)
        (wish.language, wish.policy) = (before.language, before.policy)
        tasks[task].fallbacks += 1
        // The fallback is another image, so previews start again.
        tasks[task].shown = 0
        tasks[task].wish = wish
        tasks[task].phase = .asking
        return task
    }
}
