// An object whose callbacks run on the queue that its user chooses: any dispatch queue, or the main queue with closures
// that may touch views. There is no default, because `.main` is short to write and a default is easy to forget.

import Dispatch
import Glibc
import InflightPatterns

struct Greeter: Sendable {
    /// `completion` is called on `queue`, never inside this call.
    func greet(_ name: String, on queue: CallbackQueue, completion: @escaping @Sendable (String) -> Void) {
        queue.submit { completion("Hello, \(name)!") }
    }

    /// The same for the main queue, with a `@MainActor` completion handler.
    func greet(
        _ name: String, on queue: MainCallbackQueue, completion: @escaping @MainActor @Sendable (String) -> Void
    ) {
        queue.submit { completion("Hello, \(name)!") }
    }
}

@MainActor final class Window {
    var title = ""
}

// On the main thread the main queue is current, whichever loop runs there, or none.
print("main is current: \(MainCallbackQueue.main.isCurrent)")
let window = Window()
let queue = DispatchQueue(label: "example.greetings")
Greeter().greet("queue", on: .queue(queue)) { text in
    CallbackQueue.queue(queue).preconditionIsCurrent("The greeting")
    print(text, "on \(CallbackQueue.queue(queue).name)")
    Greeter().greet("main queue", on: .main) { text in
        window.title = text
        print(window.title, "and main is current: \(MainCallbackQueue.main.isCurrent)")
        exit(0)
    }
}
// From here on other threads run the main queue. `isCurrent` is still true in its callbacks.
dispatchMain()

// Prints:
// main is current: true
// Hello, queue! on the queue “example.greetings”
// Hello, main queue! and main is current: true
