import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Release policies", .timeLimit(.minutes(10)))
struct ReleasePolicyTests {
    private let queue = DispatchQueue(label: "callbacks")
    private let log = Log()

    private final class Work: Cancelling {
        let log: Log
        let name: String

        init(_ name: String, _ log: Log) {
            self.name = name
            self.log = log
        }

        func cancel() { log.note("cancel \(name)") }
    }

    private final class Cell {
        private var load: CancelOnRelease?

        func show(_ work: Work?) { load = work.map { CancelOnRelease($0) } }
        func stop() { load.take()?.cancel() }
    }

    @Test("CancelOnRelease cancels its work once: on release, on replacement, or when called")
    func cancelOnRelease() {
        var cell: Cell? = Cell()
        cell?.show(Work("1", log))
        cell?.show(Work("2", log))
        #expect(log.all == ["cancel 1"])
        cell?.stop()
        #expect(log.all == ["cancel 1", "cancel 2"])
        cell?.show(Work("3", log))
        log.note("before")
        cell = nil
        #expect(log.all == ["cancel 1", "cancel 2", "before", "cancel 3"])
    }

    @Test("CancelOnRelease releases captures during its own release, on the same thread")
    func capturesOfCancelled() async {
        let (log, here) = (log, CallbackQueue.queue(queue))
        let elsewhere = DispatchQueue(label: "elsewhere")
        final class Owner: @unchecked Sendable {  // handed from one queue to the other, never shared
            let load: CancelOnRelease

            init(_ work: some Cancelling) { load = CancelOnRelease(work) }
        }
        let owner = Guarded<Owner?>(nil)
        do {
            let witness = ReleaseProbe { log.note("released \(CallbackQueue.queue(elsewhere).isCurrent)") }
            let work = BackgroundWork<Never, Int>(name: "work", on: here) {
            } slice: { (_: inout Void) in
                .done(1)
            }
            work.setEndHandler { _ in witness.touch() }
            owner.withLock { $0 = Owner(work) }
        }
        await elsewhere.ask {
            log.note("before")
            _ = owner.withLock { $0.take() }
            log.note("after")
        }
        #expect(log.all == ["before", "released true", "after"])
    }

    private final class Upload: Sendable {
        let alive: KeepAlive<Upload>
        let witness: ReleaseProbe

        init(on queue: CallbackQueue, _ witness: ReleaseProbe) {
            alive = KeepAlive(on: queue)
            self.witness = witness
        }

        func start() { alive.begin(self) }
        func didEnd() { alive.end() }
    }

    @Test("KeepAlive releases its object on the callback queue, wherever end() is called")
    func keptAlive() async {
        let here = CallbackQueue.queue(queue)
        let (gone, release) = AsyncStream.makeStream(of: Bool.self)
        weak var seen: Upload?
        let alive: KeepAlive<Upload>
        do {
            let upload = Upload(
                on: here,
                ReleaseProbe {
                    release.yield(here.isCurrent)
                    release.finish()
                })
            upload.didEnd()
            upload.start()
            seen = upload
            alive = upload.alive
        }
        #expect(seen != nil && alive.isHolding)
        // Not through the object: the caller would retain it meanwhile.
        alive.end()
        for await wasThere in gone { #expect(wasThere) }
        #expect(seen == nil)
    }

    @Test("KeepAlive releases its object at once if end() is called on the callback queue")
    func endedThere() async {
        let (here, log) = (CallbackQueue.queue(queue), log)
        await queue.ask {
            let upload = Guarded<Upload?>(Upload(on: here, ReleaseProbe { log.note("released") }))
            upload.withLock { $0 }?.start()
            let alive = upload.withLock { $0?.alive }
            _ = upload.withLock { $0.take() }
            log.note("running")
            alive?.end()
            alive?.end()
            log.note("ended")
        }
        #expect(log.all == ["running", "released", "ended"])
    }

    private final class View: Sendable {
        let log: Log
        init(_ log: Log) { self.log = log }
        func show(_ number: Int, _ text: String) { log.note("\(number) \(text)") }
    }

    @Test("Closures made from a WeakReference do not retain the object, nor do closures inside them")
    func weakReference() {
        let outer: @Sendable () -> @Sendable () -> Void
        let method: @Sendable (Int, String) -> Void
        do {
            let view = View(log)
            let me = WeakReference(view)
            method = me.calling(View.show)
            outer = { { me { $0.show(2, "inside") } } }
            method(1, "there")
            outer()()
            #expect(log.all == ["1 there", "2 inside"])
            #expect(me { _ in true } == true)
        }
        let inner = outer()
        inner()
        method(3, "gone")
        #expect(log.all == ["1 there", "2 inside"])
    }
}
