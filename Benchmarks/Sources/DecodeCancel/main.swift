// Measures how soon a cancelled decode frees its thread, in milliseconds. Each file of a folder is decoded in process,
// at full size unless --width is given, and cancelled at moments spread over the time that a whole decode takes.
//
//     DecodeCancel FOLDER [--rounds N] [--width N]

import BenchmarkSupport
import Foundation
import Inflight
import InflightConcurrency

let options = Options(usage: "DecodeCancel FOLDER [--rounds N] [--width N]")
let rounds = options.number("--rounds", default: 20)
let resize = options.named("--width").map { _ in Resize(width: options.number("--width", default: 256)) }
let folder = URL(fileURLWithPath: options.value(0))
let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
let codecs = CodecRegistry.standard(.inProcess)

/// Decodes on a new thread. Returns the seconds since the start and since the cancellation, and whether the decode was
/// cancelled.
func decode(_ bytes: Bytes, cancelAfter delay: Double?) -> (took: Double, sinceCancel: Double, wasCancelled: Bool) {
    let cancellation = CancellationFlag()
    let ended = DispatchSemaphore(value: 0)
    let result = Guarded((end: 0.0, wasCancelled: false))
    let start = Usage.now().wall
    Thread.detachNewThread {
        var wasCancelled = false
        do throws(LoadError) {
            _ = try codecs.decode(bytes, options: DecodeOptions(resize: resize), cancellation: cancellation)
        } catch {
            guard error.code == .cancelled else { fatalError(error.message) }
            wasCancelled = true
        }
        let outcome = (end: Usage.now().wall, wasCancelled: wasCancelled)
        result.withLock { $0 = outcome }
        ended.signal()
    }
    var cancelled = start
    if let delay {
        usleep(UInt32(delay * 1e6))
        cancelled = Usage.now().wall
        cancellation.cancel()
    }
    ended.wait()
    let (end, wasCancelled) = result.withLock { $0 }
    return (end - start, end - cancelled, wasCancelled)
}

var sample = Sample()
for name in names {
    let bytes = Bytes([UInt8](try Data(contentsOf: folder.appendingPathComponent(name))))
    let whole = decode(bytes, cancelAfter: nil).took
    var waits: [Double] = []
    for round in 0..<rounds {
        let one = decode(bytes, cancelAfter: whole * (Double(round) + 0.5) / Double(rounds) * 0.95)
        if one.wasCancelled { waits.append(one.sinceCancel * 1000) }
    }
    waits.sort()
    guard let longest = waits.last else { fatalError("\(name): every decode finished before it was cancelled") }
    sample.add(name + "_whole", whole * 1000)
    sample.add(name + "_median", waits[waits.count / 2])
    sample.add(name + "_longest", longest)
    sample.add(name + "_count", waits.count)
}
sample.printAndExit()
