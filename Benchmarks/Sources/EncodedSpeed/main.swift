// Measures the CPU time of `pipeline.encoded(for:as:)` when the file is in memory, beside an encode of the image in
// memory, which it saves a service for each request.
//
//     EncodedSpeed FILE [--width N] [--count N]

import BenchmarkSupport
import Foundation
import Inflight

let options = Options(usage: "EncodedSpeed FILE [--width N] [--count N]")
let width = options.number("--width", default: 320)
let count = options.number("--count", default: 300)

let bytes = Bytes([UInt8](try Data(contentsOf: URL(fileURLWithPath: options.value(0)))))

let pipeline = try ImagePipeline(configuration: .init())
let source = ImageRequest.Source("the file") { [bytes] in .bytes(bytes) }
let request = ImageRequest(source: source, resize: Resize(width: width))
let webp = EncodeOptions(format: .webp)

/// Returns the CPU time of one call in microseconds, of all threads.
func cost(_ body: () async throws -> Void) async throws -> Double {
    let start = Usage.now()
    for _ in 0..<count { try await body() }
    return (Usage.now() - start).cpu / Double(count) * 1e6
}

_ = try await pipeline.encoded(for: request, as: webp)
let file = try await cost { _ = try await pipeline.encoded(for: request, as: webp) }
let encode = try await cost {
    _ = try pipeline.codecs.encode(try await pipeline.image(for: request).pixels, options: webp)
}

var sample = Sample()
sample.add("from_memory_us", file)
sample.add("encoded_again_us", encode)
sample.printAndExit()
