import InflightPatterns
import Testing

@Suite("Gates: state machine", .timeLimit(.minutes(10)))
struct GateMachineTests {
    private typealias Machine = GateMachine<EventBacklog<Int>, String>

    private func passed(_ next: Machine.NextCallback) -> String {
        switch next {
        case .nothing: "nothing"
        case .event(let event): "\(event)"
        case .outcome(let outcome): outcome
        }
    }

    @Test("The gate machine passes events in order, one at a time, then the outcome")
    func order() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        #expect(machine.eventArrived(1).submits)
        #expect(!machine.eventArrived(2).submits)
        #expect(machine.outcomeArrived("end") == (false, true))
        #expect(passed(machine.queueReached()) == "1")
        #expect(machine.callbackReturned() == true)
        #expect(passed(machine.queueReached()) == "2")
        #expect(machine.callbackReturned() == true)
        #expect(passed(machine.queueReached()) == "end")
        #expect(machine.phase == .delivering)
        #expect(machine.callbackReturned() == false)
        #expect(machine.phase == .ended)
        #expect(!machine.isScheduled)
    }

    @Test("With a latest-only backlog, a new event replaces and returns the pending one")
    func latest() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: true))
        #expect(machine.eventArrived(1) == (true, true, nil))
        #expect(machine.eventArrived(2) == (false, true, 1))
        #expect(passed(machine.queueReached()) == "2")
        #expect(machine.eventArrived(3) == (false, true, nil))
        #expect(machine.callbackReturned() == true)
        #expect(passed(machine.queueReached()) == "3")
        #expect(machine.callbackReturned() == false)
        #expect(machine.eventArrived(4).submits)
    }

    @Test("The gate machine accepts one outcome, and no event after it")
    func oneOutcome() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        #expect(machine.outcomeArrived("first") == (true, true))
        #expect(machine.outcomeArrived("second") == (false, false))
        #expect(machine.eventArrived(1) == (false, false, 1))
        #expect(passed(machine.queueReached()) == "first")
        #expect(machine.outcomeArrived("third") == (false, false))
        #expect(machine.callbackReturned() == false)
        #expect(machine.outcomeArrived("fourth") == (false, false))
    }

    @Test("A cancelled gate machine passes nothing, and returns the undelivered events and outcome")
    func cancelled() throws {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.eventArrived(1)
        _ = machine.outcomeArrived("end")
        let cancelled = machine.cancelled()
        let left = try #require(cancelled)
        #expect(left.backlog?.events == [1] && left.outcome == "end" && left.isEnd)
        #expect(machine.phase == .cancelled)
        #expect(passed(machine.queueReached()) == "nothing")
        #expect(machine.cancelled() == nil)
        #expect(machine.eventArrived(2) == (false, false, 2))
        #expect(machine.outcomeArrived("late") == (false, false))
        #expect(machine.phase == .cancelled)
    }

    @Test("Cancelling while an event callback runs drops the remaining events")
    func cancelledWithin() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.eventArrived(1)
        _ = machine.eventArrived(2)
        _ = machine.queueReached()
        let left = machine.cancelled()
        #expect(left?.backlog?.events == [2])
        #expect(machine.callbackReturned() == false)
        #expect(!machine.isScheduled)
    }

    @Test("A gate machine cannot be cancelled once the outcome has passed")
    func tooLate() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.outcomeArrived("end")
        _ = machine.queueReached()
        #expect(machine.cancelled() == nil)
        #expect(machine.phase == .delivering)
        _ = machine.callbackReturned()
        #expect(machine.cancelled() == nil)
        #expect(machine.phase == .ended)
    }

    @Test("A gate machine continues after a dropped event, and ends after a dropped outcome")
    func dropped() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.eventArrived(1)
        _ = machine.outcomeArrived("end")
        let first = machine.deliveryDropped()
        #expect(first.submits && first.leftovers.backlog?.events == [1] && !first.leftovers.isEnd)
        #expect(machine.phase == .waiting)
        let second = machine.deliveryDropped()
        #expect(!second.submits && second.leftovers.outcome == "end" && second.leftovers.isEnd)
        #expect(machine.phase == .ended)
        #expect(!machine.isScheduled)
    }

    @Test("A delivery dropped after a cancel changes nothing")
    func droppedLate() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.outcomeArrived("end")
        _ = machine.cancelled()
        let dropped = machine.deliveryDropped()
        #expect(!dropped.submits && !dropped.leftovers.isEnd && machine.phase == .cancelled)
    }

    // MARK: Custom backlogs

    /// Keeps only the greatest number, and refuses numbers that are not greater.
    private struct Greatest: GateBacklog {
        var number: Int?

        var isEmpty: Bool { number == nil }

        mutating func eventArrived(_ event: Int) -> (wasTaken: Bool, unneeded: Int?) {
            if let number, event <= number { return (false, event) }
            defer { number = event }
            return (true, number)
        }

        mutating func popFirst() -> Int? { number.take() }

        mutating func takeDropped() -> Greatest { takeAll() }

        mutating func takeAll() -> Greatest {
            defer { number = nil }
            return self
        }
    }

    @Test("An event that the backlog refuses is returned and not submitted")
    func refused() {
        var machine = GateMachine<Greatest, String>(backlog: Greatest(number: 5))
        #expect(machine.eventArrived(5) == (false, false, 5))
        #expect(machine.eventArrived(6) == (true, true, 5))
        #expect(machine.eventArrived(7) == (false, true, 6))
    }

    @Test("A dropped delivery loses what the backlog selects, and the outcome still passes")
    func droppedBacklog() {
        var machine = GateMachine<Greatest, String>(backlog: Greatest())
        _ = machine.eventArrived(1)
        let first = machine.deliveryDropped()
        #expect(!first.submits && first.leftovers.backlog?.number == 1 && !first.leftovers.isEnd)
        #expect(machine.eventArrived(1) == (true, true, nil))
        _ = machine.outcomeArrived("end")
        let second = machine.deliveryDropped()
        #expect(second.submits && second.leftovers.backlog?.number == 1)
        guard case .outcome("end") = machine.queueReached() else {
            Issue.record("the outcome was lost with an event")
            return
        }
    }

    // MARK: Pulling

    @Test("Pulling returns the events, then the outcome, which ends the gate at once")
    func pulled() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.eventArrived(1)
        _ = machine.eventArrived(2)
        _ = machine.outcomeArrived("end")
        #expect(passed(machine.pulled()) == "1")
        #expect(passed(machine.pulled()) == "2")
        #expect(machine.phase == .waiting)
        #expect(passed(machine.pulled()) == "end")
        #expect(machine.phase == .ended && !machine.isScheduled)
        #expect(passed(machine.pulled()) == "nothing")
        #expect(machine.cancelled() == nil)
    }

    @Test("After an empty pull, the next arrival submits one wake-up")
    func woken() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        #expect(passed(machine.pulled()) == "nothing")
        #expect(machine.eventArrived(1).submits)
        #expect(!machine.eventArrived(2).submits)
        #expect(passed(machine.pulled()) == "1")
        #expect(passed(machine.pulled()) == "2")
        #expect(passed(machine.pulled()) == "nothing")
        #expect(machine.outcomeArrived("end") == (true, true))
    }

    @Test("A pull after a cancel returns nothing")
    func pulledAfterCancel() {
        var machine = Machine(backlog: EventBacklog(keepsLatestOnly: false))
        _ = machine.eventArrived(1)
        _ = machine.outcomeArrived("end")
        _ = machine.cancelled()
        #expect(passed(machine.pulled()) == "nothing")
        #expect(machine.phase == .cancelled)
        #expect(!machine.isScheduled)
    }

    /// Every sequence of six inputs; the invariants hold after each step.
    @Test("The gate machine keeps its invariants for every sequence of six inputs", arguments: [false, true])
    func exhaustive(keepsLatestOnly: Bool) {
        for word in 0..<(6 * 6 * 6 * 6 * 6 * 6) {
            var machine = Machine(backlog: EventBacklog(keepsLatestOnly: keepsLatestOnly))
            var (rest, inHandler, endings, wasCancelled, heard) = (word, false, 0, false, 0)
            for step in 1...6 {
                let wasScheduled = machine.isScheduled
                var submits = false
                switch rest % 6 {
                case 0: submits = machine.eventArrived(step).submits
                case 1: submits = machine.outcomeArrived("end").submits
                case 2: if machine.cancelled() != nil { wasCancelled = true }
                case 3 where machine.isScheduled && !inHandler:
                    switch machine.queueReached() {
                    case .nothing: break
                    case .event(let event):
                        #expect(event > heard && endings == 0 && !wasCancelled)
                        (heard, inHandler) = (event, true)
                    case .outcome:
                        #expect(endings == 0 && !wasCancelled)
                        (endings, inHandler) = (1, true)
                    }
                case 4 where inHandler:
                    inHandler = false
                    if machine.callbackReturned() { submits = !wasScheduled }
                case 5 where machine.isScheduled && !inHandler:
                    if machine.deliveryDropped().submits { submits = !wasScheduled }
                default: break
                }
                rest /= 6
                // At most one delivery is scheduled, and none if there is nothing to deliver.
                #expect(!(submits && wasScheduled))
                #expect(wasCancelled == (machine.phase == .cancelled))
                #expect(endings == 0 || machine.phase == .delivering || machine.phase == .ended)
            }
        }
    }

    @Test("An event backlog does not retain events that have passed")
    func passedEvents() {
        final class Object {}
        var backlog = EventBacklog<Object>(keepsLatestOnly: false)
        var weak: [() -> Bool] = []
        for _ in 0..<20 {
            for _ in 0..<3 {
                let object = Object()
                weak.append { [weak object] in object == nil }
                _ = backlog.eventArrived(object)
            }
            for _ in 0..<2 { _ = backlog.popFirst() }
            let passed = weak.prefix { $0() }.count
            #expect(passed == weak.count - backlog.events.count)
        }
        #expect(backlog.events.count == 20)
    }
}

extension EventBacklog {
    /// The events in order.
    fileprivate var events: [Event] {
        var (rest, events) = (self, [Event]())
        while let event = rest.popFirst() { events.append(event) }
        return events
    }
}
