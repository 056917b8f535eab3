import Foundation
import InflightConcurrency
import InflightFoundation
import Testing

@Suite("OperationQueue as a callback queue", .timeLimit(.minutes(10)))
struct OperationQueueCurrentTests {
    @Test("An OperationQueue is current inside its operations and nowhere else")
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

    @Test("OperationQueue.main is current on any thread that serves the main queue")
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

    @Test("An OperationQueue has a name for messages, and may drop callbacks")
    func name() {
        let queue = OperationQueue()
        queue.name = "app.downloads"
        #expect(CallbackQueue.queue(queue).name == "the operation queue “app.downloads”")
        #expect(CallbackQueue.queue(OperationQueue.main).name == "the main queue")
        #expect(CallbackQueue.queue(queue).mayDrop)
    }

    @Test("The main queue is current in a timer of a run loop")
    func runLoop() async {
        await #expect(processExitsWith: .success) {
            // A run loop inside the run loop, as in a program that waits with its own run loop.
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
