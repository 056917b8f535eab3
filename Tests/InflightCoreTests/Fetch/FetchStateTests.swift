import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("Fetch state", .timeLimit(.minutes(10)))
struct FetchStateTests {
    private final class TestTransfer: Transfer {
        func cancel() {}
        func resume() {}
    }

    private final class TestTimer: ScheduledWork {
        let number: Int

        init(_ number: Int) { self.number = number }

        func cancel() {}
    }

    // `#expect` takes only copyable values, so each property of a state is read before it is compared.
    typealias Phase = FetchState.Phase

    /// The inputs of a state. The transfer is 7, the hook's call is 5, and each timer has its own number.
    enum Input: Hashable {
        case start, queue, sleep, wake, ask, answer, send, finish
        case known(number: Int = 0)
        case measure, stopsForRoom, stopsForTurn, flows
        case ended, failed
        case cancel, priority, limits, late, granted(number: Int = 0, turn: Bool = false), turn(number: Int = 0)
        case timer(Int), checkRate(second: Int)
    }

    private static func time(_ second: Int) -> MonotonicTime { .zero + .seconds(second) }

    private static let transfer = TestTransfer()
    private static let call = ExtensionCall()

    private static func number(_ timer: any ScheduledWork) -> Int { (timer as? TestTimer)?.number ?? 0 }

    private static let success = FetchState.Ending.success(TransportSummary(wireBytes: 1, bodyBytes: 1))
    private static let failure = FetchState.Ending.failure(
        LoadError(.connectionLost, stage: .fetch, message: "It is lost."))

    /// - Returns: the state's output in words; empty if there is nothing to do.
    private static func tell(_ state: inout FetchState, _ input: Input) throws -> String {
        switch input {
        case .start: state.started()
        case .queue: state.startedWaiting(for: .slot)
        case .sleep: state.startedWaiting(for: .time(time(3)))
        case .wake: state.woke()
        case .ask: state.hookCalled(call)
        case .answer: return state.hookReturned() ? "too late" : ""
        case .send: state.sent(number: 0)
        case .finish: return state.finished().map { "timer \(number($0)) is over" } ?? ""
        case .known(let number):
            let next = state.transferKnown(transfer, number: number)
            return [
                next.cancels ? "cancel" : nil, next.resumes ? "resume" : nil, next.passesPriority ? "priority" : nil,
                next.passesLimits ? "limits" : nil,
            ]
            .compactMap(\.self).joined(separator: ", ")
        case .measure: state.rateMeasured(by: try #require(RateMonitor(ImageRequest.Limits(), at: time(0))))
        case .stopsForRoom: state.stopped(untilRoom: true, at: time(1))
        case .stopsForTurn: state.stopped(untilRoom: false, at: time(1))
        case .flows:
            switch state.processed(at: time(2)).0 {
            case .ends(.success): return "ended"
            case .ends(.failure): return "failed"
            case .continues: return "resume 7"
            case .resumesWhenKnown: return "later"
            }
        case .ended, .failed:
            let (ended, unpauses) = state.exchangeEnded(input == .ended ? success : failure)
            let answer =
                switch ended {
                case .now(let wasWatched, let stop):
                    "now" + (wasWatched ? ", watched" : "")
                        + (stop == .tooSlow ? ", too slow" : stop == .outOfTime ? ", out of time" : "")
                case .held: "held"
                case .heldWhileSpilling(let number): "\(number) spills"
                case .nothing: ""
                }
            return answer + (unpauses ? ", no room needed" : "")
        case .cancel:
            let (transfer, call) = state.cancelled()
            return [transfer.map { _ in "cancel 7" }, call.map { _ in "cancel 5" }].compactMap(\.self)
                .joined(separator: ", ")
        case .late:
            let (transfer, call) = state.timeIsOver()
            return [transfer.map { _ in "cancel 7" }, call.map { _ in "cancel 5" }].compactMap(\.self)
                .joined(separator: ", ")
        case .limits: return state.limitsChanged().map { _ in "tell 7" } ?? "later"
        case .priority: return state.priorityChanged().map { _ in "tell 7" } ?? "later"
        case .granted(let number, let turn): return state.granted(number: number, needsTurn: turn) != nil ? "yes" : ""
        case .turn(let number): return state.turnStarted(number: number) ? "yes" : ""
        case .timer(let timer):
            return state.timerSet(TestTimer(timer)).map { "timer \(number($0)) is useless" } ?? ""
        case .checkRate(let second):
            let (next, transfer) = state.rateChecked(at: time(second))
            return [next != nil ? "again" : nil, transfer.map { _ in "cancel 7" }].compactMap(\.self).joined()
        }
        return ""
    }

    private static let paths: [Phase: [Input]] = [
        .queued: [], .preparing: [.start], .sleeping: [.start, .sleep], .asking: [.start, .ask],
        .flowing: [.start, .send, .known()], .judging: [.start, .send, .known(), .ask],
        .paused: [.start, .send, .known(), .stopsForRoom], .scheduled: [.start, .send, .known(), .stopsForTurn],
        .working: [.start, .send, .known(), .stopsForTurn, .turn()], .finished: [.start, .finish],
    ]

    private static func state(_ phase: Phase) throws -> FetchState {
        var state = FetchState(isCancelled: false, hasMissedPriority: false)
        for input in try #require(paths[phase]) { _ = try tell(&state, input) }
        let reached = state.phase
        #expect(reached == phase)
        return state
    }

    // MARK: Facts in sequence

    /// The phase and the output to which each fact leads, from each phase in which it is possible.
    private static let transitions: [(FetchState.Fact, Input, [Phase: (Phase, String)])] = [
        (.started, .start, [.queued: (.preparing, "")]),
        (.startedWaiting, .queue, [.preparing: (.queued, "")]),
        (.startedWaiting, .sleep, [.preparing: (.sleeping, "")]),
        (.woke, .wake, [.sleeping: (.queued, ""), .finished: (.finished, "")]),
        (.hookCalled, .ask, [.preparing: (.asking, ""), .flowing: (.judging, "")]),
        (.hookReturned, .answer, [.asking: (.preparing, "")]),
        (.sent, .send, [.preparing: (.flowing, "")]),
        (.stopped, .stopsForRoom, [.flowing: (.paused, ""), .working: (.paused, "")]),
        (.stopped, .stopsForTurn, [.flowing: (.scheduled, ""), .working: (.scheduled, "")]),
        (.processed, .flows, [.judging: (.flowing, "resume 7"), .working: (.flowing, "resume 7")]),
        (
            .finished, .finish,
            [.queued: (.finished, ""), .sleeping: (.finished, ""), .preparing: (.finished, "")]
        ),
    ]

    @Test("Each fact leads to the expected phase, or is impossible in the current one", arguments: Phase.allCases)
    func transitions(phase: Phase) throws {
        #expect(Set(Self.transitions.map(\.0)) == Set(FetchState.Fact.allCases))
        for (fact, input, targets) in Self.transitions {
            #expect(FetchState.isPossible(fact, in: phase) == (targets[phase] != nil), "\(fact)")
            guard let (target, answer) = targets[phase] else { continue }
            var state = try Self.state(phase)
            #expect(try Self.tell(&state, input) == answer, "\(input)")
            let reached = state.phase
            #expect(reached == target, "\(input)")
        }
    }

    @Test("An impossible fact traps")
    func impossible() async {
        await #expect(processExitsWith: .failure) {
            var state = FetchState(isCancelled: false, hasMissedPriority: false)
            state.sent(number: 0)
        }
    }

