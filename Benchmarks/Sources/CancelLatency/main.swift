// From the `cancel()` of a load's last waiter to the close of its connection, as the server sees it.
//
//     CancelLatency [ROUNDS]
//
// Three tasks wait for one answer that the server holds back half way; the third cancel is timed.

import BenchmarkSupport
import Dispatch
import Inflight
import InflightTestSupport

let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 200

let server = try LoopbackServer()
let pipeline = try ImagePipeline(configuration: ImagePipeline.Configuration())
let queue = DispatchQueue(label: "callbacks")
let clock = SystemClock()
let body = Bytes([UInt8](repeating: 7, count: 10_000))

var latencies: [Double] = []
for round in 0..<rounds {
    let path = "/\(round).jpg"
    server.serve(path, .ok(body, type: "image/jpeg").held(path, after: body.count / 2))
    let tasks = (0..<3).map { _ in
        pipeline.loadResponse(ImageRequest(server.url(path)), on: .queue(queue)) { _, _ in }
    }
    try server.waitUntilHeld(path)
    tasks[0].cancel()
    tasks[1].cancel()
    let start = clock.now()
    tasks[2].cancel()
    try server.waitUntilClosedByPeer(path)
    guard let event = server.events.last(where: { $0.kind == .closedByPeer && $0.path == path }) else { continue }
    latencies.append(Double((event.time - start).saturatedNanoseconds) / 1e6)
    server.forgetRecords()
}

latencies.sort()
var sample = Sample()
sample.add("rounds", latencies.count)
sample.add("median", latencies[latencies.count / 2])
sample.add("p99", latencies[min(latencies.count - 1, latencies.count * 99 / 100)])
sample.add("longest", latencies[latencies.count - 1])
sample.printAndExit()
