import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("Circuit state machine", .timeLimit(.minutes(10)))
struct CircuitTests {
    private static let policy = {
        var policy = ImagePipeline.CircuitBreaker()
        policy.failuresToOpen = 3
        return policy
    }()

    private static func at(_ seconds: Double) -> MonotonicTime { .zero + .seconds(seconds) }

    /// Returns a circuit that events have brought into a state.
    private static func circuit(_ state: Circuit.State) -> Circuit {
        var circuit = Circuit()
        func fail(_ now: MonotonicTime) -> Circuit.Event { .connectionFailed(isProbe: true, now: now, random: 1) }
        switch state {
        case .closed(let failures):
            for _ in 0..<failures { _ = circuit.handle(fail(.zero), policy: policy) }
        case .open(_, let openings), .halfOpen(let openings):
            for _ in 0..<3 { _ = circuit.handle(fail(.zero), policy: policy) }
            var now = MonotonicTime.zero
            for _ in 1..<openings {
                now = now + .seconds(100)
                _ = circuit.handle(.fetchQueued(now: now), policy: policy)
                _ = circuit.handle(fail(now), policy: policy)
            }
            if case .halfOpen = state { _ = circuit.handle(.fetchQueued(now: at(1000)), policy: policy) }
        }
        return circuit
    }

    struct Row: Sendable {
        var state: Circuit.State
        var event: Circuit.Event
        var next: Circuit.State
        var action: Circuit.Action

        init(_ state: Circuit.State, _ event: Circuit.Event, _ next: Circuit.State, _ action: Circuit.Action) {
            (self.state, self.event, self.next, self.action) = (state, event, next, action)
        }
    }

    private static let closed = Circuit.State.closed(failures: 0)
    private static let failing = Circuit.State.closed(failures: 2)
    private static let open = Circuit.State.open(until: at(1), openings: 1)
    private static let openTwice = Circuit.State.open(until: at(102), openings: 2)
    private static let halfOpen = Circuit.State.halfOpen(openings: 1)
    private static let halfOpenTwice = Circuit.State.halfOpen(openings: 2)

    private static func failed(_ seconds: Double, probe: Bool, random: Double = 1) -> Circuit.Event {
        .connectionFailed(isProbe: probe, now: at(seconds), random: random)
    }

    static let table: [Row] = [
        // Closed: every load is admitted, and a response resets the failure count.
        Row(closed, .fetchQueued(now: at(0)), closed, .admit),
        Row(closed, failed(0, probe: false), .closed(failures: 1), .none),
        Row(closed, failed(0, probe: true), .closed(failures: 1), .none),
        Row(closed, .answered, closed, .none),
        Row(closed, .probeAbandoned(now: at(0)), closed, .none),
        Row(failing, .fetchQueued(now: at(0)), failing, .admit),
        Row(failing, failed(5, probe: false), .open(until: at(6), openings: 1), .open(until: at(6))),
        Row(failing, failed(5, probe: true, random: 0), .open(until: at(5.5), openings: 1), .open(until: at(5.5))),
        Row(failing, .answered, closed, .none),
        Row(failing, .probeAbandoned(now: at(0)), failing, .none),
        // Open: every load is refused until the backoff is over, then one probe is admitted.
        Row(open, .fetchQueued(now: at(0.999)), open, .refuse(until: at(1))),
        Row(open, .fetchQueued(now: at(1)), halfOpen, .admitProbe),
        Row(open, failed(0.5, probe: false), open, .none),
        Row(open, failed(0.5, probe: true), open, .none),
        Row(open, .answered, closed, .close),
        Row(open, .probeAbandoned(now: at(0.5)), open, .none),
        Row(openTwice, .fetchQueued(now: at(101)), openTwice, .refuse(until: at(102))),
        Row(openTwice, .fetchQueued(now: at(102)), halfOpenTwice, .admitProbe),
        // Half-open: the result of the probe decides, and so does any response.
        Row(halfOpen, .fetchQueued(now: at(9)), halfOpen, .refuse(until: nil)),
        Row(halfOpen, failed(9, probe: false), halfOpen, .none),
        Row(halfOpen, failed(9, probe: true), .open(until: at(11), openings: 2), .open(until: at(11))),
        Row(halfOpen, .answered, closed, .close),
        Row(halfOpen, .probeAbandoned(now: at(9)), .open(until: at(9), openings: 1), .open(until: at(9))),
        Row(halfOpenTwice, failed(9, probe: true), .open(until: at(13), openings: 3), .open(until: at(13))),
        Row(
            halfOpenTwice, failed(9, probe: true, random: 0.5), .open(until: at(12), openings: 3), .open(until: at(12))),
    ]

    @Test("Each event in each state leads to the expected state and action", arguments: table)
    func row(_ row: Row) {
        var circuit = Self.circuit(row.state)
        #expect(circuit.state == row.state)
        #expect(circuit.handle(row.event, policy: Self.policy) == row.action)
        #expect(circuit.state == row.next)
    }

    @Test("The backoff doubles up to its maximum, and jitter takes at most half of it")
    func backoff() {
        let policy = ImagePipeline.CircuitBreaker()
        #expect(
            (1...8).map { policy.backoff(opening: $0, random: 1) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(policy.backoff(opening: 1, random: 0) == .milliseconds(500))
        #expect(policy.backoff(opening: .max, random: .nan) == .seconds(30))
        var endless = policy
        (endless.firstBackoff, endless.maximumBackoff) = (.seconds(Int64.max), .seconds(Int64.max))
        #expect(endless.backoff(opening: 3, random: 1).saturatedNanoseconds == .max)
    }

    @Test("The number of origins is bounded: counted failures are evicted first, then circuits that are due")
    func bound() {
        var policy = Self.policy
        (policy.failuresToOpen, policy.maximumOrigins) = (2, 2)
        var circuits = OriginCircuits(policy)
        func origin(_ name: String) -> OriginKey { OriginKey(Origin(scheme: "http", host: name, port: 80)) }
        func fail(_ name: String, _ seconds: Double) -> Circuit.Action {
            circuits.handle(Self.failed(seconds, probe: false), of: origin(name))
        }
        _ = fail("a", 0)
        #expect(fail("a", 0) == .open(until: Self.at(1)))
        _ = fail("b", 0)
        #expect(circuits.count == 2)
        _ = fail("c", 0)
        #expect(fail("c", 0) == .open(until: Self.at(1)))
        #expect(fail("d", 0.5) == .none)
        #expect(circuits.count == 2)
        #expect(circuits.handle(.fetchQueued(now: Self.at(0.5)), of: origin("a")) == .refuse(until: Self.at(1)))
        #expect(circuits.handle(.fetchQueued(now: Self.at(0.5)), of: origin("d")) == .admit)
        _ = fail("e", 2)
        #expect(circuits.count == 1)
        #expect(circuits.handle(.answered, of: origin("e")) == .none)
        #expect(circuits.count == 0)
    }
}
