import InflightConcurrency
internal import Synchronization

// Unreachable origins: the engine reports the outcomes of connections to its machine.

extension Engine {
    /// An exchange has ended without any response, because there was no connection.
    func connectionFailed(_ job: EngineJob, to url: ResourceURL) {
        guard hasCircuitBreaker, url.origin != nil else { return }
        let now = clock.now()
        let random = random()
        change { machine, actions in
            machine.connectionFailed(job.id, to: url.originKey, now: now, random: random, actions: &actions)
            failingOrigins.store(machine.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// A response has arrived. Costs one atomic load if no origin is failing.
    func originAnswered(_ job: EngineJob, at url: ResourceURL) {
        guard failingOrigins.load(ordering: .relaxed) > 0, url.origin != nil else { return }
        let now = clock.now()
        change { machine, actions in
            machine.originAnswered(url.originKey, to: job.id, now: now, actions: &actions)
            failingOrigins.store(machine.circuits?.count ?? 0, ordering: .relaxed)
        }
    }

    /// Notifies the machine when a probe is due. The pipeline may be released before.
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
            return "Next attempt in \(milliseconds / 1000).\(milliseconds % 1000 / 100) s."
        }
        return LoadError(
            .originUnavailable, stage: .fetch,
            message: "\(refusal.origin) is unavailable: recent connections failed. "
                + (retry ?? "An attempt is in progress.") + " Try again later.")
    }
}
