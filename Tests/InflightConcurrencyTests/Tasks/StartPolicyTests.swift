import Dispatch
import InflightConcurrency
import Testing

@Suite("The machine of start policies", .timeLimit(.minutes(10)))
struct StartMachineTests {
    @Test("lets the first win")
    func firstWins() {
        var machine = StartMachine(.firstWins)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.refuse(2)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.started(3) == [.begin(3)])
    }

    @Test("lets the last win: what runs stops, what waits is replaced, and the last begins when the first has ended")
    func lastWins() {
        var machine = StartMachine(.lastWins)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.replace(1), .stop(1)])
        #expect(machine.started(3) == [.replace(1), .stop(1), .replace(2)])
        #expect(machine.workEnded(1) == [.begin(3)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.workEnded(3) == [])
    }

    @Test("lets both run")
    func both() {
        var machine = StartMachine(.both)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.begin(2)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.running == [2])
    }

    @Test("lets the second wait its turn")
    func queued() {
        var machine = StartMachine(.queued)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [])
        #expect(machine.started(3) == [])
        #expect(machine.workEnded(1) == [.begin(2)])
        #expect(machine.workEnded(2) == [.begin(3)])
        #expect(machine.workEnded(3) == [])
    }

    @Test("takes one that is cancelled out of the row, or stops it, at the hand-over too")
    func cancelled() {
        var machine = StartMachine(.queued)
        _ = machine.started(1)
        _ = machine.started(2)
        _ = machine.started(3)
        #expect(machine.cancelled(2) == [])
        #expect(machine.cancelled(1) == [.stop(1)])
        // Cancelled, and running until it has ended in fact.
        #expect(machine.running == [1])
        #expect(machine.workEnded(1) == [.begin(3)])
        #expect(machine.cancelled(3) == [.stop(3)])
        #expect(machine.workEnded(3) == [])
        #expect(machine.cancelled(3) == [])
    }

    @Test("stops all that runs and forgets all that waits")
    func allCancelled() {
        var machine = StartMachine(.queued)
        for id in 1...3 { _ = machine.started(id) }
        #expect(machine.allCancelled() == [.stop(1)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.started(4) == [.begin(4)])
    }
}

@Suite("A start policy", .timeLimit(.minutes(10)))
struct StartPolicyTests {
    private typealias Search = Starter<String, Int>

    /// Work that ends when the test says so.
    private final class Desk: Sendable {
        let begun = Guarded([(input: String, token: CancellationToken, end: Search.End)]())
        let log = Log()

        func work() -> Search.Work {
            // What has begun holds its search, and that this closure.
            { [weak self, log] input, token, end in
                log.note("begin \(input)")
                token.onCancel { log.note("stop \(input)") }
                self?.begun.withLock { $0.append((input, token, end)) }
            }
        }

        func end(_ input: String, with output: Int) {
            let end = begun.withLock { begun -> Search.End? in
                guard let index = begun.firstIndex(where: { $0.input == input }) else { return nil }
                return begun.remove(at: index).end
            }
            end?(output)
        }
    }

    private let desk = Desk()
    private let queue = DispatchQueue(label: "callbacks")

    private func makeSearch(_ policy: StartPolicy) -> Search {
        Search(policy, on: .queue(queue), work: desk.work())
    }

    private func start(_ search: Search, _ input: String) -> Search.Start {
        let log = desk.log
        let queue = CallbackQueue.queue(queue)
        return search.start(input) { outcome in
            queue.preconditionIsCurrent("a completion")
            log.note("\(input): \(outcome)")
        }
    }

    @Test("with the first winning refuses the second")
    func firstWins() async {
        let search = makeSearch(.firstWins)
        _ = start(search, "a")
        _ = start(search, "b")
        await queue.settle()
        desk.end("a", with: 1)
        await queue.settle()
        _ = start(search, "c")
        desk.end("c", with: 2)
        await queue.settle()
        #expect(desk.log.all == ["begin a", "b: refused", "a: finished(1)", "begin c", "c: finished(2)"])
    }

    @Test("with the last winning stops the first, and begins the last when the first has stopped")
    func lastWins() async {
        let search = makeSearch(.lastWins)
        for input in ["a", "b", "c"] { _ = start(search, input) }
        await queue.settle()
        // Who is replaced is told on the callback queue, while the work is stopped here.
        #expect(desk.log.all.sorted() == ["a: replaced", "b: replaced", "begin a", "stop a"])
        desk.end("a", with: 1)
        desk.end("c", with: 2)
        await queue.settle()
        #expect(desk.log.all.suffix(2) == ["begin c", "c: finished(2)"])
    }

    @Test("with both running runs both")
    func both() async {
        let search = makeSearch(.both)
        _ = start(search, "a")
        _ = start(search, "b")
        desk.end("b", with: 2)
        desk.end("a", with: 1)
        await queue.settle()
        #expect(desk.log.all.prefix(2) == ["begin a", "begin b"])
        #expect(Set(desk.log.all.suffix(2)) == ["a: finished(1)", "b: finished(2)"])
    }

