// A lane that runs at most two jobs at once, the most important first. A cancelled job leaves the queue.

import Dispatch
import InflightPatterns

let lane = WorkLane<String>(.init(limit: 2))
let ended = DispatchSemaphore(value: 0)
let mayEnd = DispatchSemaphore(value: 0)
let begun = Guarded([String]())

let group = WorkGroup(on: .queue(DispatchQueue(label: "example.callbacks"))) { ended.signal() }

@MainActor func add(_ name: String, level: Int) -> WorkLane<String>.Entry {
    let member = group.enter()
    return lane.add(level: level, group: "example.org") { slot in
        begun.withLock { $0.append(name) }
        DispatchQueue.global().async {
            mayEnd.wait()
            member.leave()
            slot.release()
        }
    }
}

_ = add("first", level: 2)
_ = add("second", level: 2)
_ = add("background", level: 0)
let unwanted = add("unwanted", level: 3)
_ = add("visible", level: 4)
unwanted.cancel()
group.seal()
for _ in 0..<4 { mayEnd.signal() }
ended.wait()
print(begun.withLock { $0 })

// Prints:
// ["first", "second", "visible", "background"]
