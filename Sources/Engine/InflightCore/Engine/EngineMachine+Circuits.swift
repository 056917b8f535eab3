import InflightConcurrency

// Origins that cannot be reached. While a circuit is open, the policy either refuses fetches before they are queued, or
// keeps them queued: then the origin has no slots in the lane, and one when a probe is due.

extension EngineMachine {
    /// The role of a fetch in its origin's circuit.
    enum CircuitRole: UInt8 {
        case ordinary
        /// Its outcome decides whether the circuit closes.
        case probe
        /// A repeated attempt, which is never refused.
        case retry
    }

    /// Why a fetch is refused.
    struct Refusal: Hashable, Sendable {
        var origin: OriginKey
        /// The time to the next probe; nil if one is in flight.
        var wait: Duration?
        /// Whether the job has a stored response to serve instead, and is about to be started for that.
        var hasStaleResponse: Bool

        var error: LoadError {
            let probe = wait.map { wait in
                let milliseconds = max(0, wait.saturatedNanoseconds / 1_000_000)
                return "Next attempt in \(milliseconds / 1000).\(milliseconds % 1000 / 100) s."
            }
            return LoadError(
                .originUnavailable, stage: .fetch,
                message: "\(origin) is unavailable: recent connections failed. "
                    + (probe ?? "An attempt is in progress.") + " Try again later.")
        }
    }

    /// Queues a job. Refuses it instead if it is a fetch, its origin's circuit is open, and the policy is to refuse.
    mutating func enqueueOrRefuse(
        _ index: Int32, now: MonotonicTime, ahead: Bool = false, actions: inout Actions
    ) {
        guard circuits != nil, jobs[Int(index)].lane == .fetch, let origin = jobs[Int(index)].group,
            origin.origin != nil, circuits?.isOpen(origin) == true
        else { return enqueue(index, now: now, ahead: ahead) }
        if circuits?.waits != true {
            switch circuits?.handle(.fetchQueued(now: now), of: origin) {
            case .refuse(let until) where jobs[Int(index)].circuitRole != .retry:
                return refuse(index, origin, until, now: now, actions: &actions)
            case .admitProbe: becomeProbe(index, origin)
            default: break
            }
        }
        enqueue(index, now: now, ahead: ahead)
        limitPlaces(of: origin, now: now)
    }

    /// A fetch has been given a slot.
    mutating func fetchStarts(_ index: Int32, now: MonotonicTime) {
        guard circuits?.waits == true, let origin = jobs[Int(index)].group, circuits?.isOpen(origin) == true else {
            return
        }
        if circuits?.handle(.fetchQueued(now: now), of: origin) == .admitProbe { becomeProbe(index, origin) }
        limitPlaces(of: origin, now: now)
    }

    private mutating func becomeProbe(_ index: Int32, _ origin: OriginKey) {
        jobs[Int(index)].circuitRole = .probe
        note(.circuit(jobID(index), origin, .halfOpen))
    }

    /// The job's connection has failed, before any response.
    mutating func connectionFailed(
        _ id: JobID, to origin: OriginKey, now: MonotonicTime, random: Double, actions: inout Actions
    ) {
        let isProbe = isAlive(id) && jobs[Int(id.index)].circuitRole == .probe
        if isProbe { jobs[Int(id.index)].circuitRole = .ordinary }
        let event = Circuit.Event.connectionFailed(isProbe: isProbe, now: now, random: random)
        guard case .open(let until) = circuits?.handle(event, of: origin) else { return }
        note(.circuit(id, origin, .open(after: until - now)))
        if circuits?.waits == true {
            limitPlaces(of: origin, now: now)
            actions.append(.scheduleProbe(origin, until))
        } else {
            refuseQueued(origin, until, now: now, actions: &actions)
        }
    }

    /// A response has arrived from the origin.
    mutating func originAnswered(
        _ origin: OriginKey, to id: JobID, now: MonotonicTime, actions: inout Actions
    ) {
        if isAlive(id), jobs[Int(id.index)].group == origin, jobs[Int(id.index)].circuitRole == .probe {
            jobs[Int(id.index)].circuitRole = .ordinary
        }
        guard circuits?.handle(.answered, of: origin) == .close else { return }
        note(.circuit(id, origin, .closed))
        self[.fetch].setLimit(self[.fetch].configuration.groupLimit, of: origin, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }

    /// A probe is due, if the circuit is still open.
    mutating func probeIsDue(_ origin: OriginKey, now: MonotonicTime, actions: inout Actions) {
        limitPlaces(of: origin, now: now)
        startReady(.fetch, now: now, actions: &actions)
    }

    /// The job gives up its slot, or leaves the queue, without having reported the outcome of its connection.
    mutating func leaveProbe(_ index: Int32, now: MonotonicTime) {
        guard circuits != nil, jobs[Int(index)].circuitRole == .probe, let origin = jobs[Int(index)].group else {
            return
        }
        jobs[Int(index)].circuitRole = .ordinary
        guard case .open = circuits?.handle(.probeAbandoned(now: now), of: origin) else { return }
        note(.circuit(jobID(index), origin, .open(after: .zero)))
        limitPlaces(of: origin, now: now)
    }

    private mutating func limitPlaces(of origin: OriginKey, now: MonotonicTime) {
        guard circuits?.waits == true, let places = circuits?.places(of: origin, now: now) else { return }
        self[.fetch].setLimit(places, of: origin, now: now)
    }

    // MARK: Refusing

    /// Refuses the queued fetches of an origin. Each opening of a circuit visits all jobs once.
    private mutating func refuseQueued(
        _ origin: OriginKey, _ until: MonotonicTime, now: MonotonicTime, actions: inout Actions
    ) {
        for index in jobs.indices where jobs[index].lane == .fetch && jobs[index].circuitRole == .ordinary {
            guard case .queued(let ticket) = jobs[index].state, jobs[index].group == origin else { continue }
            self[.fetch].remove(ticket)
            refuse(Int32(index), origin, until, now: now, actions: &actions)
        }
    }

    /// Refuses a fetch that is not queued: queues it to serve its stored response, or fails it if there is none.
    private mutating func refuse(
        _ index: Int32, _ origin: OriginKey, _ until: MonotonicTime?, now: MonotonicTime, actions: inout Actions
    ) {
        guard let job = jobs[Int(index)].job else { return }
        let hasStaleResponse = jobs[Int(index)].hasStaleResponse
        let refusal = Refusal(origin: origin, wait: until.map { $0 - now }, hasStaleResponse: hasStaleResponse)
        actions.append(.refuse(job, refusal))
        if hasStaleResponse {
            jobs[Int(index)].lane = .store
            jobs[Int(index)].group = OriginKey.none
            enqueue(index, now: now)
            return startReady(.store, now: now, actions: &actions)
        }
        leaveTable(index)
        note(.refused(jobID(index), refusal))
        failDependents(of: index, from: job, actions: &actions)
        freeJobSlot(index)
    }
}
