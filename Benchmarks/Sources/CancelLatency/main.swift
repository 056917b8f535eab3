// How soon a cancel is followed by silence, and by the end of its transfer.
//
//     CancelLatency [ROUNDS]
//
// - To silence, on the task's own serial callback queue: how long `cancel()` takes, for nothing starts after it.
// - To silence, from another thread: until the last callback that had passed its gate has begun.
// - To the end of the transfer: three tasks wait for one answer that the server holds back half way; from the third
//   `cancel()` to the close of the connection, as the server sees it.

import BenchmarkSupport
import Dispatch
import Inflight
import InflightConcurrency
import InflightTestSupport

let rounds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 200

let server = try LoopbackServer()
let pipeline = try ImagePipeline(configuration: ImagePipeline.Configuration())
let queue = DispatchQueue(label: "callbacks")
let clock = SystemClock()
let body = Bytes([UInt8](repeating: 7, count: 10_000))

extension Sample {
    mutating func add(_ name: String, spreadOf values: [Double]) {
        let sorted = values.sorted()
        guard let last = sorted.last else { return }
        add(name + "_median", sorted[sorted.count / 2])
        add(name + "_p99", sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
        add(name + "_longest", last)
    }
}

func microseconds(_ duration: Duration) -> Double { Double(duration.saturatedNanoseconds) / 1e3 }

/// An answer without an end, whose progress is told as quickly as it is heard; cancelled after 50 callbacks.
func silence(onQueue: Bool) -> Double {
    let latest = Guarded((count: 0, time: MonotonicTime.zero))
    let isFlowing = DispatchSemaphore(value: 0)
    var request = ImageRequest(server.url("/endless"))
    request.limits.maximumBodyBytes = .max
    let task = pipeline.loadResponse(
        request, on: .queue(queue),
        progress: { _, _ in
            let now = clock.now()
            let count = latest.withLock { latest in
                latest = (latest.count + 1, now)
                return latest.count
            }
            if count == 50 { isFlowing.signal() }
        }, completion: { _, _ in })
    isFlowing.wait()
    if onQueue {
        return queue.sync {
            let start = clock.now()
            task.cancel()
            return microseconds(clock.now() - start)
        }
    }
    let start = clock.now()
    task.cancel()
    let returned = clock.now()
    queue.sync {}
    return microseconds(max(returned, latest.withLock { $0.time }) - start)
}

server.serve("/endless", .endless())
var (onQueue, elsewhere): ([Double], [Double]) = ([], [])
for _ in 0..<rounds {
    onQueue.append(silence(onQueue: true))
    elsewhere.append(silence(onQueue: false))
}
server.forgetRecords()

var transfers: [Double] = []
for round in 0..<rounds {
    let path = "/\(round).jpg"
    server.serve(path, .ok(body, type: "image/jpeg").held(path, after: body.count / 2))
    let tasks = (0..<3).map { _ in
        pipeline.loadResponse(ImageRequest(server.url(path)), on: .queue(queue)) { _, _ in }
    }
    try server.blockUntilHeld(path)
    tasks[0].cancel()
    tasks[1].cancel()
    let start = clock.now()
    tasks[2].cancel()
    try server.blockUntilClosedByPeer(path)
    guard let event = server.events.last(where: { $0.kind == .closedByPeer && $0.path == path }) else { continue }
    transfers.append(microseconds(event.time - start) / 1e3)
    server.forgetRecords()
}

var sample = Sample()
sample.add("rounds", transfers.count)
sample.add("queue", spreadOf: onQueue)
sample.add("elsewhere", spreadOf: elsewhere)
sample.add("transfer", spreadOf: transfers)
sample.printAndExit()
