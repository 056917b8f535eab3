// Two ways to own work. A view cancels what it asked for when it goes; an upload lives until it is done, held by nobody.

import Dispatch
import InflightConcurrency

let queue = DispatchQueue(label: "example.callbacks")
let ended = DispatchSemaphore(value: 0)

/// Released means cancelled.
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

/// Kept alive while running.
final class Upload: Sendable {
    private let alive = KeepAlive<Upload>(on: .queue(queue))

    func start() {
        alive.begin(self)
        // The closure holds no upload: what keeps it alive is told in one place.
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

Upload().start()
ended.wait()

// Prints:
// cat.jpg is not wanted any more
// dog.jpg is not wanted any more
// sent 3 bytes
// released on its queue: true
