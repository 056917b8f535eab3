// Measures the throughput of decoding images in memory to a width, on several threads.
//
//     DecodeSpeed FOLDER [--width N] [--threads N] [--ms N] [--dump FOLDER] [--decoder PROGRAM]
//
// --decoder uses that program's decoder processes. --dump decodes each image once and writes it as PPM, for measuring
// quality.

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency

let options = Options(
    usage: "DecodeSpeed FOLDER [--width N] [--threads N] [--ms N] [--dump FOLDER] [--decoder PROGRAM]")
let width = options.number("--width", default: 256)
let threads = options.number("--threads", default: 2)
let seconds = Double(options.number("--ms", default: 2000)) / 1000
let folder = URL(fileURLWithPath: options.value(0))

let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
let pictures = try names.map { Bytes([UInt8](try Data(contentsOf: folder.appendingPathComponent($0)))) }
let decoder = options.named("--decoder")
let codecs = CodecRegistry.standard(decoder == nil ? .inProcess : .worker, DecoderConfiguration(path: decoder))
let decodeOptions = DecodeOptions(resize: Resize(width: width))

@Sendable func decode(_ bytes: Bytes) -> PixelBuffer {
    do {
        return try codecs.decode(bytes, options: decodeOptions, cancellation: CancellationFlag()).0
    } catch {
        fatalError(error.message)
    }
}

if let target = options.named("--dump") {
    for (name, bytes) in zip(names, pictures) {
        let pixels = decode(bytes)
        var file = Data("P6 \(pixels.width) \(pixels.height) 255\n".utf8)
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                let at = y * pixels.bytesPerRow + x * 4
                for channel in 0..<3 { file.append(pixels.bytes[at + channel]) }
            }
        }
        try file.write(to: URL(fileURLWithPath: target).appendingPathComponent(name + ".ppm"))
    }
    exit(0)
}

Sample.throughput(threads: threads, seconds: seconds) { index in
    _ = decode(pictures[index % pictures.count])
}.printAndExit()
