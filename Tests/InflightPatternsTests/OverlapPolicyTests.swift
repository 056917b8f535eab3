import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Start policies: state machine", .timeLimit(.minutes(10)))
struct StartMachineTests {
    @Test("The start machine with rejectNew refuses a start while another runs")
    func rejectNew() {
        var machine = StartMachine(.rejectNew)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.refuse(2)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.started(3) == [.begin(3)])
    }

    @Test("The start machine with cancelRunning stops the running start, and begins the last once it has ended")
    func cancelRunning() {
        var machine = StartMachine(.cancelRunning)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.replace(1), .stop(1)])
        #expect(machine.started(3) == [.replace(1), .stop(1), .replace(2)])
        #expect(machine.workEnded(1) == [.begin(3)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.workEnded(3) == [])
    }

    @Test("The start machine with both begins every start at once")
    func both() {
        var machine = StartMachine(.concurrent)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [.begin(2)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.running == [2])
    }

    @Test("The start machine with queued begins one start after another")
    func queued() {
        var machine = StartMachine(.queue)
        #expect(machine.started(1) == [.begin(1)])
        #expect(machine.started(2) == [])
        #expect(machine.started(3) == [])
        #expect(machine.workEnded(1) == [.begin(2)])
        #expect(machine.workEnded(2) == [.begin(3)])
        #expect(machine.workEnded(3) == [])
    }

    @Test("The start machine removes a cancelled queued start, and stops a cancelled running one")
    func cancelled() {
        var machine = StartMachine(.queue)
        _ = machine.started(1)
        _ = machine.started(2)
        _ = machine.started(3)
        #expect(machine.cancelled(2) == [])
        #expect(machine.cancelled(1) == [.stop(1)])
        // Cancelled, but running until its work has ended.
        #expect(machine.running == [1])
        #expect(machine.workEnded(1) == [.begin(3)])
        #expect(machine.cancelled(3) == [.stop(3)])
        #expect(machine.workEnded(3) == [])
        #expect(machine.cancelled(3) == [])
    }

    @Test("Cancelling all starts stops the running ones and removes the queued ones")
    func allCancelled() {
        var machine = StartMachine(.queue)
        for id in 1...3 { _ = machine.started(id) }
        #expect(machine.allCancelled() == [.stop(1)])
        #expect(machine.workEnded(1) == [])
        #expect(machine.started(4) == [.begin(4)])
    }
}

@Suite("Start policies", .timeLimit(.minutes(10)))
struct OverlapPolicyTests {
    private typealias Search = TaskRunner<String, Int>

    /// Work that ends when the test ends it.
    private final class ManualWork: Sendable {
        let begun = Guarded([(input: String, token: CancellationToken, end: Search.End)]())
        let log = Log()

