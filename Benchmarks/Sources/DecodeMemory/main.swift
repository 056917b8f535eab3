// Measures the peak resident memory of decoding one image to a width, beyond the memory that was resident before. The
// file is read into memory first.
//
//     DecodeMemory FILE [--width N]

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency

let options = Options(usage: "DecodeMemory FILE [--width N]")
let width = options.number("--width", default: 256)
let bytes = Bytes([UInt8](try Data(contentsOf: URL(fileURLWithPath: options.value(0)))))
let codecs = CodecRegistry.standard(.inProcess)

let start = Usage.now()
guard ProcessSize.resetPeak() else { fatalError("the kernel does not allow resetting the peak of resident memory") }
let before = ProcessSize.now()
do {
    let (pixels, info) = try codecs.decode(
        bytes, options: DecodeOptions(resize: Resize(width: width)), cancellation: CancellationFlag())
    let after = ProcessSize.now()
    let used = Usage.now() - start
    var sample = Sample()
    sample.add("beyond", Double(after.peakBytes - before.residentBytes) / 1_000_000)
    sample.add("before", Double(before.residentBytes) / 1_000_000)
    sample.add("file", Double(bytes.count) / 1_000_000)
    sample.add("megapixels", Double(info.width * info.height) / 1_000_000)
    sample.add("height", pixels.height)
    sample.add("cpu", used.cpu)
    sample.printAndExit()
} catch {
    fatalError(error.message)
}
