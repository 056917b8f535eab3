import InflightConcurrency
internal import Synchronization

// Responses that are not valid for all subscribers of their job.

extension Engine {
    /// A subscriber that the response is not valid for.
    private struct Leaving {
        let id: Machine.TaskID
        let task: ImageTask
        /// The plan of its own fetch.
        let own: Result<RequestPlan, LoadError>
    }

    /// A response varies by header fields that the key leaves out. Subscribers with other values of them leave and
    /// fetch for themselves; those whose values agree coalesce.
    func answerVaries(_ id: Machine.JobID, of plan: RequestPlan, by names: Set<String>) {
        var waiting: [(id: Machine.TaskID, task: ImageTask)] = []
        change { machine, _ in
            machine.forEachTask(of: id) { waiting.append(($0, $1)) }
            // A new subscriber would have to be compared too. It finds no job, and fetches for itself.
            machine.jobLeftTable(id)
        }
        let varying = names.union(plan.varying)
        var leaving: [Leaving] = []
        for (id, task) in waiting {
            let request = task.currentRequest
            if request.agrees(with: plan.request, in: names) { continue }
            let own = Result { () throws(LoadError) in
                try self.plan(request, goal: task.goal, varying: varying)
            }
            leaving.append(Leaving(id: id, task: task, own: own))
        }
        guard !leaving.isEmpty else { return }
        move(leaving)
        log(.notice, "separate fetches, because the response varies") {
            [
                ("url", plan.url.string), ("by", names.sorted().joined(separator: ", ")),
                ("loads", "\(leaving.count)"),
            ]
        }
    }

    /// Moves all of them in one step. If each got its own job in turn, the first could leave before the second joins,
    /// and cancel the job that both would have shared.
    private func move(_ leaving: [Leaving]) {
        var isMoved = false
        while !isMoved {
            let known = storedImages.load(ordering: .acquiring)
            let hits = leaving.map { one in
                if case .success(let own) = one.own { findInMemory(own) } else { MemoryHit?.none }
            }
            let now = clock.now()
            changeEnding { machine, actions in
                // A job that ended since the lookup stored its image before it left the table.
                let mayHaveMissed = zip(leaving, hits).contains { one, hit in
                    guard case .success(let own) = one.own, hit?.steps != own.stepCount, own.mayBeInMemory else {
                        return false
                    }
                    return !machine.hasJob(own.finalKey)
                }
                if mayHaveMissed, storedImages.load(ordering: .relaxed) != known { return [] }
                isMoved = true
                var ended: [(ImageTask, JobResult)] = []
                for (one, hit) in zip(leaving, hits) {
                    guard let task = machine.taskCancelled(one.id, now: now, actions: &actions) else { continue }
                    switch (hit, one.own) {
                    case (let hit?, .success(let own)) where hit.steps == own.stepCount:
                        ended.append((task, JobResult(.image(hit.image))))
                    case (_, .failure(let error)): ended.append((task, JobResult(.failure(error))))
                    case (let hit, .success(let own)):
                        if task.isCancelled { continue }
                        telemetry?.record(
                            .goesElsewhere(why: "The response varies by header fields that differ."), task: task.number,
                            at: now)
                        take(task, plan: own, prefix: hit, into: &machine, now: now, actions: &actions)
                    }
                }
                return ended
            }
        }
    }
}
