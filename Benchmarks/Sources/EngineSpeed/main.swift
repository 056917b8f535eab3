// Measures the engine on a transport without a network: the CPU time of a task, and the memory of a queued one.
//
//     swift run -c release --package-path Benchmarks EngineSpeed [tasks] [rounds] [--alone|--speed]
//
// All tasks are queued at once. A hundred thousand fill a hundred megabytes, far more than a processor's caches, so
// that each takes longer than one of a few thousand. With --alone, measures only the engine without a network; with
// --speed, everything but memory and coalescing.
//
// Pin it to one core with `taskset -c 0` for single-core figures. Requests are created beforehand. The measured time
// covers adding, running and finishing a task, and its callback.

import Dispatch
import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport

let taskCount = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 100_000
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 9

func cpuSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func residentBytes() -> Int {
    var text = [CChar](repeating: 0, count: 128)
    guard let file = unsafe fopen("/proc/self/statm", "r") else { return 0 }
    defer { unsafe fclose(file) }
    guard unsafe fgets(&text, 128, file) != nil else { return 0 }
    let line = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let pages = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

func report(_ name: String, _ values: [Double], unit: String) {
    let sorted = values.sorted()
    func shown(_ value: Double) -> String {
        value >= 100 ? String(Int(value.rounded())) : String((value * 100).rounded() / 100)
    }
    print("\(name): median \(shown(median(values))) \(unit) (\(shown(sorted.first ?? 0)) … \(shown(sorted.last ?? 0)))")
}

/// Counts callbacks on their queue, and waits for the last one.
// Unchecked: touched only on the serial callback queue.
final class Countdown: @unchecked Sendable {
    private var left: Int
    private let done = DispatchSemaphore(value: 0)

    init(_ count: Int) {
        left = count
    }

    func step() {
        left -= 1
        if left == 0 { done.signal() }
    }

    func wait() {
        done.wait()
    }
}

func makePipeline(_ transport: some Transport) throws -> ImagePipeline {
    var configuration = ImagePipeline.Configuration(transports: [.shared(transport)], codecs: CodecRegistry([]))
    configuration.memoryCache.reactsToMemoryPressure = false
    return try ImagePipeline(configuration: configuration)
}

let queue = DispatchQueue(label: "callbacks")
let body = Bytes([UInt8](repeating: 7, count: 100))
let requests = (0..<taskCount).map { ImageRequest("https://images.example.org/pictures/\($0).jpg") }

/// Adds `times` tasks for each of `requests`, and waits until all have completed.
func run(_ pipeline: ImagePipeline, _ requests: [ImageRequest], times: Int = 1) {
    let countdown = Countdown(requests.count * times)
    for request in requests {
        for _ in 0..<times {
            pipeline.loadResponse(request, on: .queue(queue)) { _, _ in countdown.step() }
        }
    }
    countdown.wait()
}

/// A callback queue that runs on the caller's thread, so that only the engine is timed.
// Unchecked: touched only by the one thread of this measurement.
final class ManualCallbackExecutor: CallbackExecutor, @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []

    func submit(_ work: @escaping @Sendable () -> Void) {
        self.work.append(work)
    }

    var isCurrent: Bool { true }

    /// Runs all submitted work. Returns the number of closures.
    func run() -> Int {
        let now = work
        work.removeAll(keepingCapacity: true)
        for item in now { item() }
        return now.count
    }
}

/// A transport without a network that does as little as one can: it answers all exchanges when told to, with one head
/// and one body. Ends are delivered together, as libcurl's event loop does.
// Unchecked: touched only by the one thread of this measurement.
final class InstantTransport: Transport, Transfer, @unchecked Sendable {
    let schemes: Set<String> = ["https"]
    private let head = ResponseHead(status: 200)
    private var waiting: [any TransportReceiver] = []
    private var endings: [TransportEnding] = []

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        waiting.append(receiver)
        return self
    }

    func finishAll() {
        let receivers = waiting
        waiting.removeAll(keepingCapacity: true)
        unsafe body.withUnsafeBytes { bytes in
            for receiver in receivers {
                _ = receiver.didReceive(head, expectedBytes: Int64(bytes.count))
                _ = unsafe receiver.didReceive(bytes, at: 0)
                let summary = TransportSummary(wireBytes: Int64(bytes.count), bodyBytes: Int64(bytes.count))
                endings.append(TransportEnding(receiver: receiver, result: .success(summary)))
            }
        }
        TransportEnding.deliver(endings)
        endings.removeAll(keepingCapacity: true)
    }

    func cancel() {}
    func resume() {}
    func shutdown() async {}
}

