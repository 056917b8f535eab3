// A class without a lock: it is made with a serial queue, used only there, and its own callbacks come back there. Used
// anywhere else it stops the program, in release builds too, and says which queue was expected and which was found.

import Dispatch
import InflightConcurrency

/// Somebody's work that calls back on the queue it is told.
func decode(_ name: String, on queue: CallbackQueue, completion: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.global().async {
        let frames = name.count
        queue.submit { completion(frames) }
    }
}

final class Player: Confined {
    let confinement: CallbackQueue
    private var frames = 0
    private var waiting = 0
    private var onReady: ((Int) -> Void)?

    init(on queue: CallbackQueue) {
        confinement = queue
    }

    func play(_ names: [String], onReady: @escaping (Int) -> Void) {
        checkConfinement()
        self.onReady = onReady
        waiting = names.count
        for name in names {
            // The callback is handed the player, and does not keep it alive.
            decode(name, on: confinement, completion: callback { player, frames in player.didDecode(frames) })
        }
    }

    private func didDecode(_ count: Int) {
        checkConfinement()
        frames += count
        waiting -= 1
        if waiting == 0 { onReady?(frames) }
    }
}

let queue = DispatchQueue(label: "example.player")
let ready = DispatchSemaphore(value: 0)
// From other threads the player is reached by a reference, which hands calls over.
let player = ConfinedReference(Player(on: .queue(queue)))
player.submit { player in
    player.play(["intro", "verse", "chorus"]) { frames in
        print("ready with \(frames) frames")
        ready.signal()
    }
}
ready.wait()

// Prints:
// ready with 16 frames
