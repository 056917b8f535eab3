// The core without any back end: a resize plan, and a cache for anything that takes memory. A program that depends on
// `InflightCore` alone needs no C library, neither to build nor to run.

import InflightCore

let plan = Resize(width: 320, height: 200, fit: .cover).plan(sourceWidth: 4000, sourceHeight: 3000)
print("scale to \(plan.scaledWidth) × \(plan.scaledHeight), keep \(plan.width) × \(plan.height)")

let cache = MemoryCache<String, [UInt8]>(configuration: MemoryCacheConfiguration(limit: 64 << 20))
let pixels = [UInt8](repeating: 0, count: plan.width * plan.height * 4)
cache.insert(pixels, for: "first", cost: pixels.count)
print("cached: \(cache.statistics.count) value of \(cache.statistics.cost) bytes, limit \(cache.limit)")
