import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Gates", .timeLimit(.minutes(10)))
struct GateTests {
    private let hand = ManualQueue()
    private let log = Log()

    private func makeGate(keeping backlog: Gate<Int, String>.Backlog = .all) -> Gate<Int, String> {
        let gate = Gate<Int, String>(on: hand.callbackQueue, keeping: backlog)
        let log = log
        gate.setEventHandler { log.note("\($0)") }
        gate.setEndHandler { log.note($0) }
        return gate
    }

    @Test("A gate delivers events in order, then one outcome, on its queue and never inside a call")
    func order() {
        let gate = makeGate()
        for number in 1...3 { gate.send(number) }
        #expect(gate.end(with: "end"))
        #expect(!gate.end(with: "another"))
        gate.send(4)
        #expect(log.all.isEmpty)
        #expect(gate.phase == .waiting)
        hand.runAll()
        #expect(log.all == ["1", "2", "3", "end"])
        #expect(gate.phase == .ended)
    }

    @Test("A gate submits the next delivery only after the last handler has returned")
    func oneAtATime() {
        let gate = makeGate()
        let hand = hand
        let most = Guarded(0)
        // A closure pending on the queue releases the handler, so the handler must not retain the queue.
        gate.setEventHandler { [weak hand] _ in
            let count = hand?.count ?? 0
            most.withLock { $0 = max($0, count) }
        }
        for number in 1...3 { gate.send(number) }
        #expect(hand.count == 1)
        hand.runAll()
        #expect(most.withLock { $0 } == 0)
    }

    @Test("A gate that keeps the latest event delivers only the newest one")
    func latest() {
        let gate = makeGate(keeping: .latest)
        for number in 1...100 { gate.send(number) }
        gate.end(with: "end")
        hand.runAll()
        #expect(log.all == ["100", "end"])
    }

    @Test("A cancelled gate delivers nothing, not even what is already pending")
    func silence() {
        let gate = makeGate()
        gate.send(1)
        gate.end(with: "end")
        #expect(gate.cancel())
        #expect(!gate.cancel())
        #expect(gate.isCancelled)
        hand.runAll()
        #expect(log.all.isEmpty)
        #expect(gate.isCancelled)
    }

    @Test("A gate cannot be cancelled from within its end handler, nor afterwards")
    func tooLate() {
        let gate = makeGate()
        let log = log
        gate.setEndHandler { [weak gate] _ in
            log.note("\(gate?.cancel() ?? true) \(gate.map { "\($0.phase)" } ?? "gone")")
        }
        gate.end(with: "end")
        hand.runAll()
        #expect(log.all == ["false delivering"])
        #expect(!gate.cancel())
        #expect(gate.phase == .ended)
    }

    @Test("A gate can be cancelled from within an event handler")
    func cancelWithin() {
        let gate = makeGate()
        let log = log
        gate.setEventHandler { [weak gate] number in
            log.note("\(number)")
            gate?.cancel()
        }
        for number in 1...3 { gate.send(number) }
        gate.end(with: "end")
        hand.runAll()
        #expect(log.all == ["1"])
    }

    @Test("A gate calls the handler that is set at delivery: set late, replaced or cleared")
    func handlers() {
        let (set, replaced, cleared) = (makeGate(), makeGate(), makeGate())
        let log = log
        for gate in [set, replaced, cleared] { gate.end(with: "old") }
        set.setEndHandler(nil)
        set.setEndHandler { _ in log.note("set late") }
        replaced.setEndHandler { _ in log.note("replaced") }
        cleared.setEndHandler(nil)
        hand.runAll()
        #expect(log.all == ["set late", "replaced"])
        #expect(cleared.phase == .ended)
        cleared.setEndHandler { _ in log.note("after the end") }
        hand.runAll()
        #expect(log.all == ["set late", "replaced"])
    }

    @Test("An event handler that replaces another receives the next event")
    func replacedBetween() {
        let gate = makeGate()
        let log = log
        gate.send(1)
        gate.send(2)
        hand.runNext()
        gate.setEventHandler { log.note("new \($0)") }
        hand.runAll()
        #expect(log.all == ["1", "new 2"])
    }

    @Test("A gate loses the deliveries that its queue drops, and delivers later ones")
    func dropped() {
        let gate = makeGate()
        gate.send(1)
        hand.dropAll()
        gate.send(2)
        hand.runAll()
        gate.end(with: "end")
        hand.dropAll()
        hand.runAll()
        #expect(log.all == ["2"])
        #expect(gate.phase == .ended)
    }

