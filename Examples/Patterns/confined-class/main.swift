// A class without a lock. It is created with a serial queue, used only there, and its own callbacks return there. Used
// anywhere else it traps, in release builds too, with a message that names the expected and the actual queue.

import Dispatch
import InflightPatterns

/// An external API that calls back on the given queue.
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
            // The callback receives the player, and does not retain it.
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
// Other threads use the player through a reference, which submits calls to its queue.
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
