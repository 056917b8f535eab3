import InflightConcurrency

/// The circuit of one origin, which decides whether loads may connect to it: closed, open, or half-open.
///
/// A value without locks, clocks and randomness: events carry the time and the random number.
struct Circuit: Hashable, Sendable {
    enum State: Hashable, Sendable {
        /// Loads connect; `failures` consecutive connections have failed.
        case closed(failures: Int)
        /// No load connects until a probe is due.
        case open(until: MonotonicTime, openings: Int)
        /// One load connects, and its outcome decides.
        case halfOpen(openings: Int)
    }

    enum Event: Hashable, Sendable {
        /// A load wants to connect.
        case fetchQueued(now: MonotonicTime)
        /// A connection failed, that of the probe or of another load.
        case connectionFailed(isProbe: Bool, now: MonotonicTime, random: Double)
        /// A response arrived, whatever its status.
        case answered
        /// The probe ended without an outcome: it was cancelled, or never sent.
        case probeAbandoned(now: MonotonicTime)
    }

    enum Action: Hashable, Sendable {
        case none
        case admit
        /// Admit the load as the probe.
        case admitProbe
        /// Refuse the load. The next probe is due at `until`; nil if one is in flight.
        case refuse(until: MonotonicTime?)
        /// Stop connecting until then.
        case open(until: MonotonicTime)
        case close
    }

    private(set) var state = State.closed(failures: 0)

    mutating func handle(_ event: Event, policy: ImagePipeline.CircuitBreaker) -> Action {
        switch (state, event) {
        case (.closed, .fetchQueued): return .admit
        case (.open(let until, let openings), .fetchQueued(let now)):
            guard now >= until else { return .refuse(until: until) }
            state = .halfOpen(openings: openings)
            return .admitProbe
        case (.halfOpen, .fetchQueued): return .refuse(until: nil)

        case (.closed(let failures), .connectionFailed(_, let now, let random)):
            guard failures + 1 >= policy.failuresToOpen else {
                state = .closed(failures: failures + 1)
                return .none
            }
            return open(1, now, random, policy)
        case (.halfOpen(let openings), .connectionFailed(isProbe: true, let now, let random)):
            return open(min(openings, 1000) + 1, now, random, policy)
        // The request was sent before the circuit opened, or is a retry, so its failure does not change the state.
        case (.open, .connectionFailed), (.halfOpen, .connectionFailed): return .none

        case (.closed, .answered):
            state = .closed(failures: 0)
            return .none
        case (.open, .answered), (.halfOpen, .answered):
            state = .closed(failures: 0)
            return .close

        case (.halfOpen(let openings), .probeAbandoned(let now)):
            state = .open(until: now, openings: openings)
            return .open(until: now)
        case (.closed, .probeAbandoned), (.open, .probeAbandoned): return .none
        }
    }

    private mutating func open(
        _ openings: Int, _ now: MonotonicTime, _ random: Double, _ policy: ImagePipeline.CircuitBreaker
    ) -> Action {
        let until = now + policy.backoff(opening: openings, random: random)
        state = .open(until: until, openings: openings)
        return .open(until: until)
    }
}

/// The circuits of all origins whose connections fail. An origin without an entry has a closed circuit.
struct OriginCircuits: Sendable {
    let policy: ImagePipeline.CircuitBreaker
    private var circuits: [OriginKey: Circuit] = [:]

    init(_ policy: ImagePipeline.CircuitBreaker) {
        self.policy = policy
    }

    var count: Int { circuits.count }
    var waits: Bool { policy.whileOpen == .wait }

    /// Handles an event. Without failing origins, the cost is one lookup in an empty table.
    mutating func handle(_ event: Circuit.Event, of origin: OriginKey) -> Circuit.Action {
        guard var circuit = circuits[origin] else {
            guard case .connectionFailed(_, let now, _) = event, makeRoom(now) else {
                if case .fetchQueued = event { return .admit }
                return .none
            }
            var circuit = Circuit()
            defer { circuits[origin] = circuit }
            return circuit.handle(event, policy: policy)
        }
        let action = circuit.handle(event, policy: policy)
        circuits[origin] = circuit.state == .closed(failures: 0) ? nil : circuit
        return action
    }

    /// Whether no load of the origin may start now, except for a probe if one is due.
    func isOpen(_ origin: OriginKey) -> Bool {
        guard !circuits.isEmpty, let circuit = circuits[origin] else { return false }
        if case .closed = circuit.state { return false }
        return true
    }

    /// Returns the number of loads of the origin that may start now, or nil if its circuit is closed.
    func places(of origin: OriginKey, now: MonotonicTime) -> Int? {
        guard !circuits.isEmpty, let circuit = circuits[origin] else { return nil }
        switch circuit.state {
        case .closed: return nil
        case .open(let until, _): return now >= until ? 1 : 0
        case .halfOpen: return 0
        }
    }

    /// Drops the least important entries if the table is full: counted failures, then circuits with an unused probe.
    private mutating func makeRoom(_ now: MonotonicTime) -> Bool {
        guard circuits.count >= max(1, policy.maximumOrigins) else { return true }
        circuits = circuits.filter { _, circuit in
            switch circuit.state {
            case .closed: false
            case .open(let until, _): waits || until > now
            case .halfOpen: true
            }
        }
        return circuits.count < max(1, policy.maximumOrigins)
    }
}
