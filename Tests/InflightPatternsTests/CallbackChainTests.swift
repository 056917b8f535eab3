import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Callback chains: state machine", .timeLimit(.minutes(10)))
struct ChainMachineTests {
    @Test("The chain machine asks about one entry after another, then ends")
    func order() {
        var machine = ChainMachine(count: 2)
        #expect(machine.started() == .ask(0))
        #expect(machine.started() == .nothing)
        #expect(machine.wants(question: 0) && !machine.wants(question: 1))
        #expect(machine.questionEnded(0) == .work(0))
        #expect(machine.questionEnded(0) == .nothing)
        #expect(machine.workReturned(0, stops: false) == .ask(1))
        #expect(machine.questionEnded(1) == .work(1))
        #expect(machine.workReturned(1, stops: false) == .end)
        #expect(machine.workReturned(1, stops: false) == .nothing)
        #expect(machine.phase == .ended)
        #expect(machine.cancelled() == false)
    }

    @Test("The chain machine ends at once without entries, and early if the work stops it")
    func ends() {
        var empty = ChainMachine(count: 0)
        #expect(empty.started() == .end)
        var stopped = ChainMachine(count: 3)
        _ = stopped.started()
        _ = stopped.questionEnded(0)
        #expect(stopped.workReturned(0, stops: true) == .end)
    }

    @Test("A cancelled chain machine does nothing, whenever it is cancelled", arguments: 0..<4)
    func cancelled(moment: Int) {
        var machine = ChainMachine(count: 2)
        if moment > 0 { _ = machine.started() }
        if moment > 1 { _ = machine.questionEnded(0) }
        if moment > 2 { _ = machine.workReturned(0, stops: false) }
        #expect(machine.cancelled() == true)
        #expect(machine.cancelled() == false)
        #expect(machine.started() == .nothing)
        for index in 0..<2 {
            #expect(!machine.wants(question: index))
            #expect(machine.questionEnded(index) == .nothing)
            #expect(machine.workReturned(index, stops: false) == .nothing)
        }
        #expect(machine.phase == .cancelled)
    }
}

@Suite("Callback chains", .timeLimit(.minutes(10)))
struct CallbackChainTests {
    private let queue = DispatchQueue(label: "callbacks")
    private var here: CallbackQueue { .queue(queue) }
    private let log = Log()

    @Test("A callback chain asks on the callback queue, acts elsewhere, in order, and ends once")
    func runs() async {
        let (here, log) = (here, log)
        let summary = await ValueBridge.value { done in
            let chain = CallbackChain(1...3, name: "chain", on: here) { entry in
                here.preconditionIsCurrent("a question")
                log.note("ask \(entry)")
                return entry * 10
            } acting: { entry, answer in
                log.note("act \(entry) \(answer ?? 0) \(here.isCurrent)")
                return .proceed
            }
            chain.setEndHandler { done.openOnce(with: $0) }
            chain.start()
            chain.start()
        }
        #expect(log.all == ["ask 1", "act 1 10 false", "ask 2", "act 2 20 false", "ask 3", "act 3 30 false"])
        #expect(summary == ChainSummary(answered: 3, unanswered: 0))
    }

    @Test("A callback chain ends when an action returns stop")
    func stops() async {
        let summary = await ValueBridge.value { done in
            let chain = CallbackChain(1...3, name: "chain", on: here) { _ in
                true
            } acting: { entry, _ in
                entry == 2 ? .stop : .proceed
            }
            chain.setEndHandler { done.openOnce(with: $0) }
            chain.start()
        }
        #expect(summary.answered == 2)
    }

    @Test("A callback chain continues without an answer if the queue drops a question", arguments: [false, true])
    func dropped(all: Bool) async throws {
        let hand = ManualQueue()
        let log = log
        let acted = DispatchSemaphore(value: 0)
        let summary = Guarded<ChainSummary?>(nil)
        let chain = CallbackChain(1...3, name: "chain", on: hand.callbackQueue) { _ in
            true
        } acting: { entry, answer in
            log.note("\(entry) \(answer.map { "\($0)" } ?? "none")")
            acted.signal()
            return .proceed
        }
        chain.setEndHandler { end in summary.withLock { $0 = end } }
        chain.start()
        for entry in 1...3 {
            if all || entry == 2 { hand.dropAll() } else { hand.runNext() }
            await Bridge.wait { done in
                DispatchQueue.global().async {
                    acted.wait()
                    done.open()
                }
            }
            try await hand.waitForWork(within: .seconds(50))
        }
        hand.runAll()
        #expect(log.all == (all ? ["1 none", "2 none", "3 none"] : ["1 true", "2 none", "3 true"]))
        #expect(summary.withLock { $0 } == ChainSummary(answered: all ? 0 : 2, unanswered: all ? 3 : 1))
    }

    @Test("A callback chain cancelled on its queue asks, acts and delivers no more", arguments: [1, 2, 3])
    func cancelled(entry: Int) async {
        let log = log
        let holder = Guarded<CallbackChain<Int, Bool>?>(nil)
        let (gone, release) = AsyncStream.makeStream(of: Void.self)
        do {
            let witness = ReleaseProbe { release.finish() }
            let chain = CallbackChain(1...3, name: "chain", on: here) { asked in
                log.note("ask \(asked)")
                if asked == entry { holder.withLock { $0.take() }?.cancel() }
                return true
            } acting: { acted, _ in
                witness.touch()
                log.note("act \(acted)")
                return .proceed
            }
            chain.setEndHandler { _ in log.note("end") }
            holder.withLock { $0 = chain }
            chain.start()
        }
        for await _ in gone {}
        await queue.settle()
        #expect(log.all == (1...entry).flatMap { $0 < entry ? ["ask \($0)", "act \($0)"] : ["ask \($0)"] })
    }

    @Test("Cancelling a callback chain before its start releases its closures, and it never asks")
    func cancelledBefore() async {
        let log = log
        let chain: CallbackChain<Int, Bool>
        do {
            let witness = ReleaseProbe { log.note("released") }
            chain = CallbackChain(1...3, name: "chain", on: here) { _ in
                witness.touch()
                return true
            } acting: { _, _ in
                .proceed
            }
        }
        chain.cancel()
        #expect(log.all == ["released"])
        chain.start()
        await queue.settle()
        #expect(log.all == ["released"] && chain.isCancelled)
    }

    @Test("A running callback chain retains itself, and releases its closures on the callback queue")
    func released() async {
        let here = here
        let (gone, release) = AsyncStream.makeStream(of: Bool.self)
        var chain: CallbackChain<Int, Bool>?
        do {
            let witness = ReleaseProbe {
                release.yield(here.isCurrent)
                release.finish()
            }
            chain = CallbackChain(1...3, name: "chain", on: here) { _ in
                witness.touch()
                return true
            } acting: { _, _ in
                .proceed
            }
        }
        // From here on, only the chain retains the witness.
        chain?.start()
        chain = nil
        for await wasThere in gone { #expect(wasThere) }
    }
}
