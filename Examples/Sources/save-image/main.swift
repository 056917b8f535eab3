// Saves an image: downloads it, decodes it to half its size, and writes it as PNG, with the unchanged file beside it.

import Foundation
import Inflight
import InflightTestSupport

// A server on this machine with a JPEG of 64 × 48 pixels, so that this example needs no network.
let memory = Bytes([UInt8](repeating: 255, count: 64 * 48 * 4))
let white = PixelBuffer(width: 64, height: 48, format: .rgbx, bytes: memory)
let jpeg = try ImagePipeline.shared.codecs.encode(white, options: EncodeOptions(format: .jpeg))
let server = try LoopbackServer()
server.serve("/photo.jpg", .ok(jpeg, type: "image/jpeg"))

let folder = FileManager.default.temporaryDirectory.appending(path: "inflight-\(UUID())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

func save(_ path: String) async throws {
    let request = ImageRequest(server.url(path), resize: Resize(width: 32))
    do throws(LoadError) {
        let image = try await ImagePipeline.shared.image(for: request)
        // The extension names the format. An existing file is replaced atomically.
        try image.write(to: folder.appending(path: "thumbnail.png"))
    } catch {
        // `error.message` says what happened and what to do.
        return print("\(path) not saved: \(error.code), status \(error.status ?? 0)")
    }
    let original = try await ImagePipeline.shared.data(for: server.url(path))
    try original.write(to: folder.appending(path: "original.jpg"))
}

try await save("/photo.jpg")
try await save("/missing.jpg")
for name in ["thumbnail.png", "original.jpg"] {
    let saved = try await ImagePipeline.shared.image(for: folder.appending(path: name))
    print("\(name): \(saved.info.format), \(saved.width) × \(saved.height), from a \(saved.source)")
}
try FileManager.default.removeItem(at: folder)

// Prints:
// /missing.jpg not saved: badStatus, status 404
// thumbnail.png: png, 32 × 24, from a file
// original.jpg: jpeg, 64 × 48, from a file
