// Prefetches images for a scrolling list at the lowest priority. An image that is scrolled past within one turn of the
// list's queue is not requested.

import Dispatch
import Inflight

// PNG images in `data:` URLs, so that this example needs no network.
let png =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR42mP4z8AARAAI/gH/GcBr5wAAAABJRU5ErkJggg=="
let near = ImageRequest(png)
let far = ImageRequest(png, resize: Resize(width: 1))

let list = DispatchQueue(label: "example.list")
let pipeline = try ImagePipeline(configuration: .init())
let prefetcher = Prefetcher(pipeline: pipeline, destination: .memory, turn: .queue(.queue(list)))
list.sync {
    prefetcher.start([near, far])
    prefetcher.stop([far])
}
// The turn ends on the list's queue.
await withCheckedContinuation { done in list.async { done.resume() } }
print("\(prefetcher.statistics.sent) sent")

await pipeline.shutdown(.finish)
print("near: \(pipeline.cache[near] != nil), far: \(pipeline.cache[far] != nil)")

// Prints:
// 1 sent
// near: true, far: false
