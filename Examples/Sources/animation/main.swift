// An animation: its frames as they come at their time, and one frame by itself. Nothing is decoded before it is wanted.

import Inflight

// Three frames of two by two pixels in a URL, which are shown twice: this example needs no network.
let url =
    "data:image/gif;base64,R0lGODlhAgACAIAAAP8AAAAA/yH/C05FVFNDQVBFMi4wAwEBAAAh+QQEFAAAACwAAAAAAgACAAACBARBEAUA"
    + "IfkEBAoAAAAsAQAAAAEAAQAAAgJMAQAh+QQEHgAAACwAAAEAAQABAAACAkwBADs="
let animation = try await ImagePipeline.shared.animation(for: ImageRequest(url))
print("\(animation.frameCount) frames, \(animation.info.duration) in all, \(animation.info.loopCount ?? 0) times")

// Each comes when the one before was shown for its time, on the pipeline's clock.
for try await frame in animation {
    print("frame \(frame.index) for \(frame.duration)")
}

// Any frame, at once: as a whole picture, whatever its file keeps of it.
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
