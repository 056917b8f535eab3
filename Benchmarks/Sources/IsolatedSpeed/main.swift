// Runs the code of `inflight-decoder-vips` in this process. The difference to `DecodeSpeed --decoder` is the cost of
// the decoder processes.
//
//     IsolatedSpeed FOLDER [--width N] [--threads N] [--ms N]

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency
import InflightVips

let options = Options(usage: "IsolatedSpeed FOLDER [--width N] [--threads N] [--ms N]")
let width = options.number("--width", default: 256)
let threads = options.number("--threads", default: 2)
let seconds = Double(options.number("--ms", default: 2000)) / 1000
let folder = URL(fileURLWithPath: options.value(0))

let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
let pictures = try names.map { Bytes([UInt8](try Data(contentsOf: folder.appendingPathComponent($0)))) }
let codecs = CodecRegistry.standard(.inProcess)
let decodeOptions = DecodeOptions(resize: Resize(width: width))

Sample.throughput(threads: threads, seconds: seconds) { index in
    let bytes = pictures[index % pictures.count]
    do {
        let info = try codecs.info(of: bytes)
        _ = try VipsDecoder().decode(
            bytes, format: info.format, info: info, options: decodeOptions, cancellation: CancellationFlag())
    } catch {
        fatalError("\(error)")
    }
}.printAndExit()
