// Measures the time from `cancel()` to the last callback and to the end of the transfer.
//
//     CancelLatency [ROUNDS]
//
// - On the task's serial callback queue: the duration of `cancel()`, because no callback starts after it.
// - From another thread: the time until the last callback that had passed its gate has started.
// - The end of the transfer: three tasks share one response, which the server stops sending halfway. Measured from the
//   third `cancel()` until the server sees the connection close.

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

/// Loads an endless response, cancels it after 50 progress callbacks, and returns the time to the last callback.
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