    @Test("A gate runs handlers and releases captures with no lock held")
    func reentrant() {
        let gate = makeGate()
        let log = log
        let witness = ReleaseProbe { [weak gate] in log.note("released, \(gate.map { "\($0.phase)" } ?? "gone")") }
        gate.setEventHandler { [weak gate] number in
            witness.touch()
            if number == 1 { gate?.send(2) }
            if number == 2 { gate?.end(with: "end") }
        }
        gate.send(1)
        hand.runAll()
        #expect(log.all.contains("end"))
    }

    @Test("Cancelling a gate releases its handlers inside the call")
    func releasedByCancel() {
        let gate = makeGate()
        let log = log
        do {
            let witness = ReleaseProbe { log.note("released") }
            gate.setEndHandler { _ in witness.touch() }
        }
        log.note("before")
        gate.cancel()
        log.note("after")
        #expect(log.all == ["before", "released", "after"])
    }

    @Test("A gate releases its handlers on its queue, after its end or after its own release")
    func releasedOnQueue() async {
        let queue = DispatchQueue(label: "callbacks")
        let here = CallbackQueue.queue(queue)
        for ends in [true, false] {
            let wasThere = await ValueBridge.value { done in
                let gate = Gate<Int, String>(on: here)
                do {
                    let witness = ReleaseProbe { done.open(with: here.isCurrent) }
                    gate.setEndHandler { _ in witness.touch() }
                    gate.setEventHandler { _ in witness.touch() }
                }
                if ends { gate.end(with: "end") }
            }
            #expect(wasThere, "ends: \(ends)")
        }
    }

    @Test("A replaced handler, and one set after a cancel or after the end, are released at once")
    func releasedByReplacing() {
        let gate = makeGate()
        let log = log
        do {
            let witness = ReleaseProbe { log.note("first") }
            gate.setEndHandler { _ in witness.touch() }
        }
        gate.setEndHandler(nil)
        #expect(log.all == ["first"])
        gate.cancel()
        let ended = makeGate()
        ended.end(with: "end")
        hand.runAll()
        for gate in [gate, ended] {
            let witness = ReleaseProbe { log.note("late") }
            gate.setEndHandler { _ in witness.touch() }
        }
        #expect(log.all == ["first", "end", "late", "late"])
    }

    @Test("A pending delivery keeps its gate alive")
    func keptAlive() async {
        let queue = DispatchQueue(label: "callbacks")
        let told = await ValueBridge.value { done in
            let gate = Gate<Int, String>(on: .queue(queue))
            gate.setEndHandler { done.openOnce(with: $0) }
            gate.end(with: "end")
        }
        #expect(told == "end")
    }

    @Test("A gate on a concurrent queue still delivers in order")
    func concurrentQueue() async {
        let queue = DispatchQueue(label: "wide", attributes: .concurrent)
        let told = await ValueBridge.value { done in
            let gate = Gate<Int, String>(on: .queue(queue))
            let seen = Guarded([Int]())
            gate.setEventHandler { number in seen.withLock { $0.append(number) } }
            gate.setEndHandler { _ in done.openOnce(with: seen.withLock { $0 }) }
            for number in 0..<2000 { gate.send(number) }
            gate.end(with: "end")
        }
        #expect(told == Array(0..<2000))
    }

    @Test("After a cancel on its serial queue, a gate starts no handler, whatever other threads do")
    func exactSilence() async {
        let queue = DispatchQueue(label: "callbacks")
        for _ in 0..<100 {
            let wasCancelled = Guarded(false)
            let late = Guarded(0)
            let gate = Gate<Int, String>(on: .queue(queue))
            gate.setEventHandler { _ in if wasCancelled.withLock({ $0 }) { late.withLock { $0 += 1 } } }
            gate.setEndHandler { _ in if wasCancelled.withLock({ $0 }) { late.withLock { $0 += 1 } } }
            DispatchQueue.global().async {
                for number in 0..<20 { gate.send(number) }
                gate.end(with: "end")
            }
            await queue.ask { if gate.cancel() { wasCancelled.withLock { $0 = true } } }
            await queue.settle()
            #expect(late.withLock { $0 } == 0)
        }
    }

    @Test("A gate on the main queue can call main-actor closures")
    func mainQueue() async {
        @MainActor final class Label {
            var text = ""
            nonisolated init() {}
        }
        let label = Label()
        let main = MainCallbackQueue.main
        await Bridge.wait { done in
            let gate = Gate<Int, String>(on: main.queue)
            gate.setEndHandler(
                main.callback { text in
                    label.text = text
                    done.open()
                })
            gate.end(with: "end")
        }
        #expect(await label.text == "end")
    }
}