    // MARK: At any time

    /// The inputs from other threads, and the phases in which they have an effect.
    private static let interruptions: [(Input, [Phase: (Phase, String)])] = [
        (
            .cancel,
            [
                .asking: (.asking, "cancel 5"), .flowing: (.flowing, "cancel 7"), .paused: (.paused, "cancel 7"),
                .judging: (.judging, "cancel 7, cancel 5"), .scheduled: (.scheduled, "cancel 7"),
                .working: (.working, "cancel 7"),
            ]
        ),
        (
            .late,
            [
                .asking: (.asking, "cancel 5"), .flowing: (.flowing, "cancel 7"), .paused: (.paused, "cancel 7"),
                .judging: (.judging, "cancel 7, cancel 5"), .scheduled: (.scheduled, "cancel 7"),
                .working: (.working, "cancel 7"),
            ]
        ),
        (
            .ended,
            [
                .flowing: (.preparing, "now"), .judging: (.judging, "held"), .working: (.working, "held"),
                .scheduled: (.scheduled, "held"), .paused: (.scheduled, "0 spills, no room needed"),
            ]
        ),
        (
            .failed,
            [
                .flowing: (.preparing, "now"), .judging: (.judging, "held"), .working: (.working, "held"),
                .scheduled: (.preparing, "now"), .paused: (.preparing, "now, no room needed"),
            ]
        ),
        (.granted(), [.paused: (.working, "yes")]),
        (.granted(turn: true), [.paused: (.scheduled, "yes")]),
        (.granted(number: 1), [:]),
        (.turn(), [.scheduled: (.working, "yes")]),
        (.turn(number: 1), [:]),
        (.known(), [:]),
        (.checkRate(second: 99), [:]),
    ]

    @Test(
        "Inputs from other threads act in the listed phases and are ignored in all others", arguments: Phase.allCases)
    func interruptions(phase: Phase) throws {
        for (input, targets) in Self.interruptions {
            var state = try Self.state(phase)
            let (target, answer) = targets[phase] ?? (phase, "")
            #expect(try Self.tell(&state, input) == answer, "\(input)")
            let reached = state.phase
            #expect(reached == target, "\(input)")
        }
        var waiting = try Self.state(phase)
        #expect(try Self.tell(&waiting, .timer(1)) == (phase == .sleeping ? "" : "timer 1 is useless"))
        var state = try Self.state(phase)
        let isUnderWay = [.flowing, .judging, .paused, .scheduled, .working].contains(phase)
        #expect(try Self.tell(&state, .priority) == (isUnderWay ? "tell 7" : "later"))
        #expect(try Self.tell(&state, .limits) == (isUnderWay ? "tell 7" : "later"))
    }

