// The disk cache keeps responses for the next run of the program. With the network gone it serves what is stored, fresh
// or stale, and a request that may not use the network fails at once.

import Foundation
import Inflight
import InflightTestSupport

// A server on this machine with a GIF of two by two pixels, so that this example needs no network.
let gif = Bytes(Data(base64Encoded: "R0lGODlhAgACAIAAAP8AAAAA/ywAAAAAAgACAAACAwQABQA7")!)
let server = try LoopbackServer()
server.serve("/fresh.gif", .ok(gif).field("Cache-Control", "max-age=3600"))
server.serve("/stale.gif", .ok(gif).field("Cache-Control", "max-age=0"))

let folder = FileManager.default.temporaryDirectory.appending(path: "inflight-\(UUID())")

/// A run of the program: loads images, and prints where they came from.
func run(_ name: String, _ policy: ImageRequest.CachePolicy, _ paths: [String]) async throws {
    let disk = DiskStore.Configuration(folder: folder.path, limit: 50_000_000)
    let pipeline = try ImagePipeline(configuration: .init(cache: disk))
    for path in paths {
        var request = ImageRequest(server.url(path))
        request.cachePolicy = policy
        do {
            let image = try await pipeline.image(for: request)
            print("\(name): \(path) from \(image.source)\(image.isStale ? ", stale" : "")")
        } catch { print("\(name): \(path) \(error.code)") }
    }
    // Returns when everything is written.
    await pipeline.shutdown(.finish)
}

try await run("first run", .obey, ["/fresh.gif", "/stale.gif"])
server.stop()
try await run("offline, prefer cached", .preferCached, ["/fresh.gif", "/stale.gif"])
try await run("offline, only cached", .onlyCached, ["/fresh.gif", "/stale.gif", "/other.gif"])
try FileManager.default.removeItem(at: folder)

// Prints:
// first run: /fresh.gif from network
// first run: /stale.gif from network
// offline, prefer cached: /fresh.gif from disk
// offline, prefer cached: /stale.gif from disk, stale
// offline, only cached: /fresh.gif from disk
// offline, only cached: /stale.gif notStored
// offline, only cached: /other.gif notStored
