import InflightConcurrency
internal import Synchronization

// What the engine does about origins that cannot be reached: it tells its machine how connections went.

extension Engine {
    /// An exchange ended without any response, because there was no connection.
    func connectionFailed(_ job: EngineJob, to url: ResourceURL) {
        guard hasCircuitBreaker, url.origin != nil else { return }
        let now = clock.now()
        let random = random()
        change { machine, actions in
            machine.connectionFailed(job.id, to: url.originKey, now: now, random: random, actions: &actions)
            failingOrigins.store(machine.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// A response has come. Costs one atomic load where no origin fails.
    func originAnswered(_ job: EngineJob, at url: ResourceURL) {
        guard failingOrigins.load(ordering: .relaxed) > 0, url.origin != nil else { return }
        let now = clock.now()
        change { machine, actions in
            machine.originAnswered(url.originKey, to: job.id, now: now, actions: &actions)
            failingOrigins.store(machine.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// Has the machine told when a probe is due. The pipeline may end before.
    func scheduleProbe(_ origin: OriginKey, at time: MonotonicTime) {
        _ = clock.schedule(at: time) { [weak self] in
            guard let self else { return }
            let now = max(clock.now(), time)
            change { machine, actions in machine.probeIsDue(origin, now: now, actions: &actions) }
        }
    }

    func unavailable(_ refusal: Machine.Refusal) -> LoadError {
        let retry = refusal.wait.map { wait in
            let milliseconds = max(0, wait.saturatedNanoseconds / 1_000_000)
            return "It is tried again in \(milliseconds / 1000).\(milliseconds % 1000 / 100) s."
        }
        return LoadError(
            .originUnavailable, stage: .fetch,
            message: "\(refusal.origin) is unavailable: its last connections failed. "
                + (retry ?? "It is being tried again now.") + " Try later.")
    }
}
