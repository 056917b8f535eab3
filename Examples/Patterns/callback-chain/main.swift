// Work that asks a question about each of many entries on the caller's queue, and acts on a separate thread. If a
// question gets no answer, for example because the queue's pending work was cancelled, the chain continues.

import Dispatch
import InflightPatterns

enum Choice {
    case keep, delete
}

let files = ["photo.jpg", "cache.tmp", "notes.txt", "old.tmp"]
let queue = DispatchQueue(label: "example.questions")
let ended = DispatchSemaphore(value: 0)
let deleted = Guarded([String]())

let cleaning = CallbackChain(files, name: "cleaning", on: .queue(queue)) { file in
    file.hasSuffix(".tmp") ? Choice.delete : .keep
} acting: { file, answer in
    // Without an answer nothing is deleted.
    if answer == .delete { deleted.withLock { $0.append(file) } }
    return .proceed
}
cleaning.setEndHandler { summary in
    print("\(summary.answered) answered, deleted: \(deleted.withLock { $0 })")
    ended.signal()
}
cleaning.start()
ended.wait()

// Prints:
// 4 answered, deleted: ["cache.tmp", "old.tmp"]