        func work() -> Search.Work {
            // Running work retains its search, and the search retains this closure.
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

    private let manualWork = ManualWork()
    private let queue = DispatchQueue(label: "callbacks")

    private func makeSearch(_ policy: OverlapPolicy) -> Search {
        Search(policy, on: .queue(queue), work: manualWork.work())
    }

    private func start(_ search: Search, _ input: String) -> Search.Start {
        let log = manualWork.log
        let queue = CallbackQueue.queue(queue)
        return search.start(input) { outcome in
            queue.preconditionIsCurrent("a completion")
            log.note("\(input): \(outcome)")
        }
    }

    @Test("A starter with rejectNew refuses a second start until the first has finished")
    func rejectNew() async {
        let search = makeSearch(.rejectNew)
        _ = start(search, "a")
        _ = start(search, "b")
        await queue.settle()
        manualWork.end("a", with: 1)
        await queue.settle()
        _ = start(search, "c")
        manualWork.end("c", with: 2)
        await queue.settle()
        #expect(manualWork.log.all == ["begin a", "b: refused", "a: finished(1)", "begin c", "c: finished(2)"])
    }

    @Test("A starter with cancelRunning stops the running start, and then begins only the last one")
    func cancelRunning() async {
        let search = makeSearch(.cancelRunning)
        for input in ["a", "b", "c"] { _ = start(search, input) }
        await queue.settle()
        // A replaced start is delivered on the callback queue, while the running work is stopped on this thread.
        #expect(manualWork.log.all.sorted() == ["a: replaced", "b: replaced", "begin a", "stop a"])
        manualWork.end("a", with: 1)
        manualWork.end("c", with: 2)
        await queue.settle()
        #expect(manualWork.log.all.suffix(2) == ["begin c", "c: finished(2)"])
    }

    @Test("A starter with both runs two starts concurrently")
    func both() async {
        let search = makeSearch(.concurrent)
        _ = start(search, "a")
        _ = start(search, "b")
        manualWork.end("b", with: 2)
        manualWork.end("a", with: 1)
        await queue.settle()
        #expect(manualWork.log.all.prefix(2) == ["begin a", "begin b"])
        #expect(Set(manualWork.log.all.suffix(2)) == ["a: finished(1)", "b: finished(2)"])
    }

    @Test("A starter with queued begins one start after another, even if each ends at once")
    func queued() async {
        let search = makeSearch(.queue)
        for input in ["a", "b"] { _ = start(search, input) }
        #expect(manualWork.log.all == ["begin a"])
        manualWork.end("a", with: 1)
        await queue.settle()
        #expect(Set(manualWork.log.all) == ["begin a", "begin b", "a: finished(1)"])

        // Twenty thousand queued starts that end at once must not nest their calls.
        let (waited, wait) = AsyncStream.makeStream(of: Void.self)
        let first = Guarded<TaskRunner<Int, Int>.End?>(nil)
        let quick = TaskRunner<Int, Int>(.queue, on: .queue(queue)) { input, _, end in
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

    @Test("A queued start that is cancelled never begins and delivers nothing")
    func cancelWaiting() async {
        let search = makeSearch(.queue)
        _ = start(search, "a")
        let waiting = start(search, "b")
        _ = start(search, "c")
        waiting.cancel()
        waiting.cancel()
        manualWork.end("a", with: 1)
        await queue.settle()
        #expect(waiting.isCancelled)
        #expect(Set(manualWork.log.all) == ["begin a", "a: finished(1)", "begin c"])
    }

    @Test("A cancelled running start is stopped, delivers nothing, and frees its slot when its work ends")
    func cancellingRunning() async {
        let search = makeSearch(.queue)
        let running = start(search, "a")
        _ = start(search, "b")
        running.cancel()
        #expect(manualWork.log.all == ["begin a", "stop a"])
        manualWork.end("a", with: 1)
        await queue.settle()
        #expect(manualWork.log.all == ["begin a", "stop a", "begin b"])
    }

    @Test("A start cancelled as it is dequeued delivers nothing, its token is cancelled, and the next start runs")
    func handOver() async {
        /// The end and the token of the second start, if it began; the end is called after the start was cancelled.
        struct Second {
            var end: Search.End?
            var token: CancellationToken?
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
            let search = Search(.queue, on: .queue(queue)) { input, token, end in
                switch input {
                case "a": first.withLock { $0 = end }
                case "b":
                    token.onCancel {}
                    let endsNow = second.withLock {
                        if !$0.isCancelled { ($0.end, $0.token) = (end, token) }
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
            let (end, token) = second.withLock {
                $0.isCancelled = true
                return ($0.end.take(), $0.token)
            }
            if token?.isCancelled == false { wrong.withLock { $0 += 1 } }
            end?(2)
        }
        // The last start of each queue runs.
        for await _ in ended {}
        #expect(wrong.withLock { $0 } == 0)
        withExtendedLifetime(searches) {}
    }

    @Test("Cancelling a starter cancels all its starts, and it accepts new ones")
    func cancelAll() async {
        let search = makeSearch(.queue)
        for input in ["a", "b", "c"] { _ = start(search, input) }
        search.cancel()
        manualWork.end("a", with: 1)
        await queue.settle()
        #expect(manualWork.log.all == ["begin a", "stop a"])
        _ = start(search, "d")
        #expect(manualWork.log.all.last == "begin d")
    }

    @Test("A start whose work drops its end closure is delivered as abandoned")
    func abandoned() async {
        let search = Search(.queue, on: .queue(queue)) { _, _, _ in }
        let log = manualWork.log
        for input in ["a", "b"] { search.start(input) { log.note("\(input): \($0)") } }
        await queue.settle()
        #expect(log.all == ["a: abandoned", "b: abandoned"])
    }

    @Test("Completions are released on the callback queue, or inside cancel()", arguments: [true, false])
    func released(cancels: Bool) async {
        let here = CallbackQueue.queue(queue)
        let log = manualWork.log
        let search = makeSearch(.concurrent)
        let (gone, release) = AsyncStream.makeStream(of: Bool.self)
        let start: Search.Start
        do {
            let witness = ReleaseProbe {
                log.note("released")
                release.yield(here.isCurrent)
                release.finish()
            }
            start = search.start("a") { _ in witness.touch() }
        }
        if cancels {
            start.cancel()
            #expect(manualWork.log.all.contains("released"))
        } else {
            manualWork.end("a", with: 1)
            for await wasThere in gone { #expect(wasThere) }
        }
    }
}
