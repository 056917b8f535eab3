import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Cancellation tokens", .timeLimit(.minutes(10)))
struct CancellationTokenTests {
    private let log = Log()

    @Test("A cancellation token stays cancelled")
    func latch() {
        let token = CancellationToken()
        #expect(!token.isCancelled)
        token.cancel()
        token.cancel()
        #expect(token.isCancelled)
    }

    @Test("Cancelling a token runs its handlers once, in order, with isCancelled already true")
    func handlers() {
        let token = CancellationToken()
        let log = log
        for number in 1...3 { token.onCancel { [weak token] in log.note("\(number) \(token?.isCancelled ?? false)") } }
        token.cancel()
        #expect(log.all == ["1 true", "2 true", "3 true"])
        token.cancel()
        #expect(log.all.count == 3)
    }

    @Test("A handler added to a cancelled token runs at once")
    func lateHandler() {
        let token = CancellationToken()
        token.cancel()
        let log = log
        token.onCancel { log.note("late") }
        #expect(log.all == ["late"])
    }

    @Test("A removed cancellation handler is released at once and never runs")
    func removed() {
        let token = CancellationToken()
        let log = log
        let registration: CancellationToken.Registration
        do {
            let witness = ReleaseProbe { log.note("released") }
            registration = token.onCancel {
                witness.touch()
                log.note("called")
            }
        }
        registration.remove()
        #expect(log.all == ["released"])
        registration.remove()
        token.cancel()
        #expect(log.all == ["released"])
    }

    @Test("A cancelled token releases its handlers after running them")
    func released() {
        let token = CancellationToken()
        let log = log
        do {
            let witness = ReleaseProbe { log.note("released") }
            token.onCancel { witness.touch() }
        }
        token.cancel()
        #expect(log.all == ["released"])
    }

    @Test("Cancellation handlers run with no lock held, and may use the token")
    func reentrant() {
        let token = CancellationToken()
        let log = log
        token.onCancel { [weak token] in
            token?.cancel()
            token?.onCancel { log.note("inside") }
            token?.makeChild().onCancel { log.note("child") }
        }
        token.cancel()
        #expect(log.all == ["inside", "child"])
    }

    @Test("Cancelling a token cancels its descendants before any handler runs")
    func children() {
        let token = CancellationToken()
        let log = log
        let holder = Guarded<CancellationToken?>(nil)
        token.onCancel { log.note("grandchild cancelled: \(holder.withLock { $0 }?.isCancelled ?? false)") }
        let child = token.makeChild()
        let grandchild = child.makeChild()
        holder.withLock { $0 = grandchild }
        grandchild.onCancel { log.note("grandchild") }
        token.onCancel { log.note("last") }
        token.cancel()
        #expect(log.all == ["grandchild cancelled: true", "grandchild", "last"])
        #expect(child.isCancelled && grandchild.isCancelled)
    }

    @Test("Cancelling a child does not cancel its parent or siblings")
    func childAlone() {
        let token = CancellationToken()
        let (child, sibling) = (token.makeChild(), token.makeChild())
        child.cancel()
        #expect(child.isCancelled && !token.isCancelled && !sibling.isCancelled)
    }

    @Test("A child of a cancelled token is cancelled from the start")
    func lateChild() {
        let token = CancellationToken()
        token.cancel()
        let child = token.makeChild()
        let log = log
        child.onCancel { log.note("child") }
        #expect(child.isCancelled)
        #expect(log.all == ["child"])
    }

    @Test("A token does not retain its children")
    func childReleased() {
        let token = CancellationToken()
        weak let child: CancellationToken? = token.makeChild()
        #expect(child == nil)
        token.cancel()
    }

    @Test("Every handler runs exactly once when many threads add handlers and cancel")
    func race() {
        for _ in 0..<200 {
            let token = CancellationToken()
            let calls = Guarded(0)
            DispatchQueue.concurrentPerform(iterations: 8) { index in
                if index == 3 || index == 6 { token.cancel() }
                token.onCancel { calls.withLock { $0 += 1 } }
                token.makeChild().onCancel { calls.withLock { $0 += 1000 } }
            }
            token.cancel()
            // A child that was released before the cancel runs no handler.
            #expect(calls.withLock { $0 % 1000 } == 8)
        }
    }

    @Test("CancellationToken.withTask passes a token that is cancelled with the task")
    func aroundTask() async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            await CancellationToken.withTask { token in
                let bridge = Bridge()
                token.onCancel { bridge.open() }
                begin.finish()
                await bridge.wait()
                return token.isCancelled
            }
        }
        for await _ in begun {}
        task.cancel()
        #expect(await task.value)
        let before = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await CancellationToken.withTask { $0.isCancelled }
        }
        #expect(await before.value)
        #expect(await CancellationToken.withTask { !$0.isCancelled })
    }

    @Test("CancellationToken.withTask rethrows the typed error of its body")
    func typedErrors() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await CancellationToken.withTask { (_) async throws(Broken) in throw Broken() }
        }
    }

    @Test("Cancelling a token cancels the task attached to it")
    func cancelsTask() async {
        let token = CancellationToken()
        let task = Task {
            await CancellationToken.withTask { inner in
                await Bridge.wait { cancelled in inner.onCancel { cancelled.open() } }
                return inner.isCancelled
            }
        }
        token.cancels(task)
        token.cancel()
        #expect(await task.value)
    }
}

@Suite("Cancellation flag", .timeLimit(.minutes(10)))
struct CancellationFlagTests {
    @Test("A cancellation flag stays cancelled, and other threads see it at once")
    func latch() {
        let flag = CancellationFlag()
        #expect(!flag.isCancelled)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in flag.cancel() }
        #expect(flag.isCancelled)
        #expect(DispatchQueue(label: "other").sync { flag.isCancelled })
    }
}
