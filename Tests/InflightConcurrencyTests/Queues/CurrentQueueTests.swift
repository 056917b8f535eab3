import Dispatch
import InflightConcurrency
import Testing

@Suite("Callback queues: isCurrent", .timeLimit(.minutes(10)))
struct CurrentQueueTests {
    private func ask<Answer: Sendable>(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Answer) async
        -> Answer
    {
        await ValueBridge.value { done in queue.async { done.open(with: body()) } }
    }

    @Test("A dispatch queue is current on itself and on no other queue")
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

    @Test("A target queue is current on the queues that target it, but not the reverse")
    func targets() async {
        let below = DispatchQueue(label: "below")
        let above = DispatchQueue(label: "above", target: below)
        // Both queues are marked first: the nearer mark must not hide the other.
        #expect(!CallbackQueue.queue(above).isCurrent && !CallbackQueue.queue(below).isCurrent)
        #expect(await ask(on: above) { CallbackQueue.queue(below).isCurrent && CallbackQueue.queue(above).isCurrent })
        #expect(await ask(on: below) { !CallbackQueue.queue(above).isCurrent })
    }

    @Test("A queue is not current inside sync on another queue, and is current again afterwards")
    func synchronous() async {
        let (one, other) = (DispatchQueue(label: "one"), DispatchQueue(label: "other"))
        let answers = await ask(on: one) {
            let inside = other.sync { CallbackQueue.queue(one).isCurrent }
            return [inside, CallbackQueue.queue(one).isCurrent]
        }
        #expect(answers == [false, true])
    }

    @Test("isCurrent is correct for concurrent and global queues")
    func concurrent() async {
        let queue = DispatchQueue(label: "wide", attributes: .concurrent)
        #expect(await ask(on: queue) { CallbackQueue.queue(queue).isCurrent })
        #expect(await ask(on: .global()) { CallbackQueue.queue(.global()).isCurrent })
        #expect(await ask(on: .global()) { !CallbackQueue.queue(queue).isCurrent })
    }

    @Test("After concurrent first isCurrent queries from outside, all false, each queue is current on itself")
    func together() async {
        let queues = (0..<20_000).map { DispatchQueue(label: "new \($0)") }
        let current = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { queues.count { CallbackQueue.queue($0).isCurrent } } }
            return await group.reduce(0, +)
        }
        #expect(current == 0)
        #expect(queues.allSatisfy { queue in queue.sync { CallbackQueue.queue(queue).isCurrent } })
    }

    @Test("The main queue is current on any thread that serves it, and its closures may touch views")
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

    @Test("A callback for the main queue traps when called on another queue")
    func mainCallbackElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let callback = MainCallbackQueue.main.callback { (_: Int) in }
            DispatchQueue(label: "app.network").sync { callback(1) }
        }
    }

    @Test("A custom executor determines itself whether it is current")
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

    @Test("Queues and the current thread have names for messages")
    func names() async {
        #expect(CallbackQueue.queue(DispatchQueue(label: "app.list")).name == "the queue “app.list”")
        #expect(CallbackQueue.queue(DispatchQueue(label: "")).name == "an unlabelled queue")
        #expect(MainCallbackQueue.main.queue.name == "the main queue")
        let found = await ask(on: DispatchQueue(label: "app.list")) { CallbackQueue.currentName }
        #expect(found.hasPrefix("the queue “app.list” (thread “"))
        #expect(await MainActor.run { CallbackQueue.currentName } == "the main queue")
    }

    @Test("The precondition passes on the expected queue")
    func checked() async {
        let queue = DispatchQueue(label: "app.list")
        await ask(on: queue) { CallbackQueue.queue(queue).preconditionIsCurrent("a list") }
    }

    @Test("The precondition traps on another queue, and names the object and both queues")
    func wrongQueue() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (right, wrong) = (DispatchQueue(label: "app.list"), DispatchQueue(label: "app.network"))
            wrong.sync { CallbackQueue.queue(right).preconditionIsCurrent("The list") }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("The list must be used on the queue “app.list”"), "\(message)")
        #expect(message.contains("was used on the queue “app.network”"), "\(message)")
    }
}
