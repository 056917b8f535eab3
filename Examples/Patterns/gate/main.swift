// A task handle whose callbacks arrive in order, end once, and stop after a cancel, whichever threads the work runs on.
// The gate guarantees all of that. The class itself only starts the work.

import Dispatch
import InflightPatterns

final class Countdown: Sendable {
    private let gate: Gate<Int, String>

    init(from start: Int, on queue: CallbackQueue) {
        gate = Gate(on: queue)
        let gate = gate
        DispatchQueue.global().async {
            for number in stride(from: start, to: 0, by: -1) { gate.send(number) }
            gate.end(with: "lift-off")
        }
    }

    /// Sets a handler, at any time. The gate calls the handler that is set when an event passes.
    func onNumber(_ handler: @escaping @Sendable (Int) -> Void) { gate.setEventHandler(handler) }
    func onEnd(_ handler: @escaping @Sendable (String) -> Void) { gate.setEndHandler(handler) }

    /// Cancels the countdown. If called on the callback queue, no callback follows.
    func cancel() { gate.cancel() }
}

let queue = DispatchQueue(label: "example.callbacks")
let ended = DispatchSemaphore(value: 0)

// The queue is suspended, so that nothing is delivered before the handlers are set.
queue.suspend()
let heard = Countdown(from: 3, on: .queue(queue))
heard.onNumber { print($0) }
heard.onEnd {
    print($0)
    ended.signal()
}
queue.resume()
ended.wait()

queue.suspend()
let cancelled = Countdown(from: 1000, on: .queue(queue))
cancelled.onNumber { [weak cancelled] number in
    print("stopped at", number)
    cancelled?.cancel()
    ended.signal()
}
cancelled.onEnd { _ in print("never called") }
queue.resume()
ended.wait()
queue.sync {}
withExtendedLifetime(cancelled) {}

// Prints:
// 3
// 2
// 1
// lift-off
// stopped at 1000
