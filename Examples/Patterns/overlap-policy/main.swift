// The effect of a second start while the first runs. In a search field the last start wins, in a save button the first,
// and work that must not be lost is queued.

import Dispatch
import InflightPatterns

let queue = DispatchQueue(label: "example.callbacks")

for policy in [OverlapPolicy.rejectNew, .cancelRunning, .queue] {
    let mayEnd = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    let outcomes = Guarded([String: String]())
    let starter = TaskRunner<String, String>(policy, on: .queue(queue)) { text, token, end in
        // The work moves to another queue, checks its token, and calls `end` also when it was cancelled.
        DispatchQueue.global().async {
            mayEnd.wait()
            end(token.isCancelled ? "" : text.uppercased())
        }
    }
    for text in ["a", "b", "c"] {
        starter.start(text) { outcome in
            outcomes.withLock { $0[text] = "\(outcome)" }
            ended.signal()
        }
    }
    for _ in 0..<3 { mayEnd.signal() }
    for _ in 0..<3 { ended.wait() }
    print("\(policy):", outcomes.withLock { $0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
}

// Prints:
// rejectNew: ["a finished(\"A\")", "b refused", "c refused"]
// cancelRunning: ["a replaced", "b replaced", "c finished(\"C\")"]
// queue: ["a finished(\"A\")", "b finished(\"B\")", "c finished(\"C\")"]