// Measures the engine alone: this thread runs transport and callback queue.
func runAlone(_ pipeline: ImagePipeline, _ transport: InstantTransport, _ hand: ManualCallbackExecutor) {
    for request in requests { pipeline.loadResponse(request, on: .executor(hand)) { _, _ in } }
    var ended = 0
    while ended < requests.count {
        transport.finishAll()
        ended += hand.run()
    }
}

let byHand = InstantTransport()
let alonePipeline = try makePipeline(byHand)
let hand = ManualCallbackExecutor()
runAlone(alonePipeline, byHand, hand)
var alone: [Double] = []
for _ in 0..<rounds {
    let start = cpuSeconds()
    runAlone(alonePipeline, byHand, hand)
    alone.append(cpuSeconds() - start)
}
report(
    "engine alone, one thread, \(taskCount) tasks at once", alone.map { Double(taskCount) / $0 },
    unit: "tasks per second of CPU")

if CommandLine.arguments.contains("--alone") { exit(0) }

let transport = ScriptedTransport(.automatic, records: false)
transport.serveOthers { _ in .ok(body) }
let pipeline = try makePipeline(transport)
run(pipeline, Array(requests.prefix(10_000)))

var wall: [Double] = []
var cpu: [Double] = []
for _ in 0..<rounds {
    let clock = SystemClock()
    let (startWall, startCPU) = (clock.now(), cpuSeconds())
    run(pipeline, requests)
    wall.append(Double((clock.now() - startWall).saturatedNanoseconds) / 1e9)
    cpu.append(cpuSeconds() - startCPU)
}
report("with a dispatch queue and a transport thread", wall.map { Double(taskCount) / $0 }, unit: "per second")
report("CPU time of one", cpu.map { $0 / Double(taskCount) * 1e6 }, unit: "µs")

if CommandLine.arguments.contains("--speed") { exit(0) }

// The cost of coalescing: twenty tasks for each URL, enqueued before any response arrives, beside one task for each.
let few = Array(requests.prefix(5_000))
var extra: [Double] = []
for _ in 0..<rounds {
    var figures: [Double] = []
    for times in [1, 20] {
        let held = ScriptedTransport(.manual, records: false)
        held.serveOthers { _ in .ok(body) }
        var configuration = ImagePipeline.Configuration(transports: [.shared(held)], codecs: CodecRegistry([]))
        configuration.maximumConcurrentFetches = few.count
        configuration.maximumConcurrentFetchesPerOrigin = few.count
        configuration.memoryCache.reactsToMemoryPressure = false
        let pipeline = try ImagePipeline(configuration: configuration)
        let countdown = Countdown(few.count * times)
        let start = cpuSeconds()
        for request in few {
            for _ in 0..<times {
                pipeline.loadResponse(request, on: .queue(queue)) { _, _ in countdown.step() }
            }
        }
        held.finishAll()
        countdown.wait()
        figures.append(cpuSeconds() - start)
    }
    extra.append((figures[1] - figures[0]) / Double(few.count * 19) * 1e6)
}
report("CPU time of each extra task that shares", extra, unit: "µs")

// The memory of a million queued requests.
let waitingCount = 1_000_000
let stalled = ScriptedTransport(.manual, records: false)
stalled.serveOthers { _ in .ok(body) }
let waitingPipeline = try makePipeline(stalled)
let before = residentBytes()
for index in 0..<waitingCount {
    waitingPipeline.load(ImageRequest("https://images.example.org/waiting/\(index).jpg"), on: .queue(queue)) { _, _ in }
}
let weight = residentBytes() - before
print(
    "memory of \(waitingCount) queued requests for pictures: \(weight / 1_000_000) MB, \(weight / waitingCount) bytes each"
)
exit(0)
