// Previews of an image while it loads, and a GIF frame by frame. No frame is decoded before it is needed.

import Inflight
import InflightTestSupport

// A progressive JPEG with noise, so that it is large enough for previews. The server on this machine holds its second
// half back until it is released.
var noise = SystemRandomNumberGenerator()
let pixels = PixelBuffer(
    width: 64, height: 64, format: .rgbx,
    bytes: Bytes((0..<64 * 64 * 4).map { _ in UInt8.random(in: 0...255, using: &noise) }))
var options = EncodeOptions(format: .jpeg)
options.isProgressive = true
let jpeg = try ImagePipeline.shared.codecs.encode(pixels, options: options)
let server = try LoopbackServer()
server.serve("/photo.jpg", .ok(jpeg).held("half", after: jpeg.count / 2))

var request = ImageRequest(server.url("/photo.jpg"))
request.previews = ImageRequest.PreviewOptions(interval: .zero)
var hasPreview = false
for await event in ImagePipeline.shared.events(for: request) {
    switch event {
    case .preview(let preview):
        if !hasPreview { print("a preview of \(preview.pixels.width) × \(preview.pixels.height)") }
        hasPreview = true
        server.release("half")
    case .success(let image): print("the image of \(image.width) × \(image.height)")
    case .failure(let error): print(error.message)
    case .progress, .stale: break
    }
}

// Three frames of two by two pixels, played twice.
let gif =
    "data:image/gif;base64,R0lGODlhAgACAIAAAP8AAAAA/yH/C05FVFNDQVBFMi4wAwEBAAAh+QQEFAAAACwAAAAAAgACAAACBARBEAUA"
    + "IfkEBAoAAAAsAQAAAAEAAQAAAgJMAQAh+QQEHgAAACwAAAEAAQABAAACAkwBADs="
let animation = try await ImagePipeline.shared.animation(for: ImageRequest(gif))
print("\(animation.frameCount) frames, \(animation.info.duration) in all, \(animation.info.loopCount ?? 0) times")

// Each frame arrives when the one before has been shown for its duration, on the pipeline's clock.
for try await frame in animation {
    print("frame \(frame.index) for \(frame.duration)")
}

// Any frame is available directly, as a complete image, whichever part of it the file stores.
let last = try await animation.frame(at: 2)
print("\(last.pixels.width) × \(last.pixels.height), its first pixel \(last.pixels.bytes.array.prefix(4))")

// Prints:
// a preview of 64 × 64
// the image of 64 × 64
// 3 frames, 0.6 seconds in all, 2 times
// frame 0 for 0.2 seconds
// frame 1 for 0.1 seconds
// frame 2 for 0.3 seconds
// frame 0 for 0.2 seconds
// frame 1 for 0.1 seconds
// frame 2 for 0.3 seconds
// 2 × 2, its first pixel [255, 0, 0, 255]