    // MARK: Sequences

    @Test(
        "Sequences of inputs yield the expected outputs",
        arguments: [
            // A timer is returned when the fetch ends or another replaces it.
            [(.start, ""), (.sleep, ""), (.timer(1), ""), (.timer(2), "timer 1 is useless"), (.wake, "")],
            [(.start, ""), (.sleep, ""), (.timer(3), ""), (.finish, "timer 3 is over")],
            // Inputs that arrive before the transfer is known are passed to it when it is known.
            [(.start, ""), (.send, ""), (.cancel, ""), (.known(), "cancel")],
            [(.start, ""), (.priority, "later"), (.send, ""), (.known(), "priority"), (.priority, "tell 7")],
            [(.start, ""), (.send, ""), (.ask, ""), (.flows, "later"), (.known(), "resume")],
            [(.start, ""), (.send, ""), (.ask, ""), (.flows, "later"), (.cancel, ""), (.known(), "cancel")],
            // They are not passed to the transfer of an ended exchange. The priority is for the next one.
            [(.start, ""), (.send, ""), (.priority, "later"), (.failed, "now"), (.known(), "")],
            [(.start, ""), (.send, ""), (.late, ""), (.known(), "cancel"), (.failed, "now, out of time")],
            [(.start, ""), (.limits, "later"), (.send, ""), (.known(), "limits"), (.limits, "tell 7")],
            // A hook learns that it was cancelled for lack of time.
            [(.start, ""), (.ask, ""), (.late, "cancel 5"), (.answer, "too late"), (.ask, ""), (.answer, "")],
            // An exchange that succeeds or is cancelled was not out of time.
            [(.start, ""), (.send, ""), (.known(), ""), (.late, "cancel 7"), (.ended, "now")],
            [(.start, ""), (.send, ""), (.known(), ""), (.late, "cancel 7"), (.cancel, "cancel 7"), (.failed, "now")],
            // The end of an exchange is held until the hook has returned, a worker thread is ready, or the body fits
            // the budget.
            [(.start, ""), (.send, ""), (.ask, ""), (.failed, "held"), (.flows, "failed"), (.failed, "now")],
            [
                (.start, ""), (.send, ""), (.stopsForTurn, ""), (.ended, "held"), (.turn(), "yes"), (.flows, "ended"),
                (.ended, "now"),
            ],
            [
                (.start, ""), (.send, ""), (.stopsForRoom, ""), (.ended, "0 spills, no room needed"), (.granted(), ""),
                (.turn(), "yes"), (.stopsForTurn, ""), (.turn(), "yes"), (.flows, "ended"), (.ended, "now"),
            ],
            [(.start, ""), (.send, ""), (.stopsForTurn, ""), (.failed, "now"), (.turn(), "")],
            // Only an exchange that the fetch itself stopped was too slow, and a paused one is not measured.
            [
                (.start, ""), (.send, ""), (.known(), ""), (.measure, ""), (.checkRate(second: 4), "again"),
                (.checkRate(second: 31), "cancel 7"), (.failed, "now, watched, too slow"),
            ],
            [
                (.start, ""), (.send, ""), (.known(), ""), (.measure, ""), (.checkRate(second: 31), "cancel 7"),
                (.ended, "now, watched"),
            ],
            [
                (.start, ""), (.send, ""), (.known(), ""), (.measure, ""), (.checkRate(second: 31), "cancel 7"),
                (.cancel, "cancel 7"), (.failed, "now, watched"),
            ],
            [
                (.start, ""), (.send, ""), (.known(), ""), (.measure, ""), (.stopsForRoom, ""),
                (.checkRate(second: 99), ""),
                (.granted(), "yes"), (.flows, "resume 7"), (.checkRate(second: 3), "again"),
            ],
        ] as [[(Input, String)]])
    func story(_ steps: [(Input, String)]) throws {
        var state = FetchState(isCancelled: false, hasMissedPriority: false)
        for (index, (input, answer)) in steps.enumerated() {
            #expect(try Self.tell(&state, input) == answer, "step \(index): \(input)")
        }
    }

    @Test("After the exchange has ended, a body waits without a pause, and after a failure not at all")
    func mayPause() throws {
        var state = try Self.state(.working)
        var mayPause = state.mayPause(hasMore: false)
        #expect(mayPause == true)
        _ = try Self.tell(&state, .ended)
        mayPause = state.mayPause(hasMore: false)
        #expect(mayPause == false)
        state = try Self.state(.working)
        _ = try Self.tell(&state, .failed)
        mayPause = state.mayPause(hasMore: false)
        #expect(mayPause == nil)
    }

    @Test("A cancel or priority change before the first start reaches the transfer")
    func early() throws {
        var state = FetchState(isCancelled: true, hasMissedPriority: true)
        for input in [.start, .send] as [Input] { _ = try Self.tell(&state, input) }
        let isCancelled = state.isCancelled
        #expect(isCancelled)
        #expect(try Self.tell(&state, .known()) == "cancel, priority")
    }
}
