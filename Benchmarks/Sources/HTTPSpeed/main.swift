// Measures wall time and CPU time of loading many small files into memory, by default 64 at a time.
//
//     HTTPSpeed BASE COUNT [--tasks N] [--at-once N] [--cacert FILE]
//
// Loads COUNT files: BASE/00000.jpg, BASE/00001.jpg, … With --tasks it enqueues N tasks for each file before the first
// request is sent: until then, requests over a manually driven transport occupy every slot.

import BenchmarkSupport
import Dispatch
import Inflight
import InflightTestSupport

let options = Options(usage: "HTTPSpeed BASE COUNT [--tasks N] [--at-once N] [--cacert FILE]")
let base = options.value(0)
let count = options.number(1)
let tasks = options.number("--tasks", default: 1)
let isHeld = options.named("--tasks") != nil
let atOnce = options.number("--at-once", default: 64)

// The text is written digit by digit, because its cost counts as the library's.
let urlStart = Array((base + "/").utf8)
let urlEnd = Array(".jpg".utf8)

func url(_ index: Int) -> String {
    let digits = max(5, String(index).utf8.count)
    return unsafe String(unsafeUninitializedCapacity: urlStart.count + digits + urlEnd.count) { text in
        _ = unsafe text.update(fromContentsOf: urlStart)
        var rest = index
        for place in (urlStart.count..<urlStart.count + digits).reversed() {
            unsafe text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        _ = unsafe text[(urlStart.count + digits)...].update(fromContentsOf: urlEnd)
        return text.count
    }
}

var curl = CurlTransport.Configuration()
curl.caFile = options.named("--cacert")
var configuration = ImagePipeline.Configuration(curl: curl)
configuration.maximumConcurrentFetches = atOnce
// Over HTTP/2 the engine opens one connection with up to this many streams.
configuration.maximumConcurrentFetchesPerOrigin = atOnce
configuration.maximumStreamsPerOrigin = atOnce
let holding = ScriptedTransport(.manual, schemes: ["held"], records: false)
holding.serveOthers { _ in .ok(.empty) }
if isHeld { configuration.transports.append(.shared(holding)) }
let pipeline = try ImagePipeline(configuration: configuration)
let queue = DispatchQueue(label: "callbacks")
let tally = ResultCollector(count * tasks)

if isHeld {
    for index in 0..<atOnce {
        pipeline.loadResponse(ImageRequest("held://place/\(index)"), on: .queue(queue)) { _, _ in }
    }
}
let before = Usage.now()
for index in 0..<count {
    let request = ImageRequest(url(index))
    for _ in 0..<tasks {
        pipeline.loadResponse(request, on: .queue(queue)) { _, result in tally.take(result) }
    }
}
holding.finishAll()
tally.wait()
let used = Usage.now() - before

if let error = tally.failures.first { print("\(tally.failures.count) failed: \(error.message)") }
var sample = Sample()
sample.add("loads", count * tasks)
sample.add("exchanges", pipeline.statistics.exchanges - (isHeld ? atOnce : 0))
sample.add("bytes", tally.bodies.reduce(0) { $0 + $1.count })
sample.add("seconds", used.wall)
sample.add("cpu", used.cpu)
sample.printAndExit(failed: !tally.failures.isEmpty)
