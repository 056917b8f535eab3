import Foundation
import InflightConcurrency
import InflightFoundation
import Testing

@Suite("An OperationQueue as a callback queue knows whether it is current", .timeLimit(.minutes(10)))
struct OperationQueueCurrentTests {
    @Test("inside its operations, and nowhere else")
    func current() async {
        let (one, other) = (OperationQueue(), OperationQueue())
        let answers = await ValueBridge.value { done in
            CallbackQueue.queue(one).submit {
                done.open(with: [CallbackQueue.queue(one).isCurrent, CallbackQueue.queue(other).isCurrent])
            }
        }
        #expect(answers == [true, false])
        #expect(!CallbackQueue.queue(one).isCurrent)
    }

    @Test("the main one too, on whatever thread the main queue is served")
    func main() async {
        let isCurrent = await ValueBridge.value { done in
            CallbackQueue.queue(OperationQueue.main).submit {
                done.open(with: CallbackQueue.queue(OperationQueue.main).isCurrent)
            }
        }
        #expect(isCurrent)
        #expect(await MainActor.run { CallbackQueue.queue(OperationQueue.main).isCurrent })
        #expect(!CallbackQueue.queue(OperationQueue.main).isCurrent)
    }

    @Test("has a name for messages, and may drop what it is given")
    func name() {
        let queue = OperationQueue()
        queue.name = "app.downloads"
        #expect(CallbackQueue.queue(queue).name == "the operation queue “app.downloads”")
        #expect(CallbackQueue.queue(OperationQueue.main).name == "the main queue")
        #expect(CallbackQueue.queue(queue).mayDrop)
    }

    @Test("where the main queue runs a run loop it is current, in a timer as well")
    func runLoop() async {
        await #expect(processExitsWith: .success) {
            // A loop inside the loop, as a program does that waits with a run loop of its own.
            await MainActor.run {
                let timer = Timer(timeInterval: 0.001, repeats: false) { _ in
                    let isCurrent =
                        MainCallbackQueue.main.isCurrent && CallbackQueue.queue(OperationQueue.main).isCurrent
                    exit(isCurrent ? EXIT_SUCCESS : EXIT_FAILURE)
                }
                RunLoop.current.add(timer, forMode: .default)
                while RunLoop.current.run(mode: .default, before: .distantFuture) {}
            }
        }
    }
}
