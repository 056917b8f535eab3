// A download manager: an `OperationQueue` that runs two loads at once, blocks no thread, and starts a load when those
// that it depends on have finished. Compiled in Swift 5 mode.

import Foundation
import Inflight
import InflightFoundation
import InflightTestSupport

// A server on this machine, so that this example needs no network. It holds each photo back until it is released.
let server = try LoopbackServer()
server.serve("/album", .ok(Bytes("cat dog cow")))
server.serveOthers { .ok(Bytes("the photo \($0.path)")).held("photo") }

func load(_ path: String) -> LoadOperation<LoadedResponse> {
    LoadOperation(response: ImageRequest(server.url(path)), pipeline: .shared)
}

let downloads = OperationQueue()
downloads.maxConcurrentOperationCount = 2

let album = load("/album")
let photos = ["/cat", "/dog", "/cow", "/pig"].map(load)
for photo in photos { photo.addDependency(album) }

let report = BlockOperation {
    for photo in photos {
        switch photo.result {
        case .success(let response): print("\(response.body.count) bytes")
        case .failure(let error): print(error.code)
        case nil: print("not finished")
        }
    }
}
photos.forEach(report.addDependency)

downloads.addOperations([album], waitUntilFinished: false)
downloads.addOperations(photos, waitUntilFinished: false)
downloads.addOperation(report)

try server.blockUntilHeld("photo", count: 2)
print("after the album: \(photos.count(where: \.isExecuting)) of \(photos.count) photos in flight")
photos[3].cancel()
server.release("photo")
downloads.waitUntilAllOperationsAreFinished()

// Prints:
// after the album: 2 of 4 photos in flight
// 14 bytes
// 14 bytes
// 14 bytes
// cancelled
