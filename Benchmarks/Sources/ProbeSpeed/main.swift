// Measures the CPU time of probing format and size of an image, in microseconds for each file of a folder, on one
// thread.
//
//     ProbeSpeed FOLDER [--ms N]

import BenchmarkSupport
import Foundation
import Inflight

let options = Options(usage: "ProbeSpeed FOLDER [--ms N]")
let seconds = Double(options.number("--ms", default: 200)) / 1000
let folder = URL(fileURLWithPath: options.value(0))
let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
let codecs = CodecRegistry.standard(.inProcess)

var sample = Sample()
for name in names {
    let bytes = Bytes([UInt8](try Data(contentsOf: folder.appendingPathComponent(name))))
    var count = 0
    let start = Usage.now()
    while Usage.now().wall - start.wall < seconds {
        // Read the clock only every 100 probes, so that its cost does not count.
        for _ in 0..<100 {
            do {
                guard case .info = try codecs.probe(bytes, isComplete: true) else { fatalError("\(name) is truncated") }
            } catch {
                fatalError(error.message)
            }
        }
        count += 100
    }
    sample.add(name, (Usage.now() - start).cpu / Double(count) * 1e6)
}
sample.printAndExit()
