internal import InflightCore

// Unreachable origins and their circuits, as ``ImagePipeline/CircuitBreaker`` documents them.

extension ContractModel {
    struct CircuitRecord {
        var failures = 0
        /// The number of consecutive openings; 0 while the circuit is closed.
        var openings = 0
        var until: Int64 = 0
        /// The job whose outcome closes the circuit or opens it again, or -1.
        var probe = -1

        var isOpen: Bool { openings > 0 }
    }

    /// Returns whether the origin's circuit admits only a probe.
    private func isOpen(_ origin: UInt8) -> Bool { circuits[origin]?.isOpen ?? false }

    /// Returns whether the circuit admits a queued fetch.
    func circuitAllowsFetch(for job: Int) -> Bool {
        guard bounds.waitsWhileOpen, let circuit = circuits[jobs[job].origin], circuit.isOpen else { return true }
        return circuit.probe < 0 && now >= circuit.until && running(of: jobs[job].origin) == 0
    }

    /// Returns whether a fetch is queued as the probe of another origin. Probes of several origins become due in any
    /// order.
    func isProbedElsewhere(_ other: Int, _ job: Int) -> Bool {
        jobs[other].origin != jobs[job].origin && isOpen(jobs[other].origin)
    }

    /// A fetch reaches the queue. If loads fail while a circuit is open, it becomes the probe or is refused.
    func reachedQueue(_ job: Int) {
        guard !bounds.waitsWhileOpen, let circuit = circuits[jobs[job].origin], circuit.isOpen else { return }
        if circuit.probe < 0, now >= circuit.until {
            circuits[jobs[job].origin]?.probe = job
        } else {
            failed(job, .originUnavailable)
        }
    }

    /// A fetch begins.
    func checkCircuit(_ job: Int) {
        guard let circuit = circuits[jobs[job].origin], circuit.isOpen, circuit.probe != job else { return }
        guard bounds.waitsWhileOpen, circuit.probe < 0, now >= circuit.until else {
            return report(11, "a fetch was started at origin \(jobs[job].origin), whose circuit is open")
        }
        circuits[jobs[job].origin]?.probe = job
    }

    /// A response is about to begin.
    public func responseBegins(_ serial: Int) {
        guard let record = exchanges.first(where: { $0.serial == serial }) else { return }
        circuits[record.origin] = nil
    }

    /// A connection failed, before any response.
    func connectionFails(_ record: ExchangeRecord) {
        guard bounds.failuresToOpen > 0 else { return }
        let origin = record.origin
        var circuit = circuits[origin] ?? CircuitRecord()
        if circuit.isOpen {
            guard circuit.probe >= 0, circuit.probe == record.job else { return }
        } else {
            circuit.failures += 1
        }
        if circuit.failures >= bounds.failuresToOpen {
            circuit.openings += 1
            circuit.probe = -1
            circuit.until =
                now + min(bounds.firstBackoff << Int64(min(circuit.openings - 1, 20)), bounds.maximumBackoff)
        }
        circuits[origin] = circuit
        guard circuit.isOpen, !bounds.waitsWhileOpen else { return }
        for job in live where jobs[job].stage == 0 && jobs[job].state == .queued && jobs[job].origin == origin {
            if isLive(job) { failed(job, .originUnavailable) }
        }
    }

    /// A job ends or gives its slot back without an outcome. If it was the probe, the next fetch becomes the probe.
    func releaseProbe(_ job: Int) {
        for (origin, circuit) in circuits where circuit.probe == job && job >= 0 {
            circuits[origin]?.probe = -1
            circuits[origin]?.until = now
        }
    }
}
