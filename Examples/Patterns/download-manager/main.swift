// A download manager in five lines: two loads at once, in the order they were added, and no load blocks a thread.

import Foundation
import Inflight

let urls = ["data:,cat", "data:,horse", "data:,no%20picture", "not a URL"]

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 2
let loads = urls.map { LoadOperation(response: ImageRequest($0), pipeline: .shared) }
queue.addOperations(loads, waitUntilFinished: true)
for load in loads {
    switch load.result {
    case .success(let response): print("\(response.body.count) bytes")
    case .failure(let error): print(error.code)
    case nil: print("not finished")
    }
}

// Prints:
// 3 bytes
// 5 bytes
// 10 bytes
// invalidURL
