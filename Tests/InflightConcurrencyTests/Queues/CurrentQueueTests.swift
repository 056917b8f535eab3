import Dispatch
import InflightConcurrency
import Testing

@Suite("A callback queue knows whether it is current", .timeLimit(.minutes(10)))
struct CurrentQueueTests {
    private func ask<Answer: Sendable>(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Answer) async
        -> Answer
    {
        await ValueBridge.value { done in queue.async { done.open(with: body()) } }
    }

    @Test("on itself, and on no other")
    func dispatch() async {
        let (one, other) = (DispatchQueue(label: "one"), DispatchQueue(label: "other"))
        let answers = await ask(on: one) {
            [
                CallbackQueue.queue(one).isCurrent, CallbackQueue.queue(other).isCurrent,
                MainCallbackQueue.main.isCurrent,
            ]
        }
        #expect(answers == [true, false, false])
        #expect(!CallbackQueue.queue(one).isCurrent)
    }

    @Test("on a queue that targets it, and not the other way round")
    func targets() async {
        let below = DispatchQueue(label: "below")
        let above = DispatchQueue(label: "above", target: below)
        // Both are marked before: the nearer mark must not hide the other.
        #expect(!CallbackQueue.queue(above).isCurrent && !CallbackQueue.queue(below).isCurrent)
        #expect(await ask(on: above) { CallbackQueue.queue(below).isCurrent && CallbackQueue.queue(above).isCurrent })
        #expect(await ask(on: below) { !CallbackQueue.queue(above).isCurrent })
    }

    @Test("not inside sync on another queue, and again after it")
    func synchronous() async {
        let (one, other) = (DispatchQueue(label: "one"), DispatchQueue(label: "other"))
        let answers = await ask(on: one) {
            let inside = other.sync { CallbackQueue.queue(one).isCurrent }
            return [inside, CallbackQueue.queue(one).isCurrent]
        }
        #expect(answers == [false, true])
    }

    @Test("a concurrent and a global queue too")
    func concurrent() async {
        let queue = DispatchQueue(label: "wide", attributes: .concurrent)
        #expect(await ask(on: queue) { CallbackQueue.queue(queue).isCurrent })
        #expect(await ask(on: .global()) { CallbackQueue.queue(.global()).isCurrent })
        #expect(await ask(on: .global()) { !CallbackQueue.queue(queue).isCurrent })
    }

    @Test("while several threads ask for the first time, each of whom sees the mark whole")
    func together() async {
        let queues = (0..<20_000).map { CallbackQueue.queue(DispatchQueue(label: "new \($0)")) }
        let current = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { queues.count { $0.isCurrent } } }
            return await group.reduce(0, +)
        }
        #expect(current == 0)
    }

    @Test("the main queue too, where dispatchMain() serves it on other threads, and closures there may touch views")
    func main() async {
        @MainActor final class Label {
            var text = ""
            nonisolated init() {}
        }
        let label = Label()
        let (seen, see) = AsyncStream.makeStream(of: Bool.self)
        MainCallbackQueue.main.submit {
            label.text = "on the main actor"
            MainCallbackQueue.main.preconditionIsCurrent("a view")
            see.yield(MainCallbackQueue.main.isCurrent && CallbackQueue.queue(.main).isCurrent)
            see.finish()
        }
        for await isThere in seen { #expect(isThere) }
        #expect(await label.text == "on the main actor")
    }

    @Test("asked by many at once when it was never asked before")
    func firstAsked() {
        for _ in 0..<200 {
            let queue = DispatchQueue(label: "new")
            let wrong = Guarded(0)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                if CallbackQueue.queue(queue).isCurrent { wrong.withLock { $0 += 1 } }
            }
            queue.sync { if !CallbackQueue.queue(queue).isCurrent { wrong.withLock { $0 += 1 } } }
            #expect(wrong.withLock { $0 } == 0)
        }
    }

    @Test("a closure for the main queue stops who calls it elsewhere")
    func mainCallbackElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let callback = MainCallbackQueue.main.callback { (_: Int) in }
            DispatchQueue(label: "app.network").sync { callback(1) }
        }
    }

    @Test("an executor is asked itself")
    func executor() {
        struct Here: CallbackExecutor {
            let isCurrent: Bool
            func submit(_ work: @escaping @Sendable () -> Void) {}
        }
        #expect(CallbackQueue.executor(Here(isCurrent: true)).isCurrent)
        #expect(!CallbackQueue.executor(Here(isCurrent: false)).isCurrent)
        #expect(CallbackQueue.executor(Here(isCurrent: true)).name == "Here")
        CallbackQueue.executor(Here(isCurrent: true)).preconditionIsCurrent("this test")
    }

    @Test("queues and places have names for messages")
    func names() async {
        #expect(CallbackQueue.queue(DispatchQueue(label: "app.list")).name == "the queue “app.list”")
        #expect(CallbackQueue.queue(DispatchQueue(label: "")).name == "a queue without a label")
        #expect(MainCallbackQueue.main.queue.name == "the main queue")
        let found = await ask(on: DispatchQueue(label: "app.list")) { CallbackQueue.currentName }
        #expect(found.hasPrefix("the queue “app.list” (thread “"))
        #expect(await MainActor.run { CallbackQueue.currentName } == "the main queue")
    }

    @Test("the check passes on the queue")
    func checked() async {
        let queue = DispatchQueue(label: "app.list")
        await ask(on: queue) { CallbackQueue.queue(queue).preconditionIsCurrent("a list") }
    }

    @Test("the check stops elsewhere, and says who was used, which queue was expected and which was found")
    func wrongQueue() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (right, wrong) = (DispatchQueue(label: "app.list"), DispatchQueue(label: "app.network"))
            wrong.sync { CallbackQueue.queue(right).preconditionIsCurrent("The list") }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("The list is to be used on the queue “app.list” alone"), "\(message)")
        #expect(message.contains("was used on the queue “app.network”"), "\(message)")
    }
}