    @Test("with a row begins one after the other, also where each ends inside its begin")
    func queued() async {
        let search = makeSearch(.queued)
        for input in ["a", "b"] { _ = start(search, input) }
        #expect(desk.log.all == ["begin a"])
        desk.end("a", with: 1)
        await queue.settle()
        #expect(Set(desk.log.all) == ["begin a", "begin b", "a: finished(1)"])

        // Twenty thousand that wait, and end at once: calls must not pile up.
        let (waited, wait) = AsyncStream.makeStream(of: Void.self)
        let first = Guarded<Starter<Int, Int>.End?>(nil)
        let quick = Starter<Int, Int>(.queued, on: .queue(queue)) { input, _, end in
            if input == 0 { first.withLock { $0 = end } } else { end(input) }
        }
        let sum = Guarded(0)
        for number in 0...20_000 {
            quick.start(number) { outcome in
                if case .finished(let output) = outcome { sum.withLock { $0 += output } }
                if number == 20_000 { wait.finish() }
            }
        }
        first.withLock { $0.take() }?(0)
        for await _ in waited {}
        #expect(sum.withLock { $0 } == 20_000 * 20_001 / 2)
    }

    @Test("is cancelled in the row: never begins, and says nothing")
    func cancelWaiting() async {
        let search = makeSearch(.queued)
        _ = start(search, "a")
        let waiting = start(search, "b")
        _ = start(search, "c")
        waiting.cancel()
        waiting.cancel()
        desk.end("a", with: 1)
        await queue.settle()
        #expect(waiting.isCancelled)
        #expect(Set(desk.log.all) == ["begin a", "a: finished(1)", "begin c"])
    }

    @Test("is cancelled while it runs: told to stop, silent, and its place is given back when it has ended")
    func cancelRunning() async {
        let search = makeSearch(.queued)
        let running = start(search, "a")
        _ = start(search, "b")
        running.cancel()
        #expect(desk.log.all == ["begin a", "stop a"])
        desk.end("a", with: 1)
        await queue.settle()
        #expect(desk.log.all == ["begin a", "stop a", "begin b"])
    }

    @Test("is cancelled at the hand-over: never begins, or begins with a token that is cancelled")
    func handOver() async {
        /// The end of the second, which comes after it was cancelled.
        struct Second {
            var end: Search.End?
            var isCancelled = false
        }
        let rounds = 150
        let wrong = Guarded(0)
        let left = Guarded(rounds)
        let (ended, allEnded) = AsyncStream.makeStream(of: Void.self)
        var searches: [Search] = []
        for _ in 0..<rounds {
            let first = Guarded<Search.End?>(nil)
            let second = Guarded(Second())
            let search = Search(.queued, on: .queue(queue)) { input, token, end in
                switch input {
                case "a": first.withLock { $0 = end }
                case "b":
                    token.onCancel {}
                    let endsNow = second.withLock {
                        if !$0.isCancelled { $0.end = end }
                        return $0.isCancelled
                    }
                    if endsNow { end(2) }
                default: end(3)
                }
            }
            searches.append(search)
            search.start("a") { _ in }
            let run = search.start("b") { _ in wrong.withLock { $0 += 1 } }
            search.start("c") { _ in
                let isLast = left.withLock {
                    $0 -= 1
                    return $0 == 0
                }
                if isLast { allEnded.finish() }
            }
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                if index == 0 { first.withLock { $0.take() }?(1) } else { run.cancel() }
            }
            let end = second.withLock {
                $0.isCancelled = true
                return $0.end.take()
            }
            end?(2)
        }
        // The last of each row has its turn.
        for await _ in ended {}
        #expect(wrong.withLock { $0 } == 0)
        withExtendedLifetime(searches) {}
    }

    @Test("all are cancelled at once")
    func cancelAll() async {
        let search = makeSearch(.queued)
        for input in ["a", "b", "c"] { _ = start(search, input) }
        search.cancel()
        desk.end("a", with: 1)
        await queue.settle()
        #expect(desk.log.all == ["begin a", "stop a"])
        _ = start(search, "d")
        #expect(desk.log.all.last == "begin d")
    }

    @Test("counts work as ended that lets go of its end without a word")
    func abandoned() async {
        let search = Search(.queued, on: .queue(queue)) { _, _, _ in }
        let log = desk.log
        for input in ["a", "b"] { search.start(input) { log.note("\(input): \($0)") } }
        await queue.settle()
        #expect(log.all == ["a: abandoned", "b: abandoned"])
    }

    @Test("lets go of completions on the callback queue, or inside cancel()", arguments: [true, false])
    func released(cancels: Bool) async {
        let here = CallbackQueue.queue(queue)
        let log = desk.log
        let search = makeSearch(.both)
        let (gone, release) = AsyncStream.makeStream(of: Bool.self)
        let start: Search.Start
        do {
            let witness = Witness {
                log.note("released")
                release.yield(here.isCurrent)
                release.finish()
            }
            start = search.start("a") { _ in witness.touch() }
        }
        if cancels {
            start.cancel()
            #expect(desk.log.all.contains("released"))
        } else {
            desk.end("a", with: 1)
            for await wasThere in gone { #expect(wasThere) }
        }
    }
}
