// Measures the peak resident memory of decoding one image to a width, beyond the memory that was resident before, of
// this process and of a decoder process, and compares it with the codec's estimate. The file is read into memory first.
// INFLIGHT_DECODER names the decoder program.
//
//     DecodeMemory FILE [--width N]

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency

let options = Options(usage: "DecodeMemory FILE [--width N]")
let width = options.number("--width", default: 256)
let bytes = Bytes([UInt8](try Data(contentsOf: URL(fileURLWithPath: options.value(0)))))
var decoder = DecoderConfiguration()
decoder.drawsSVG = true
decoder.maximumMemory = 16 << 30
let codecs = CodecRegistry.standard(.auto, decoder)
var decoding = DecodeOptions(resize: width > 0 ? Resize(width: width) : nil)
decoding.maximumMemory = .max

/// The peak resident memory of the child process, in bytes; 0 if there is none.
func childPeak() -> Int {
    guard let tasks = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") else { return 0 }
    let children = tasks.flatMap { task in
        ((try? String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8)) ?? "").split(separator: " ")
    }
    let peaks = children.map { child -> Int in
        let status = (try? String(contentsOfFile: "/proc/\(child)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 } ?? 0
    }
    return peaks.max() ?? 0
}

let start = Usage.now()
guard ProcessSize.resetPeak() else { fatalError("the kernel does not allow resetting the peak of resident memory") }
let before = ProcessSize.now()
do {
    let (pixels, info) = try codecs.decode(
        bytes, options: decoding, cancellation: CancellationFlag())
    let child = childPeak()
    let after = ProcessSize.now()
    let used = Usage.now() - start
    var sample = Sample()
    sample.add("beyond", Double(after.peakBytes - before.residentBytes) / 1_000_000)
    sample.add("before", Double(before.residentBytes) / 1_000_000)
    sample.add("file", Double(bytes.count) / 1_000_000)
    sample.add("megapixels", Double(info.width * info.height) / 1_000_000)
    sample.add("height", pixels.height)
    sample.add("child", Double(child) / 1_000_000)
    sample.add("estimate", Double(try codecs.memoryNeeded(bytes, options: decoding)) / 1_000_000)
    sample.add("cpu", used.cpu)
    sample.printAndExit()
} catch {
    fatalError(error.message)
}
