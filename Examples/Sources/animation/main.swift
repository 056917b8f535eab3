// An animation's frames as they come due, and one frame by itself. No frame is decoded before it is needed.

import Inflight

// Three frames of two by two pixels in a `data:` URL, played twice, so that this example needs no network.
let url =
    "data:image/gif;base64,R0lGODlhAgACAIAAAP8AAAAA/yH/C05FVFNDQVBFMi4wAwEBAAAh+QQEFAAAACwAAAAAAgACAAACBARBEAUA"
    + "IfkEBAoAAAAsAQAAAAEAAQAAAgJMAQAh+QQEHgAAACwAAAEAAQABAAACAkwBADs="
let animation = try await ImagePipeline.shared.animation(for: ImageRequest(url))
print("\(animation.frameCount) frames, \(animation.info.duration) in all, \(animation.info.loopCount ?? 0) times")

// Each frame arrives when the one before has been shown for its duration, on the pipeline's clock.
for try await frame in animation {
    print("frame \(frame.index) for \(frame.duration)")
}

// Any frame is available directly, as a complete image, whichever part of it the file stores.
let last = try await animation.frame(at: 2)
print("\(last.pixels.width) × \(last.pixels.height), its first pixel \(last.pixels.bytes.array.prefix(4))")

// Prints:
// 3 frames, 0.6 seconds in all, 2 times
// frame 0 for 0.2 seconds
// frame 1 for 0.1 seconds
// frame 2 for 0.3 seconds
// frame 0 for 0.2 seconds
// frame 1 for 0.1 seconds
// frame 2 for 0.3 seconds
// 2 × 2, its first pixel [255, 0, 0, 255]
