import Dispatch
import InflightConcurrency
import Testing

@Suite("A cancellation token", .timeLimit(.minutes(10)))
struct CancellationTokenTests {
    private let log = Log()

    @Test("is latched, visible at once, and never taken back")
    func latch() {
        let token = CancellationToken()
        #expect(!token.isCancelled)
        token.cancel()
        token.cancel()
        #expect(token.isCancelled)
    }

    @Test("runs its handlers once, in their order, inside the first cancel, with the latch set")
    func handlers() {
        let token = CancellationToken()
        let log = log
        for number in 1...3 { token.onCancel { [weak token] in log.note("\(number) \(token?.isCancelled ?? false)") } }
        token.cancel()
        #expect(log.all == ["1 true", "2 true", "3 true"])
        token.cancel()
        #expect(log.all.count == 3)
    }

    @Test("runs a handler at once that comes after the cancel")
    func lateHandler() {
        let token = CancellationToken()
        token.cancel()
        let log = log
        token.onCancel { log.note("late") }
        #expect(log.all == ["late"])
    }

    @Test("does not start a handler that was removed, and lets go of it there")
    func removed() {
        let token = CancellationToken()
        let log = log
        let registration: CancellationToken.Registration
        do {
            let witness = Witness { log.note("released") }
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

    @Test("lets go of handlers when they have run")
    func released() {
        let token = CancellationToken()
        let log = log
        do {
            let witness = Witness { log.note("released") }
            token.onCancel { witness.touch() }
        }
        token.cancel()
        #expect(log.all == ["released"])
    }

    @Test("holds no lock while handlers run: they may do anything with it")
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

    @Test("cancels its children, and theirs, before any handler runs")
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

    @Test("is left as it is by the cancel of a child")
    func childAlone() {
        let token = CancellationToken()
        let (child, sibling) = (token.makeChild(), token.makeChild())
        child.cancel()
        #expect(child.isCancelled && !token.isCancelled && !sibling.isCancelled)
    }

    @Test("makes children that are cancelled where it is cancelled itself")
    func lateChild() {
        let token = CancellationToken()
        token.cancel()
        let child = token.makeChild()
        let log = log
        child.onCancel { log.note("child") }
        #expect(child.isCancelled)
        #expect(log.all == ["child"])
    }

    @Test("does not keep its children alive")
    func childReleased() {
        let token = CancellationToken()
        weak let child: CancellationToken? = token.makeChild()
        #expect(child == nil)
        token.cancel()
    }

    @Test("runs every handler exactly once when many threads add and cancel at once")
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
            // A child that was released before the cancel says nothing.
            #expect(calls.withLock { $0 % 1000 } == 8)
        }
    }

    @Test("is cancelled with the task around it, whenever that is")
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

    @Test("hands on what the body throws, with its type")
    func typedErrors() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await CancellationToken.withTask { (_) async throws(Broken) in throw Broken() }
        }
    }

    @Test("cancels a task")
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

@Suite("A cancellation flag", .timeLimit(.minutes(10)))
struct CancellationFlagTests {
    @Test("is latched, visible at once to other threads, and never taken back")
    func latch() {
        let flag = CancellationFlag()
        #expect(!flag.isCancelled)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in flag.cancel() }
        #expect(flag.isCancelled)
        #expect(DispatchQueue(label: "other").sync { flag.isCancelled })
    }
}
