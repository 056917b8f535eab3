// The core without any back end: a pipeline with the transport of `data:` URLs, a resize plan, and a cache for anything
// that takes memory. A program that depends on `InflightCore` alone needs no C library, neither to build nor to run.

import InflightCore

let pipeline = try ImagePipeline(
    configuration: .init(transports: [.owned { _ in DataURLTransport() }], codecs: CodecRegistry([])))
let response = try await pipeline.response(for: "data:text/plain;base64,aW5mbGlnaHQ=")
print("loaded: \(String(decoding: response.body.array, as: UTF8.self)), \(response.head.fields["Content-Type"] ?? "")")
do {
    _ = try await pipeline.data(for: "https://example.org/cat.jpg")
} catch { print("without a transport for it: \(error.code)") }

let plan = Resize(width: 320, height: 200, fit: .cover).plan(sourceWidth: 4000, sourceHeight: 3000)
print("scale to \(plan.scaledWidth) × \(plan.scaledHeight), keep \(plan.width) × \(plan.height)")

let cache = MemoryCache<String, [UInt8]>(configuration: MemoryCacheConfiguration(limit: 64 << 20))
let pixels = [UInt8](repeating: 0, count: plan.width * plan.height * 4)
cache.insert(pixels, for: "first", cost: pixels.count)
print("cached: \(cache.statistics.count) value of \(cache.statistics.cost) bytes, limit \(cache.limit)")

// Prints:
// loaded: inflight, text/plain
// without a transport for it: unsupportedScheme
// scale to 320 × 240, keep 320 × 200
// cached: 1 value of 256000 bytes, limit 67108864
