import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Background work", .timeLimit(.minutes(10)))
struct BackgroundWorkTests {
    private let queue = DispatchQueue(label: "callbacks")
    private var here: CallbackQueue { .queue(queue) }
    private let log = Log()

    /// Not `Sendable`: only the thread of the work uses it.
    private final class State {
        var step = 0
    }

    private func count(to end: Int) -> BackgroundWork<Int, String> {
        BackgroundWork(name: "counting", on: here) {
            State()
        } slice: { state in
            state.step += 1
            return state.step == end ? .done("counted to \(end)") : .more(state.step)
        }
    }

    @Test("Background work delivers increasing progress and one result on its queue")
    func runs() async throws {
        let work = count(to: 1000)
        let here = here
        let seen = Guarded([Int]())
        let (result, wasThere) = await ValueBridge.value { done in
            work.setProgressHandler { step in
                if here.isCurrent { seen.withLock { $0.append(step) } }
            }
            work.setEndHandler { result in done.openOnce(with: (try? result.get(), here.isCurrent)) }
            work.start()
            work.start()
        }
        #expect(result == "counted to 1000" && wasThere)
        let steps = seen.withLock { $0 }
        #expect(steps == steps.sorted() && steps.allSatisfy { $0 < 1000 })
    }

    @Test("Background work runs on its own named thread, not on the callback queue")
    func thread() async {
        let here = here
        let name = await ValueBridge.value { done in
            let work = BackgroundWork<Never, String>(name: "my work", on: here) {
            } slice: { (_: inout Void) in
                .done(here.isCurrent ? "callback queue" : CallbackQueue.currentName)
            }
            work.setEndHandler { done.openOnce(with: (try? $0.get()) ?? "") }
            work.start()
        }
        #expect(name.hasSuffix("(thread “my work”)"), "\(name)")
    }

    @Test("Background work fails with the error of a slice or of making its state", arguments: [false, true])
    func fails(atStart: Bool) async {
        struct Broken: Error {}
        let here = here
        let result = await ValueBridge.value { done in
            let work = BackgroundWork<Never, Int>(name: "failing", on: here) {
                if atStart { throw Broken() }
            } slice: { (_: inout Void) in
                throw Broken()
            }
            work.setEndHandler { done.openOnce(with: $0) }
            work.start()
        }
        #expect(throws: Broken.self) { try result.get() }
    }

    @Test("Cancelled background work runs no further slice and delivers nothing")
    func cancelled() async {
        let (inside, proceed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let log = log
        let stateGone = AsyncStream.makeStream(of: Void.self)
        do {
            let work = BackgroundWork<Int, Int>(name: "stopped", on: here) {
                ReleaseProbe { stateGone.continuation.finish() }
            } slice: { _ in
                log.note("slice")
                inside.signal()
                proceed.wait()
                return .more(1)
            }
            work.setProgressHandler { _ in log.note("progress") }
            work.setEndHandler { _ in log.note("end") }
            work.start()
            inside.wait()
            work.cancel()
            work.cancel()
            #expect(work.isCancelled)
            proceed.signal()
        }
        for await _ in stateGone.stream {}
        await queue.settle()
        #expect(log.all == ["slice"])
    }

    @Test("Background work cancelled before its start never runs, and cancel() releases its closures")
    func cancelledBefore() async {
        let log = log
        let work: BackgroundWork<Int, Int>
        do {
            let witness = ReleaseProbe { log.note("released") }
            work = BackgroundWork(name: "never", on: here) {
            } slice: { (_: inout Void) in
                witness.touch()
                log.note("slice")
                return .done(1)
            }
            work.setEndHandler { _ in witness.touch() }
        }
        work.cancel()
        #expect(log.all == ["released"])
        work.start()
        await queue.settle()
        #expect(log.all == ["released"])
    }

    @Test("Background work retains itself, and releases its closures on the callback queue", arguments: [true, false])
    func released(isStarted: Bool) async {
        let here = here
        let (gone, release) = AsyncStream.makeStream(of: Bool.self)
        var work: BackgroundWork<Never, Int>?
        do {
            let witness = ReleaseProbe {
                release.yield(here.isCurrent)
                release.finish()
            }
            work = BackgroundWork(name: "released", on: here) {
            } slice: { (_: inout Void) in
                witness.touch()
                return .done(1)
            }
            work?.setEndHandler { _ in witness.touch() }
        }
        // From here on, only the work retains the witness.
        if isStarted { work?.start() }
        work = nil
        for await wasThere in gone { #expect(wasThere) }
    }
}
