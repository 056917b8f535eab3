// One notification for work of every kind. Releasing a member leaves the group, so a callback that is never called does
// not block it.

import Dispatch
import InflightPatterns

let queue = DispatchQueue(label: "example.callbacks")
let ended = DispatchSemaphore(value: 0)
let results = Guarded([String]())

let group = WorkGroup(on: .queue(queue)) {
    print(results.withLock { $0.sorted() })
    ended.signal()
}
for name in ["cat", "dog", "never called back"] {
    let member = group.enter()
    let callback: @Sendable () -> Void = {
        results.withLock { $0.append(name) }
        member.leave()
    }
    if name.count == 3 { DispatchQueue.global().async(execute: callback) }
}
group.run { results.withLock { $0.append("synchronous") } }
group.task {
    await Task.yield()
    results.withLock { $0.append("awaited") }
}
group.seal()
ended.wait()

// Prints:
// ["awaited", "cat", "dog", "synchronous"]
