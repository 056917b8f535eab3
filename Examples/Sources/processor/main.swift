// A custom processor. Its identity names the transform with its parameters, so equal processors share one result, and
// it checks for cancellation once per row.

import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport

/// Reduces each colour to a few levels.
struct Posterize: ImageProcessing {
    let levels: Int

    var identity: String { "posterize(levels: \(levels))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let step = 255 / Double(levels - 1)
        let table = (0...255).map { UInt8((Double($0) / step).rounded() * step) }
        return try PixelBuffer(width: pixels.width, height: pixels.height, format: pixels.format) {
            (target) throws(LoadError) in
            for y in 0..<pixels.height {
                if cancellation.isCancelled {
                    throw LoadError(.cancelled, stage: .process, message: "Processing was cancelled.")
                }
                for x in 0..<pixels.width * 4 {
                    let value = pixels.bytes[y * pixels.bytesPerRow + x]
                    // The fourth byte is alpha.
                    target[y * pixels.width * 4 + x] = x % 4 == 3 ? value : table[Int(value)]
                }
            }
        }
    }
}

extension ImageProcessor {
    static func posterize(levels: Int) -> ImageProcessor { ImageProcessor(Posterize(levels: levels)) }
}

let pixels = PixelBuffer(
    width: 2, height: 1, bytesPerRow: 8, format: .rgba, bytes: Bytes([0, 40, 90, 255, 140, 200, 255, 99]))
let photo = ImageRequest.Source("photo") { .image(pixels) }
var request = ImageRequest(source: photo)
request.processors = [.posterize(levels: 3), .flip(.horizontal)]
let image = try await ImagePipeline.shared.image(for: request)
print(image.pixels.bytes.array)

// The same steps are found in memory.
print(try await ImagePipeline.shared.image(for: request).source)

let failures = await ProcessorConformance { Posterize(levels: 4) }.run()
print("violations of the contract: \(failures)")

// Prints:
// [127, 255, 255, 99, 0, 0, 127, 255]
// memory
// violations of the contract: []
