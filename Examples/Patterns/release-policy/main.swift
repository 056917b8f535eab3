// Two ways to own work. A view cancels its load when it is released. An upload without an owner lives until it is done.

import Dispatch
import InflightPatterns

let queue = DispatchQueue(label: "example.callbacks")
let ended = DispatchSemaphore(value: 0)

/// Cancels its load when it is released.
final class Cell {
    private var load: CancelOnRelease?

    func show(_ picture: String) {
        let token = CancellationToken()
        token.onCancel { print("\(picture) is not wanted any more") }
        load = CancelOnRelease(token)
    }
}

var cell: Cell? = Cell()
cell?.show("cat.jpg")
cell?.show("dog.jpg")
cell = nil

func send(on queue: CallbackQueue, completion: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.global().async { queue.submit { completion(3) } }
}

/// Stays alive while it runs.
final class Upload: Sendable {
    private let alive = KeepAlive<Upload>(on: .queue(queue))

    func start() {
        alive.begin(self)
        // The closure does not retain the upload. Only `alive` does.
        send(on: .queue(queue), completion: WeakReference(self).calling(Upload.didSend))
    }

    private func didSend(_ bytes: Int) {
        print("sent \(bytes) bytes")
        alive.end()
    }

    deinit {
        print("released on its queue: \(CallbackQueue.queue(queue).isCurrent)")
        ended.signal()
    }
}

// The queue is suspended, so that this line's reference is released before the callback runs.
queue.suspend()
Upload().start()
queue.resume()
ended.wait()

// Prints:
// cat.jpg is not wanted any more
// dog.jpg is not wanted any more
// sent 3 bytes
// released on its queue: true
