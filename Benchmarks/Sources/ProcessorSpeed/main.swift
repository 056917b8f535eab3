// Measures the CPU time of each processor on one core, in nanoseconds per source pixel.
//
//     ProcessorSpeed [--width N] [--height N] [--ms N]

import BenchmarkSupport
import Inflight
import InflightConcurrency

let options = Options(usage: "ProcessorSpeed [--width N] [--height N] [--ms N]")
let width = options.number("--width", default: 1280)
let height = options.number("--height", default: 960)
let seconds = Double(options.number("--ms", default: 300)) / 1000

func picture(_ format: PixelBuffer.Format) -> PixelBuffer {
    let isOpaque = format.alpha == .opaque
    var bytes: [UInt8] = []
    bytes.reserveCapacity(width * height * 4)
    for y in 0..<height {
        for x in 0..<width {
            bytes += [x, y, x ^ y].map { UInt8(truncatingIfNeeded: $0) }
            bytes.append(isOpaque ? 255 : UInt8(truncatingIfNeeded: x + y))
        }
    }
    return PixelBuffer(width: width, height: height, bytesPerRow: width * 4, format: format, bytes: Bytes(bytes))
}

let opaque = picture(.rgbx)
let clear = picture(.rgba)
// The peers print the same names.
let steps: [(name: String, source: PixelBuffer, processor: ImageProcessor)] = [
    ("resize", opaque, .resize(width: width / 4)), ("blur2", opaque, .blur(radius: 2)),
    ("blur4", opaque, .blur(radius: 4)),
    ("blur20", opaque, .blur(radius: 20)), ("sharpen", opaque, .sharpen(amount: 0.5, radius: 1)),
    ("grey", opaque, .grey),
    ("adjust", opaque, .adjust(brightness: 1.2, contrast: 1.1)), ("quarter", opaque, .rotate(degrees: 90)),
    ("rotate", opaque, .rotate(degrees: 30)), ("flip", opaque, .flip(.horizontal)), ("flatten", clear, .flatten()),
    ("round", opaque, .roundCorners(radius: 40)), ("circle", opaque, .circle()),
]

func run(_ processor: ImageProcessor, _ source: PixelBuffer) {
    do {
        _ = try processor.process(source, cancellation: CancellationFlag())
    } catch {
        fatalError(error.message)
    }
}

var sample = Sample()
for step in steps {
    run(step.processor, step.source)
    var count = 0
    let start = Usage.now()
    while Usage.now().wall - start.wall < seconds {
        run(step.processor, step.source)
        count += 1
    }
    sample.add(step.name, (Usage.now() - start).cpu / Double(count * width * height) * 1e9)
}
sample.printAndExit()
